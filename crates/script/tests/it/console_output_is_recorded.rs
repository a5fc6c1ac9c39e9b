//! What a module prints is in the outcome's streams: from its factory, from its handlers, and from a
//! factory that fails.

use gambrel_model::End;
use gambrel_script::{FullHost, ScriptSettings};

use crate::full_hosts::each;
use crate::stand::{Stand, bash};

const BODY: &str = "console.log('loading', 1); pi.logger.warn('careful');
    pi.on('tool_call', () => { console.info('asked'); console.error('no policy'); });";

fn check(host: &FullHost, head: &str) {
    let stand = Stand::with(ScriptSettings { full_host: host.clone(), ..Default::default() });
    stand.write("m.ts", &format!("{head}\nexport default (pi: any) => {{\n{BODY}\n}};"));
    let outcome = stand.call("m.ts", bash("ls"));
    assert_eq!(outcome.stdout.text(), "loading 1\nasked\n", "{outcome:?}");
    assert_eq!(outcome.stderr.text(), "careful\nno policy\n", "{outcome:?}");
    let again = stand.call("m.ts", bash("ls"));
    assert_eq!(again.stdout.text(), "asked\n", "a module is loaded once: {again:?}");
    stand.write(
        "m.ts",
        &format!("{head}\nexport default async (pi: any) => {{\n{BODY}\nawait null;\nthrow new Error('no');\n}};"),
    );
    let outcome = stand.call("m.ts", bash("ls"));
    let End::FailedToStart(why) = &outcome.end else { panic!("{outcome:?}") };
    assert!(why.starts_with("Failed to load hook: no (") && why.contains("m.ts:6"), "{why}");
    assert_eq!(outcome.stdout.text(), "loading 1\n", "{outcome:?}");
}

#[test]
fn in_the_embedded_engine() {
    check(&FullHost::Nobody, "");
}

#[test]
fn in_a_full_host() {
    each(|host| check(host, "import net from 'node:net'; net.connect;"));
}
