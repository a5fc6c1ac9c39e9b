//! Output that is not UTF-8 is kept unchanged.

use crate::hook_fixture::HookFixture;

#[test]
fn keeps_bytes_that_are_not_utf8() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("cat; printf '\\377\\376' >&2");
    call.stdin = Some(vec![0, 0xff, 0xc3, 0x28, b'\n'].into());
    let outcome = fixture.run(&call);
    assert_eq!(outcome.stdout.bytes, [0, 0xff, 0xc3, 0x28, b'\n']);
    assert_eq!(outcome.stderr.bytes, [0xff, 0xfe]);
    fixture.assert_no_processes_left();
}
