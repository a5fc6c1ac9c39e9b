//! Calling an unknown `pi` method whose name starts with a verb such as `register` or `set` does
//! nothing. One warning names it. Other unknown members are undefined.

use gambrel_model::Outcome;
use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body, load_error};

const FACTORY: &str = "pi.registerEntryRenderer('note', () => {});
    pi.setFooter('x'); pi.setFooter('y'); pi.unregisterProvider('p');
    const undef = [pi.isTrusted, pi.config, pi.session?.id, pi.then, pi.setup];
    const plain = ['toString' in pi, 'registerEntryRenderer' in pi, Object.keys(pi).includes('on')];
    pi.on('tool_call', () => ({ block: true, reason: JSON.stringify([undef, plain, pi.getNothing() ?? 'none']) }));";

fn run_module(host: &FullHost, head: &str) -> Outcome {
    let dir =
        ModuleDir::with_settings(ScriptSettings { full_host: host.clone(), ..Default::default() });
    let text = format!("{head}\nexport default (pi: any) => {{\n{FACTORY}\n}};");
    dir.write_file("m.ts", &text);
    dir.call("m.ts", bash_body("ls"))
}

fn check_outcome(outcome: &Outcome) {
    let answer = outcome.answer.as_ref().unwrap();
    assert_eq!(answer["errors"], json!([]), "{outcome:?}");
    assert_eq!(answer["results"][0]["block"], true, "{outcome:?}");
    let reason: Value =
        serde_json::from_str(answer["results"][0]["reason"].as_str().unwrap()).unwrap();
    assert_eq!(reason, json!([[null, null, null, null, null], [true, false, true], "none"]));
    let names = ["registerEntryRenderer", "setFooter", "unregisterProvider", "getNothing"];
    let warnings = names.map(|name| format!("pi.{name} is not known here and does nothing"));
    assert_eq!(outcome.remarks, warnings);
}

#[test]
fn ignores_unknown_members_in_the_embedded_engine() {
    check_outcome(&run_module(&FullHost::Disabled, ""));
}

#[test]
fn ignores_unknown_members_in_a_full_host() {
    run_in_each_host(|host| {
        check_outcome(&run_module(host, "import net from 'node:net'; net.connect;"))
    });
}

#[test]
fn other_unknown_calls_are_errors() {
    let dir = ModuleDir::new();
    let path = dir.write_file("m.ts", "export default (pi) => {\n  pi.frobnicate();\n};\n");
    let outcome = dir.call("m.ts", bash_body("ls"));
    let why = load_error(&outcome);
    assert!(
        why.starts_with("Failed to load hook: ") && why.contains(&format!("{}:2", path.display())),
        "{why}"
    );
}
