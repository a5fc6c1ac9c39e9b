//! A call's files are there, private, and gone again if they were temporary.

use std::os::unix::fs::PermissionsExt;

use gambrel_model::{End, SideFile};

use crate::stand::{Stand, text, unstarted};

#[test]
fn writes_side_files_before_the_start() {
    let stand = Stand::new();
    let mut call = stand.sh("cat 'a b/c/context.json' kept");
    let file = |name: &str, temporary| SideFile {
        path: stand.path(name),
        text: Some(format!("<{name}>")),
        temporary,
        lasting: false,
    };
    call.files = vec![file("a b/c/context.json", true), file("kept", false)];
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!(text(&outcome), "<a b/c/context.json><kept>");
    assert!(!stand.path("a b/c/context.json").exists());
    let kept = std::fs::metadata(stand.path("kept")).unwrap();
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(stand.path("a b/c")).unwrap().count(), 0, "no draft is left");
    stand.nobody_is_left();
}

#[test]
fn a_file_that_cannot_be_written_stops_the_start() {
    let stand = Stand::new();
    std::fs::write(stand.path("file"), "").unwrap();
    let mut call = stand.sh("touch ran");
    let path = stand.path("file/below");
    call.files =
        vec![SideFile { path, text: Some(String::new()), temporary: true, lasting: false }];
    let outcome = stand.run(&call);
    assert!(unstarted(&outcome).starts_with("could not write "), "{outcome:?}");
    assert!(!stand.path("ran").exists());
    stand.nobody_is_left();
}

#[test]
fn a_lasting_file_keeps_what_others_wrote_and_stops_nobody() {
    let stand = Stand::new();
    std::fs::write(stand.path("file"), "").unwrap();
    let lasting = |name: &str| SideFile {
        path: stand.path(name),
        text: Some(String::new()),
        temporary: false,
        lasting: true,
    };
    let mut call = stand.sh("test -d folder/below && echo once >> kept/words; cat kept/words");
    let folder = SideFile { text: None, ..lasting("folder/below") };
    call.files = vec![lasting("kept/words"), lasting("file/below"), folder];
    assert_eq!(text(&stand.run(&call)), "once\n");
    let kept = std::fs::metadata(stand.path("kept/words")).unwrap();
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
    let outcome = stand.run(&call);
    assert_eq!(text(&outcome), "once\nonce\n");
    assert!(outcome.remarks.iter().any(|remark| remark.starts_with("could not write ")));
    assert_eq!(std::fs::read_dir(stand.path("kept")).unwrap().count(), 1, "no draft is left");
    stand.nobody_is_left();
}
