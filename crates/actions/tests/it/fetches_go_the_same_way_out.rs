//! A request of a hook's own code is looked at like every other: nothing inside is reached, the
//! answer comes whole or not at all, and it comes in time.

use std::time::Duration;

use gambrel_actions::{Fetcher, WebSettings};
use gambrel_model::{FetchRequest, FetchResponse};

use crate::receiver::{Receiver, answer, hold};

fn fetch(url: &str, limit: Duration) -> Result<FetchResponse, String> {
    let headers = vec![("x-one".to_owned(), "1".to_owned())];
    let body = Some(b"as it is".to_vec());
    let wanted = FetchRequest {
        url: url.into(),
        method: "PUT".into(),
        headers,
        body,
        limit,
        ..FetchRequest::default()
    };
    Fetcher::new(&WebSettings::default()).fetch(&wanted)
}

const SOON: Duration = Duration::from_secs(20);

#[test]
fn what_was_asked_is_sent_and_the_answer_is_whole() {
    let receiver = Receiver::new(|_, stream| {
        answer(stream, "404 Not Found", "x-two: 2\r\n", "no such thing");
    });
    let told = fetch(&receiver.url("/a?b=c"), SOON).unwrap();
    assert_eq!((told.status, told.words.as_str()), (404, "Not Found"));
    assert_eq!(told.body, b"no such thing");
    assert!(told.headers.contains(&("x-two".to_owned(), "2".to_owned())), "{told:?}");
    let got = &receiver.got()[0];
    assert_eq!((got.line.as_str(), got.body.as_str()), ("PUT /a?b=c HTTP/1.1", "as it is"));
    assert_eq!(got.header("x-one").as_deref(), Some("1"));
    assert_eq!(got.header("webhook-id"), None);
}

#[test]
fn the_inside_is_refused() {
    for url in ["https://10.0.0.1/", "https://169.254.169.254/", "http://example.test/", "ftp://x/"]
    {
        let why = fetch(url, SOON).unwrap_err();
        assert!(why.starts_with("refused: "), "{url}: {why}");
    }
}

#[test]
fn too_much_and_too_late_are_errors() {
    let much = Receiver::new(|_, stream| answer(stream, "200 OK", "", &"y".repeat((1 << 20) + 1)));
    assert_eq!(fetch(&much.url("/"), SOON), Err("the answer is longer than 1 MiB".into()));
    let slow = Receiver::new(|_, stream| hold(stream));
    let why = fetch(&slow.url("/"), Duration::from_millis(200)).unwrap_err();
    assert!(why.starts_with("no answer within"), "{why}");
}
