//! A module stays loaded until one of its files changes.

use serde_json::json;

use crate::module_dir::{ModuleDir, bash_body};

const COUNTS: &str =
    "let n = 0;\nexport default (pi) => { pi.on('tool_call', () => ({ n: ++n })); };";

#[test]
fn keeps_state_between_calls() {
    let dir = ModuleDir::new();
    dir.write_file("m.ts", COUNTS);
    for n in 1..=3 {
        assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!([{"n": n}]));
    }
}

#[test]
fn reloads_after_an_edit() {
    let dir = ModuleDir::new();
    dir.write_file("word.ts", "export const word = 'one';");
    dir.write_file("m.ts", "import { word } from './word';\nexport default (pi) => { pi.on('tool_call', () => ({ word })); };");
    assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!([{"word": "one"}]));

    dir.write_file("word.ts", "export const word = 'another';");
    assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!([{"word": "another"}]));

    dir.write_file(
        "m.ts",
        "export default (pi) => { pi.on('tool_call', () => ({ word: 'own' })); };",
    );
    assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!([{"word": "own"}]));

    dir.write_file("m.ts", "nonsense (");
    dir.call("m.ts", bash_body("ls"));
    dir.write_file("m.ts", COUNTS);
    assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!([{"n": 1}]));
}

#[test]
fn serves_many_threads() {
    let dir = ModuleDir::new();
    for name in ["a.ts", "b.ts"] {
        dir.write_file(name, COUNTS);
    }
    std::thread::scope(|scope| {
        for at in 0..8 {
            let dir = &dir;
            let name = if at % 2 == 0 { "a.ts" } else { "b.ts" };
            scope.spawn(move || (0..25).for_each(|_| _ = dir.answer(name, bash_body("ls"))));
        }
    });
    assert_eq!(dir.answer("a.ts", bash_body("ls"))["results"], json!([{"n": 101}]));
}
