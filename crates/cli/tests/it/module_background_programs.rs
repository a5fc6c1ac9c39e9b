//! A program that a module does not await goes on after the module answered, and the trail reports
//! it.

use crate::test_project::{TestProject, wait_until};

const CALL: &str = r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"ls"}}"#;
const PROGRAM: &str = "'sh', ['-c', 'while ! [ -e go ]; do sleep 0.02; done; touch done']";

fn assert_finishes(code: &str) {
    let project = TestProject::new();
    let code = code.replace("PROGRAM", PROGRAM);
    project.file(
        ".omp/hooks/notifier.ts",
        &format!(
            "import {{ spawn, execFile }} from 'node:child_process';
             export default (pi) => pi.on('tool_call', async () => {{ {code}; }});\n"
        ),
    );
    let decision = project.decide("omp", CALL);
    assert_eq!(decision["ruling"], "silent", "{decision}");
    assert!(
        decision["trail"].to_string().contains("leak: 1 process still runs (sh)"),
        "{decision}"
    );
    // gambrel has ended. Only now the program may go on.
    project.file("go", "");
    wait_until("the program has finished", || project.root.join("done").exists());
}

#[test]
fn a_detached_program_finishes() {
    assert_finishes("spawn(PROGRAM, { detached: true, stdio: 'ignore' }).unref()");
}

#[test]
fn a_program_without_await_finishes() {
    assert_finishes("execFile(PROGRAM, () => {})");
    assert_finishes("(async () => { await pi.exec(PROGRAM); })()");
}
