//! The file of `tee_stdout` gets the output while the hook runs, redacted, up to its cap.

use std::fs;
use std::path::Path;

use gambrel_actions::Redact;
use gambrel_model::call::TeeTarget;
use gambrel_model::{Call, End};

use crate::hook_fixture::{HookFixture, stdout_text, wait_until};

const MAX_TEE_BYTES: u64 = 64 << 20;

fn to_file(path: &Path) -> Option<TeeTarget> {
    Some(TeeTarget { path: path.to_owned(), if_taken: None })
}

#[test]
fn uses_the_other_file_if_the_hook_wrote_the_first() {
    let fixture = HookFixture::new();
    let (first, other) = (fixture.path("output.md"), fixture.path("output.log"));
    let target = TeeTarget { path: first.clone(), if_taken: Some(other.clone()) };
    let run = |text: &str| {
        fixture.run(&Call { tee_stdout: Some(target.clone()), ..fixture.sh_call(text) });
    };
    run("true");
    assert!(!first.exists() && !other.exists(), "a silent hook left a file");
    run("echo printed");
    assert_eq!(fs::read_to_string(&first).unwrap(), "printed\n");
    fs::remove_file(&first).unwrap();
    run("echo report > output.md; echo printed");
    assert_eq!(fs::read_to_string(&first).unwrap(), "report\n");
    assert_eq!(fs::read_to_string(&other).unwrap(), "printed\n");
}

#[test]
fn appends_redacted_lines_while_the_hook_runs() {
    let mut fixture = HookFixture::new();
    let redact = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("hunter2", "***").into();
    fixture.settings.redact = Some(Redact::new(redact));
    let (file, go) = (fixture.path("agent.log"), fixture.path("go"));
    fs::write(&file, "before\n").unwrap();
    let text = "echo key=hunter2; while ! [ -e go ]; do sleep 0.02; done; printf 'end hunter2'";
    let call = Call { tee_stdout: to_file(&file), ..fixture.sh_call(text) };

    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| fixture.run(&call));
        wait_until("the first line", || fs::read_to_string(&file).unwrap() == "before\nkey=***\n");
        assert!(!run.is_finished(), "the hook has ended");
        fs::write(go, "").unwrap();
        run.join().unwrap()
    });
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!(stdout_text(&outcome), "key=hunter2\nend hunter2");
    assert_eq!(fs::read_to_string(&file).unwrap(), "before\nkey=***\nend ***");
    fixture.assert_no_processes_left();
}

#[test]
fn stops_at_the_cap_and_lets_the_hook_go_on() {
    let fixture = HookFixture::new();
    let file = fixture.path("agent.log");
    let call = fixture.sh_call("yes | head -c 80000000");
    let outcome = fixture.run(&Call { tee_stdout: to_file(&file), ..call });
    assert_eq!((outcome.end, outcome.stdout.total), (End::Exited(0), 80_000_000));
    assert!(outcome.remarks.iter().any(|remark| remark == "tee: cut at 64 MiB"));
    assert_eq!(fs::metadata(&file).unwrap().len(), MAX_TEE_BYTES);
    fixture.assert_no_processes_left();
}

#[test]
fn runs_the_hook_without_its_file() {
    let fixture = HookFixture::new();
    let call = fixture.sh_call("echo fine");
    let outcome = fixture.run(&Call { tee_stdout: to_file(&fixture.path("no/such")), ..call });
    assert_eq!((&outcome.end, stdout_text(&outcome)), (&End::Exited(0), "fine\n".into()));
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("tee: ")), "{outcome:?}");
}
