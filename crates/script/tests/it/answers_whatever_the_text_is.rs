//! Any text at all is a module or a refusal, never a panic.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use crate::stand::{Stand, bash};

const WORDS: &[&str] = &[
    "export default ",
    "(pi) => { ",
    "pi.on('tool_call', ",
    "async (e, ctx) => { ",
    "return ",
    "{ block: true }",
    "});",
    "} ",
    "await ",
    "throw ",
    "new Error('x')",
    "null",
    "import x from './m.ts';\n",
    "enum A { B }",
    "class C ",
    "`${",
    "}`",
    "/re/g",
    "<T>",
    "satisfies X",
    " as any",
    "while(1)",
    ";",
    "\n",
    "(",
    ")",
    "[",
    "]",
    "=>",
    "...",
    "?.",
    "function* ",
    "yield ",
    "@dec ",
    "using y = ",
    "namespace N { ",
    "declare ",
    "\u{2028}",
    "é",
    "0x",
    "'",
    "\"",
    "//",
    "/*",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn words_in_any_order(picks in prop::collection::vec(0..WORDS.len(), 0..40)) {
        let stand = Stand { timeout: Duration::from_millis(200), ..Stand::new() };
        let text: String = picks.iter().map(|&at| WORDS[at]).collect();
        stand.write("m.ts", &text);
        stand.call("m.ts", bash("ls"));
        stand.call("m.ts", json!({"op": "load"}));
        gambrel_script::imports(&stand.path("m.ts"));
    }

    #[test]
    fn bytes_of_any_kind(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let stand = Stand { timeout: Duration::from_millis(200), ..Stand::new() };
        std::fs::write(stand.path("m.ts"), &bytes).unwrap();
        stand.call("m.ts", json!({"op": "load"}));
    }

    #[test]
    fn a_handler_with_any_body(body in "\\PC{0,60}") {
        let stand = Stand { timeout: Duration::from_millis(200), ..Stand::new() };
        stand.handler(&body);
    }
}
