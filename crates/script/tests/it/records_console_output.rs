//! Console output of a factory, a handler or a failing factory appears in the outcome's streams.

use gambrel_model::End;
use gambrel_script::{FullHost, ScriptSettings};

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body};

const BODY: &str = "console.log('loading', 1); pi.logger.warn('careful');
    pi.on('tool_call', () => { console.info('asked'); console.error('no policy'); });";

fn check_output(host: &FullHost, head: &str) {
    let dir =
        ModuleDir::with_settings(ScriptSettings { full_host: host.clone(), ..Default::default() });
    dir.write_file("m.ts", &format!("{head}\nexport default (pi: any) => {{\n{BODY}\n}};"));
    let outcome = dir.call("m.ts", bash_body("ls"));
    assert_eq!(outcome.stdout.to_text(), "loading 1\nasked\n", "{outcome:?}");
    assert_eq!(outcome.stderr.to_text(), "careful\nno policy\n", "{outcome:?}");

    let again = dir.call("m.ts", bash_body("ls"));
    assert_eq!(again.stdout.to_text(), "asked\n", "a module is loaded once: {again:?}");
    dir.write_file(
        "m.ts",
        &format!("{head}\nexport default async (pi: any) => {{\n{BODY}\nawait null;\nthrow new Error('no');\n}};"),
    );
    let outcome = dir.call("m.ts", bash_body("ls"));
    let End::FailedToStart(why) = &outcome.end else { panic!("{outcome:?}") };

    assert!(why.starts_with("Failed to load hook: no (") && why.contains("m.ts:6"), "{why}");
    assert_eq!(outcome.stdout.to_text(), "loading 1\n", "{outcome:?}");
}

#[test]
fn records_output_in_the_embedded_engine() {
    check_output(&FullHost::Disabled, "");
}

#[test]
fn records_output_in_a_full_host() {
    run_in_each_host(|host| check_output(host, "import net from 'node:net'; net.connect;"));
}
