//! A notifier that nobody waits for is not killed because its module has answered, and the trail
//! says that it was left running.

use crate::ground::{Ground, until};

const CALL: &str = r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"ls"}}"#;
const PROGRAM: &str = "'sh', ['-c', 'while ! [ -e go ]; do sleep 0.02; done; touch done']";

fn finishes(code: &str) {
    let ground = Ground::new();
    let code = code.replace("PROGRAM", PROGRAM);
    ground.file(
        ".omp/hooks/notifier.ts",
        &format!(
            "import {{ spawn, execFile }} from 'node:child_process';
             export default (pi) => pi.on('tool_call', async () => {{ {code}; }});\n"
        ),
    );
    let decision = ground.decide("omp", CALL);
    assert_eq!(decision["ruling"], "silent", "{decision}");
    assert!(
        decision["trail"].to_string().contains("leak: 1 process still runs (sh)"),
        "{decision}"
    );
    // We have gone; only now it is let go on.
    ground.file("go", "");
    until("the program has finished", || ground.root.join("done").exists());
}

#[test]
fn a_detached_program_finishes() {
    finishes("spawn(PROGRAM, { detached: true, stdio: 'ignore' }).unref()");
}

#[test]
fn a_program_that_nobody_awaits_finishes() {
    finishes("execFile(PROGRAM, () => {})");
    finishes("(async () => { await pi.exec(PROGRAM); })()");
}
