//! However much is answered, a megabyte is read.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gambrel_model::End;

use crate::receiver::{Receiver, post, send};

const MIB: usize = 1024 * 1024;

#[test]
fn the_rest_is_never_read() {
    let written = Arc::<AtomicU64>::default();
    let count = Arc::clone(&written);
    let receiver = Receiver::new(move |_, stream| {
        let _ = stream.set_write_timeout(Some(Duration::from_secs(20)));
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 1024 * MIB);
        let _ = stream.write_all(head.as_bytes());
        let block = vec![b'x'; MIB];
        while count.load(Ordering::SeqCst) < 1024 && stream.write_all(&block).is_ok() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let outcome = send(&post(&receiver.url("/")));
    assert_eq!(outcome.end, End::Answered);
    assert_eq!(outcome.stdout.bytes.len(), MIB);
    assert_eq!(outcome.stdout.total, 1024 * MIB as u64);
    assert!(outcome.stdout.is_truncated());
    assert_eq!(outcome.remarks, ["answer: cut after 1 MiB"]);
    // What the kernel takes before it notices is a few buffers.
    assert!(written.load(Ordering::SeqCst) < 200);
}

#[test]
fn exactly_a_megabyte_is_whole() {
    let receiver = Receiver::new(|_, stream| {
        let body = "y".repeat(MIB);
        crate::receiver::answer(stream, "200 OK", "", &body);
    });
    let outcome = send(&post(&receiver.url("/")));
    assert_eq!(outcome.stdout.bytes.len(), MIB);
    assert!(!outcome.stdout.is_truncated() && outcome.remarks.is_empty());
}
