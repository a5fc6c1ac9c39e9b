//! Members of `pi` that a later host has: calling one does nothing, is told once by name, and costs
//! the module none of its handlers. What does not say that it acts stays undefined.

use gambrel_model::Outcome;
use gambrel_script::{FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::each;
use crate::stand::{Stand, bash, unstarted};

const FACTORY: &str = "pi.registerEntryRenderer('note', () => {});
    pi.setFooter('x'); pi.setFooter('y'); pi.unregisterProvider('p');
    const undef = [pi.isTrusted, pi.config, pi.session?.id, pi.then, pi.setup];
    const plain = ['toString' in pi, 'registerEntryRenderer' in pi, Object.keys(pi).includes('on')];
    pi.on('tool_call', () => ({ block: true, reason: JSON.stringify([undef, plain, pi.getNothing() ?? 'none']) }));";

fn told(host: &FullHost, head: &str) -> Outcome {
    let stand = Stand::with(ScriptSettings { full_host: host.clone(), ..Default::default() });
    let text = format!("{head}\nexport default (pi: any) => {{\n{FACTORY}\n}};");
    stand.write("m.ts", &text);
    stand.call("m.ts", bash("ls"))
}

fn check(outcome: &Outcome) {
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
fn in_the_embedded_engine() {
    check(&told(&FullHost::Nobody, ""));
}

#[test]
fn in_a_full_host() {
    each(|host| check(&told(host, "import net from 'node:net'; net.connect;")));
}

#[test]
fn a_call_of_anything_else_is_an_error_with_its_line() {
    let stand = Stand::new();
    let path = stand.write("m.ts", "export default (pi) => {\n  pi.frobnicate();\n};\n");
    let outcome = stand.call("m.ts", bash("ls"));
    let why = unstarted(&outcome);
    assert!(
        why.starts_with("Failed to load hook: ") && why.contains(&format!("{}:2", path.display())),
        "{why}"
    );
}
