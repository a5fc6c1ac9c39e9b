//! A program that somebody still has open for writing is tried again for a moment.

use std::fs::OpenOptions;
use std::thread;
use std::time::Duration;

use gambrel_model::End;

use crate::stand::{Stand, unstarted};

#[test]
fn waits_for_a_program_that_is_being_written() {
    let stand = Stand::new();
    for (held, starts) in [(30, true), (3_000, false)] {
        let program = stand.path(&format!("program{held}"));
        std::fs::copy("/bin/true", &program).unwrap();
        let writer = OpenOptions::new().append(true).open(&program).unwrap();
        let (send, end) = std::sync::mpsc::channel::<()>();
        let holder = thread::spawn(move || {
            let _ = end.recv_timeout(Duration::from_millis(held));
            drop(writer);
        });
        let outcome = stand.run(&stand.exec(&[&program.display().to_string()]));
        drop(send);
        holder.join().unwrap();
        match starts {
            true => assert_eq!(outcome.end, End::Exited(0)),
            false => assert!(unstarted(&outcome).contains("could not start"), "{outcome:?}"),
        }
    }
    stand.nobody_is_left();
}
