//! Requests of a hook's own code are checked like webhooks. No private address is reached, and the
//! response comes whole and in time, or not at all.

use std::time::Duration;

use gambrel_actions::{Fetcher, WebSettings};
use gambrel_model::{FetchRequest, FetchResponse};

use crate::http_receiver::{Receiver, hold_open, send_response};

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
    Fetcher::new(&WebSettings::default()).fetch(&wanted).map_err(|error| error.to_string())
}

const FETCH_TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn sends_the_request_and_returns_the_whole_response() {
    let receiver = Receiver::new(|_, stream| {
        send_response(stream, "404 Not Found", "x-two: 2\r\n", "no such thing");
    });
    let response = fetch(&receiver.url("/a?b=c"), FETCH_TIMEOUT).unwrap();
    assert_eq!((response.status, response.words.as_str()), (404, "Not Found"));
    assert_eq!(response.body, b"no such thing");
    assert!(response.headers.contains(&("x-two".to_owned(), "2".to_owned())), "{response:?}");
    let got = &receiver.got()[0];
    assert_eq!((got.line.as_str(), got.body.as_str()), ("PUT /a?b=c HTTP/1.1", "as it is"));
    assert_eq!(got.header("x-one").as_deref(), Some("1"));
    assert_eq!(got.header("webhook-id"), None);
}

#[test]
fn refuses_private_addresses() {
    for url in ["https://10.0.0.1/", "https://169.254.169.254/", "http://example.test/", "ftp://x/"]
    {
        let why = fetch(url, FETCH_TIMEOUT).unwrap_err();
        assert!(why.starts_with("refused: "), "{url}: {why}");
    }
}

#[test]
fn reports_long_and_slow_responses() {
    let much =
        Receiver::new(|_, stream| send_response(stream, "200 OK", "", &"y".repeat((1 << 20) + 1)));
    assert_eq!(fetch(&much.url("/"), FETCH_TIMEOUT), Err("the answer is longer than 1 MiB".into()));
    let slow = Receiver::new(|_, stream| hold_open(stream));
    let why = fetch(&slow.url("/"), Duration::from_millis(200)).unwrap_err();
    assert!(why.starts_with("no answer within"), "{why}");
}
