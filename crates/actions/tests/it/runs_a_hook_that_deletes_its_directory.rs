//! A hook may delete its own working directory.

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, stdout_text};

#[test]
fn runs_a_hook_that_deletes_its_directory() {
    let fixture = HookFixture::new();
    std::fs::create_dir(fixture.path("in it")).unwrap();
    let mut call = fixture.sh_call("rm -r \"$PWD\"; echo done");
    call.cwd = fixture.path("in it");
    let outcome = fixture.run(&call);
    assert_eq!((outcome.end.clone(), stdout_text(&outcome)), (End::Exited(0), "done\n".to_owned()));
    assert!(!fixture.path("in it").exists());
    fixture.assert_no_processes_left();
}
