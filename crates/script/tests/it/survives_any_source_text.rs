//! Any source text loads or is rejected, and never causes a panic.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use crate::module_dir::{ModuleDir, bash_body};

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
    fn survives_words_in_any_order(picks in prop::collection::vec(0..WORDS.len(), 0..40)) {
        let dir = ModuleDir { timeout: Duration::from_millis(200), ..ModuleDir::new() };
        let text: String = picks.iter().map(|&at| WORDS[at]).collect();
        dir.write_file("m.ts", &text);
        dir.call("m.ts", bash_body("ls"));
        dir.call("m.ts", json!({"op": "load"}));
        gambrel_script::module_imports(&dir.path("m.ts"));
    }

    #[test]
    fn survives_random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let dir = ModuleDir { timeout: Duration::from_millis(200), ..ModuleDir::new() };
        std::fs::write(dir.path("m.ts"), &bytes).unwrap();
        dir.call("m.ts", json!({"op": "load"}));
    }

    #[test]
    fn survives_any_handler_body(body in "\\PC{0,60}") {
        let dir = ModuleDir { timeout: Duration::from_millis(200), ..ModuleDir::new() };
        dir.run_handler(&body);
    }
}
