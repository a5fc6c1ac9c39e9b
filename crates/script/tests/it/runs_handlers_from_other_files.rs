//! A handler that a package or a required file registers runs, or the module fails to load. It is
//! never skipped silently.

use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body, load_error};

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

fn prepare_dir(host: &FullHost) -> ModuleDir {
    let dir =
        ModuleDir::with_settings(ScriptSettings { full_host: host.clone(), ..Default::default() });
    let package = r#"{"name":"acme-guard","type":"module","exports":"./index.js"}"#;
    dir.write_file("node_modules/acme-guard/package.json", package);
    dir.write_file("node_modules/acme-guard/index.js", &format!("export default {GUARD};"));
    for ending in ["ts", "js", "cjs"] {
        dir.write_file(&format!("lib/e.{ending}"), &format!("exports.default = {GUARD};"));
    }
    dir
}

#[test]
fn runs_handlers_of_packages_in_a_full_host() {
    run_in_each_host(|host| {
        let dir = prepare_dir(host);
        for (_, text) in MODULES {
            dir.write_file("m.ts", text);
            let answer = dir.answer("m.ts", bash_body("ls"));
            let expected = json!([{"block": true, "reason": "no"}]);
            assert_eq!(answer["results"], expected, "{host:?} {text} {answer}");
        }
    });
}

#[test]
fn fails_to_load_packages_without_a_full_host() {
    let dir = prepare_dir(&FullHost::Disabled);
    for (name, text) in MODULES {
        dir.write_file("m.ts", text);
        let outcome = dir.call("m.ts", bash_body("ls"));
        assert!(load_error(&outcome).contains(name), "{text} {outcome:?}");
    }
}

#[test]
fn names_a_missing_package() {
    run_in_each_host(|host| {
        let dir = prepare_dir(host);
        dir.write_file("m.ts", "export { default } from 'no-such-guard';");
        let outcome = dir.call("m.ts", bash_body("ls"));
        assert!(load_error(&outcome).contains("no-such-guard"), "{host:?} {outcome:?}");
    });
}

#[test]
fn modules_of_the_full_host_register_no_handlers() {
    let dir = prepare_dir(&FullHost::Disabled);
    dir.write_file("m.ts", "import 'node:net'; export default pi => pi.on('turn_end', () => {});");
    assert_eq!(dir.call("m.ts", bash_body("ls")).end, gambrel_model::End::NotApplicable);
}
