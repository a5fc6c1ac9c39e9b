//! A hook that writes a megabyte before it reads must not lock both sides.

use gambrel_model::End;

use crate::stand::Stand;

#[test]
fn reads_a_megabyte_before_it_is_read() {
    let stand = Stand::new();
    let mut call = stand.sh("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; cat");
    call.stdin = Some(vec![b'x'; 300_000]);
    let outcome = stand.run(&call);
    assert_eq!(outcome.end, End::Exited(0));
    assert_eq!((outcome.stdout.total, outcome.stderr.total), (1_300_000, 1_000_000));
    stand.nobody_is_left();
}
