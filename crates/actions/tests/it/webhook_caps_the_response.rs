//! At most a megabyte of a response is read.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gambrel_model::End;

use crate::http_receiver::{Receiver, post_request, send_request};

const MIB: usize = 1024 * 1024;

#[test]
fn reads_at_most_a_megabyte() {
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
    let outcome = send_request(&post_request(&receiver.url("/")));
    assert_eq!(outcome.end, End::Answered);
    assert_eq!(outcome.stdout.bytes.len(), MIB);
    assert_eq!(outcome.stdout.total, 1024 * MIB as u64);
    assert!(outcome.stdout.is_truncated());
    assert_eq!(outcome.remarks, ["answer: cut after 1 MiB"]);
    // The kernel accepts a few buffers before it notices.
    assert!(written.load(Ordering::SeqCst) < 200);
}

#[test]
fn keeps_a_response_of_exactly_a_megabyte() {
    let receiver = Receiver::new(|_, stream| {
        let body = "y".repeat(MIB);
        crate::http_receiver::send_response(stream, "200 OK", "", &body);
    });
    let outcome = send_request(&post_request(&receiver.url("/")));
    assert_eq!(outcome.stdout.bytes.len(), MIB);
    assert!(!outcome.stdout.is_truncated() && outcome.remarks.is_empty());
}
