//! A program that another process still has open for writing is retried for a moment.

use std::fs::OpenOptions;
use std::thread;
use std::time::Duration;

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, start_failure};

#[test]
fn retries_a_program_open_for_writing() {
    let fixture = HookFixture::new();
    for (held, starts) in [(30, true), (3_000, false)] {
        let program = fixture.path(&format!("program{held}"));
        std::fs::copy("/bin/true", &program).unwrap();
        let writer = OpenOptions::new().append(true).open(&program).unwrap();
        let (send, end) = std::sync::mpsc::channel::<()>();
        let holder = thread::spawn(move || {
            let _ = end.recv_timeout(Duration::from_millis(held));
            drop(writer);
        });
        let outcome = fixture.run(&fixture.exec_call(&[&program.display().to_string()]));
        drop(send);
        holder.join().unwrap();
        match starts {
            true => assert_eq!(outcome.end, End::Exited(0)),
            false => assert!(start_failure(&outcome).contains("could not start"), "{outcome:?}"),
        }
    }
    fixture.assert_no_processes_left();
}
