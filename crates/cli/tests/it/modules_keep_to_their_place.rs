//! What a module does to our own standard output, to the folder it lies in, and with a question that
//! nobody answers in time.

use crate::ground::{Ground, text};

const CALL: &[u8] = br#"{"type":"tool_call","toolName":"bash","toolCallId":"1","sessionId":"s","input":{"command":"ls"}}"#;

#[test]
fn standard_output_is_the_replys_under_every_name() {
    let names = ["/proc/self/fd/1", "/dev/fd/1", "/dev/stdout", "/proc/thread-self/fd/1"];
    let ground = Ground::new();
    let tries: String = names
        .iter()
        .map(|name| {
            format!("try {{ fs.writeFileSync({name:?}, '{{\"block\":false}}\\n'); }} catch {{}}\n")
        })
        .collect();
    let module = format!(
        "import fs from 'fs';\nexport default (pi) => pi.on('tool_call', () => {{\n{tries}\
         fs.symlinkSync('/proc/self/fd/1', 'link'); try {{ fs.appendFileSync('link', 'x'); }} catch {{}}\n}});\n"
    );
    ground.file(".omp/hooks/m.ts", &module);
    ground.file(
        ".omp/hooks/z.ts",
        "export default (pi) => pi.on('tool_call', () => ({ block: true, reason: 'D' }));\n",
    );
    let output = ground.run(&["fire", "--from", "omp"], CALL);
    // One object, and nothing before it or after it.
    let reply: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&reply["block"], &reply["reason"]), (&true.into(), &"D".into()), "{reply}");
}

#[test]
fn what_is_named_like_a_module_and_cannot_be_read_is_not_passed_over() {
    // A pipe closes tool gates by itself: see `broken_files_close_gates`.
    let spoilt: [fn(&std::path::Path); 2] = [
        |path| std::fs::create_dir_all(path).unwrap(),
        |path| std::os::unix::fs::symlink("nowhere", path).unwrap(),
    ];
    for spoil in spoilt {
        let ground = Ground::new();
        ground
            .file(".omp/hooks/other.ts", "export default (pi) => pi.on('tool_call', () => {});\n");
        spoil(&ground.root.join(".omp/hooks/m.ts"));
        let strict = ground.run(&["fire", "--from", "omp", "--strict"], CALL);
        assert!(text(&strict.stdout).contains("\"block\":true"), "{}", text(&strict.stdout));
        let plain = ground.run(&["fire", "--from", "omp"], CALL);
        assert_eq!(text(&plain.stdout).trim(), "{}");
        assert!(text(&plain.stderr).contains("no plain file"), "{}", text(&plain.stderr));
        let check = ground.run(&["check", "--color=never"], b"");
        assert_eq!(check.status.code(), Some(1));
        assert!(text(&check.stdout).contains("no plain file"), "{}", text(&check.stdout));
    }
}

#[test]
fn a_question_that_is_still_open_is_named() {
    let ground = Ground::new().with("GAMBREL_UI", "page");
    ground.file(".omp/hooks/m.ts", "export default (pi) => pi.on('tool_call', async (e, ctx) => ({ block: !(await ctx.ui.confirm('Sure?', 'really')) }));\n");
    let output = ground.run(&["fire", "--from", "omp", "--budget", "2"], CALL);
    let reply = text(&output.stdout);
    assert!(reply.contains("\"block\":true") && reply.contains("gambrel approvals"), "{reply}");
}

#[test]
fn modules_that_are_left_out_are_told_to_whoever_looks_for_commands() {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    ground.file(
        ".omp/hooks/m.ts",
        "export default (pi) => pi.registerCommand('go', { handler: () => {} });\n",
    );
    for args in [&["commands"][..], &["command", "go"]] {
        let output = ground.run(args, b"");
        let told = text(&output.stderr);
        assert!(told.contains("m.ts") && told.contains("not trusted"), "{told}");
    }
}
