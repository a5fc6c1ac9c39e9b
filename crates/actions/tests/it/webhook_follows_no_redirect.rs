//! A redirect is a failure.

use crate::http_receiver::{
    Receiver, assert_no_secrets, post_request, send_request, send_response,
};

#[test]
fn never_follows_redirects() {
    let hidden = Receiver::new(|_, stream| send_response(stream, "200 OK", "", "inside"));
    let goal = hidden.url("/s3cret");
    for status in ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"]
    {
        let location = format!("location: {goal}\r\n");
        let receiver = Receiver::new(move |_, stream| send_response(stream, status, &location, ""));
        let outcome = send_request(&post_request(&receiver.url("/")));
        assert_eq!(outcome.failure, Some(format!("HTTP {status}: redirects are not followed")));
        assert!(!outcome.is_success());
        assert_no_secrets(&outcome, &["s3cret"]);
        assert_eq!(receiver.got().len(), 1);
    }
    assert!(hidden.got().is_empty());
}
