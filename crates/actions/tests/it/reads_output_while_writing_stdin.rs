//! A hook that writes a megabyte before it reads its stdin does not deadlock.

use gambrel_model::End;

use crate::hook_fixture::HookFixture;

#[test]
fn reads_output_while_writing_stdin() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; cat");
    call.stdin = Some(vec![b'x'; 300_000].into());
    let outcome = fixture.run(&call);
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!((outcome.stdout.total, outcome.stderr.total), (1_300_000, 1_000_000));
    fixture.assert_no_processes_left();
}
