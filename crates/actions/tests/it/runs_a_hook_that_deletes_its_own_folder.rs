//! A folder that goes away under a hook is the hook's affair.

use gambrel_model::End;

use crate::stand::{Stand, text};

#[test]
fn runs_a_hook_that_deletes_its_own_folder() {
    let stand = Stand::new();
    std::fs::create_dir(stand.path("in it")).unwrap();
    let mut call = stand.sh("rm -r \"$PWD\"; echo done");
    call.cwd = stand.path("in it");
    let outcome = stand.run(&call);
    assert_eq!((outcome.end.clone(), text(&outcome)), (End::Exited(0), "done\n".to_owned()));
    assert!(!stand.path("in it").exists());
    stand.nobody_is_left();
}
