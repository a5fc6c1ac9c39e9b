//! A receiver that sends us elsewhere has failed.

use crate::receiver::{Receiver, answer, keeps_secret, post, send};

#[test]
fn nobody_is_visited_by_word_of_another() {
    let hidden = Receiver::new(|_, stream| answer(stream, "200 OK", "", "inside"));
    let goal = hidden.url("/s3cret");
    for status in ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"]
    {
        let location = format!("location: {goal}\r\n");
        let receiver = Receiver::new(move |_, stream| answer(stream, status, &location, ""));
        let outcome = send(&post(&receiver.url("/")));
        assert_eq!(outcome.failure, Some(format!("HTTP {status}: redirects are not followed")));
        assert!(!outcome.is_success());
        keeps_secret(&outcome, &["s3cret"]);
        assert_eq!(receiver.got().len(), 1);
    }
    assert!(hidden.got().is_empty());
}
