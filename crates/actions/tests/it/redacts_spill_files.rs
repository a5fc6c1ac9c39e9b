//! Redacted texts never reach the disk, wherever the reads split the output.

use std::fs;

use gambrel_actions::Redact;

use crate::hook_fixture::HookFixture;

const SECRET: &str = "correct-horse-battery-staple";

fn redacting_fixture() -> HookFixture {
    let mut fixture = HookFixture::new();
    fixture.settings.redact = Some(Redact::new(|bytes| {
        String::from_utf8_lossy(bytes).replace(SECRET, "[secret]").into_bytes()
    }));
    fixture
}

#[test]
fn redacts_secrets_in_spill_files() {
    let fixture = redacting_fixture();
    // Lines of many lengths, so that reads split them at different positions.
    for text in [
        format!("yes {SECRET} | head -n 800000"),
        format!("yes {SECRET} | head -n 800000 | tr -d '\\n'"),
        format!("seq 1 600000 | sed 's/$/ key={SECRET}/'"),
    ] {
        let outcome = fixture.run(&fixture.sh_call(&format!("({text}) | tee whole")));
        let whole = fs::read_to_string(fixture.path("whole")).unwrap();
        let spill = fs::read_to_string(outcome.stdout.spill.as_ref().unwrap()).unwrap();
        assert_eq!(outcome.stdout.total, whole.len() as u64);
        assert!(spill == whole.replace(SECRET, "[secret]"), "{text}: the spill file differs");
        assert!(outcome.remarks.is_empty(), "{:?}", outcome.remarks);
    }
    fixture.assert_no_processes_left();
}

#[test]
fn redacts_a_secret_in_the_last_bytes() {
    let fixture = redacting_fixture();
    let text = format!("printf {SECRET} >&2; seq 1 400000 >&2; printf {SECRET} >&2");
    let outcome = fixture.run(&fixture.sh_call(&text));
    let spill = fs::read_to_string(outcome.stderr.spill.as_ref().unwrap()).unwrap();
    assert!(spill.starts_with("[secret]1\n2\n") && spill.ends_with("400000\n[secret]"));
    fixture.assert_no_processes_left();
}
