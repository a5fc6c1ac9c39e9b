//! A module is kept loaded while its files stay as they are, and read again when one changes.

use serde_json::json;

use crate::stand::{Stand, bash};

const COUNTS: &str =
    "let n = 0;\nexport default (pi) => { pi.on('tool_call', () => ({ n: ++n })); };";

#[test]
fn state_is_kept_between_calls() {
    let stand = Stand::new();
    stand.write("m.ts", COUNTS);
    for n in 1..=3 {
        assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!([{"n": n}]));
    }
}

#[test]
fn an_edit_is_seen_in_the_module_and_in_what_it_imports() {
    let stand = Stand::new();
    stand.write("word.ts", "export const word = 'one';");
    stand.write("m.ts", "import { word } from './word';\nexport default (pi) => { pi.on('tool_call', () => ({ word })); };");
    assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!([{"word": "one"}]));
    stand.write("word.ts", "export const word = 'another';");
    assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!([{"word": "another"}]));
    stand.write("m.ts", "export default (pi) => { pi.on('tool_call', () => ({ word: 'own' })); };");
    assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!([{"word": "own"}]));
    stand.write("m.ts", "nonsense (");
    stand.call("m.ts", bash("ls"));
    stand.write("m.ts", COUNTS);
    assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!([{"n": 1}]));
}

#[test]
fn many_threads_may_call_at_once() {
    let stand = Stand::new();
    for name in ["a.ts", "b.ts"] {
        stand.write(name, COUNTS);
    }
    std::thread::scope(|scope| {
        for at in 0..8 {
            let stand = &stand;
            let name = if at % 2 == 0 { "a.ts" } else { "b.ts" };
            scope.spawn(move || (0..25).for_each(|_| _ = stand.answer(name, bash("ls"))));
        }
    });
    assert_eq!(stand.answer("a.ts", bash("ls"))["results"], json!([{"n": 101}]));
}
