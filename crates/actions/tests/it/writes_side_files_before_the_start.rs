//! Side files are written before the start, private to the user, and removed if temporary.

use std::os::unix::fs::PermissionsExt;

use gambrel_model::{End, SideFile};

use crate::hook_fixture::{HookFixture, start_failure, stdout_text};

#[test]
fn writes_side_files_before_the_start() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("cat 'a b/c/context.json' kept");
    let file = |name: &str, temporary| SideFile {
        path: fixture.path(name),
        text: Some(format!("<{name}>")),
        temporary,
        lasting: false,
    };
    call.files = vec![file("a b/c/context.json", true), file("kept", false)];
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!(stdout_text(&outcome), "<a b/c/context.json><kept>");
    assert!(!fixture.path("a b/c/context.json").exists());
    let kept = std::fs::metadata(fixture.path("kept")).unwrap();
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(fixture.path("a b/c")).unwrap().count(), 0, "no draft is left");
    fixture.assert_no_processes_left();
}

#[test]
fn a_failed_side_file_stops_the_start() {
    let fixture = HookFixture::new();
    std::fs::write(fixture.path("file"), "").unwrap();
    let mut call = fixture.sh_call("touch ran");
    let path = fixture.path("file/below");
    call.files =
        vec![SideFile { path, text: Some(String::new()), temporary: true, lasting: false }];
    let outcome = fixture.run(&call);
    assert!(start_failure(&outcome).starts_with("could not write "), "{outcome:?}");
    assert!(!fixture.path("ran").exists());
    fixture.assert_no_processes_left();
}

#[test]
fn lasting_files_keep_their_content_and_are_optional() {
    let fixture = HookFixture::new();
    std::fs::write(fixture.path("file"), "").unwrap();
    let lasting = |name: &str| SideFile {
        path: fixture.path(name),
        text: Some(String::new()),
        temporary: false,
        lasting: true,
    };
    let mut call =
        fixture.sh_call("test -d folder/below && echo once >> kept/words; cat kept/words");
    let folder = SideFile { text: None, ..lasting("folder/below") };
    call.files = vec![lasting("kept/words"), lasting("file/below"), folder];
    assert_eq!(stdout_text(&fixture.run(&call)), "once\n");
    let kept = std::fs::metadata(fixture.path("kept/words")).unwrap();
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
    let outcome = fixture.run(&call);
    assert_eq!(stdout_text(&outcome), "once\nonce\n");
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("could not write ")));
    assert_eq!(std::fs::read_dir(fixture.path("kept")).unwrap().count(), 1, "no draft is left");
    fixture.assert_no_processes_left();
}
