//! A guard that a package or a required file registers is asked, or the module does not load; it is
//! never left out in silence.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::each;
use crate::stand::{Stand, bash, unstarted};

const GUARD: &str = "pi => { pi.on('tool_call', () => ({ block: true, reason: 'no' })) }";

/// Modules whose only handler is in another file.
const MODULES: &[(&str, &str)] = &[
    ("acme-guard", "import guard from 'acme-guard'; export default guard;"),
    ("acme-guard", "export { default } from 'acme-guard';"),
    ("acme-guard", "export default async pi => (await import('acme-guard')).default(pi);"),
    ("acme-guard", "export default async pi => require('acme-guard').default(pi);"),
    ("./lib/e.ts", "export default pi => require('./lib/e.ts').default(pi);"),
    ("./lib/e.js", "export default pi => require('./lib/e.js').default(pi);"),
    ("./lib/e.cjs", "export default pi => require('./lib/e.cjs').default(pi);"),
];

fn stand(host: &FullHost) -> Stand {
    let stand = Stand::with(ScriptSettings { full_host: host.clone(), ..Default::default() });
    let package = r#"{"name":"acme-guard","type":"module","exports":"./index.js"}"#;
    stand.write("node_modules/acme-guard/package.json", package);
    stand.write("node_modules/acme-guard/index.js", &format!("export default {GUARD};"));
    for ending in ["ts", "js", "cjs"] {
        stand.write(&format!("lib/e.{ending}"), &format!("exports.default = {GUARD};"));
    }
    stand
}

#[test]
fn a_full_host_asks_it() {
    each(|host| {
        let stand = stand(host);
        for (_, text) in MODULES {
            stand.write("m.ts", text);
            let answer = stand.answer("m.ts", bash("ls"));
            let expected = json!([{"block": true, "reason": "no"}]);
            assert_eq!(answer["results"], expected, "{host:?} {text} {answer}");
        }
    });
}

#[test]
fn without_a_full_host_the_module_does_not_load() {
    let stand = stand(&FullHost::Nobody);
    for (name, text) in MODULES {
        stand.write("m.ts", text);
        let outcome = stand.call("m.ts", bash("ls"));
        assert!(unstarted(&outcome).contains(name), "{text} {outcome:?}");
    }
}

#[test]
fn a_package_that_is_not_installed_is_named() {
    each(|host| {
        let stand = stand(host);
        stand.write("m.ts", "export { default } from 'no-such-guard';");
        let outcome = stand.call("m.ts", bash("ls"));
        assert!(unstarted(&outcome).contains("no-such-guard"), "{host:?} {outcome:?}");
    });
}

#[test]
fn modules_of_the_full_host_itself_register_nothing() {
    let stand = stand(&FullHost::Nobody);
    stand.write("m.ts", "import 'node:net'; export default pi => pi.on('turn_end', () => {});");
    assert_eq!(stand.call("m.ts", bash("ls")).end, gambrel_model::End::NotApplicable);
}
