//! Output is bytes, and stays bytes.

use crate::stand::Stand;

#[test]
fn keeps_bytes_that_are_not_utf8() {
    let stand = Stand::new();
    let mut call = stand.sh("cat; printf '\\377\\376' >&2");
    call.stdin = Some(vec![0, 0xff, 0xc3, 0x28, b'\n']);
    let outcome = stand.run(&call);
    assert_eq!(outcome.stdout.bytes, [0, 0xff, 0xc3, 0x28, b'\n']);
    assert_eq!(outcome.stderr.bytes, [0xff, 0xfe]);
    stand.nobody_is_left();
}
