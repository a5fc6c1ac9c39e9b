//! A caller may write the newline after its event later. A caller that never ends its line does not
//! delay `fire`.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::test_project::{BASH_LS, TestProject};

#[test]
fn accepts_a_late_newline() {
    let project = TestProject::new();
    let mut child = project.command(&["fire", "--from", "claude", "--json"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(BASH_LS.as_bytes()).unwrap();
    // The answer is there before the line ends.
    let mut byte = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    stdin.write_all(b"\n").expect("the pipe is still read");
    drop(stdin);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
fn does_not_wait_for_a_missing_newline() {
    let project = TestProject::new();
    let began = Instant::now();
    let mut child = project.command(&["fire", "--from", "claude", "--json"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(BASH_LS.as_bytes()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    drop(stdin);
}
