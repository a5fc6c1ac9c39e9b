//! Signatures of Standard Webhooks, verified by another program as a receiver would.

use std::process::Command;

use gambrel_model::WebhookRequest;

use crate::hook_fixture::start_failure;
use crate::http_receiver::{ReceivedRequest, Receiver, post_request, send_request, send_response};

/// The expected signature, computed by python3.
fn expected_signature(got: &ReceivedRequest, key: &str) -> String {
    let program = "import sys,hmac,hashlib,base64\n\
        k=base64.b64decode(sys.argv[1])\n\
        print('v1,'+base64.b64encode(hmac.new(k,sys.argv[2].encode(),hashlib.sha256).digest()).decode())";
    let (id, time) = (got.header("webhook-id").unwrap(), got.header("webhook-timestamp").unwrap());
    let signed = format!("{id}.{time}.{}", got.body);
    let output = Command::new("python3").args(["-c", program, key, &signed]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn signs_with_every_secret() {
    let receiver = Receiver::new(|_, stream| send_response(stream, "204 No Content", "", ""));
    let key = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let sign = vec![format!("whsec_{key}"), "plain text".to_owned()];
    assert!(
        send_request(&WebhookRequest { sign, ..post_request(&receiver.url("/")) }).is_success()
    );
    let got = receiver.got().remove(0);
    // `plain text` in base64.
    let both = format!(
        "{} {}",
        expected_signature(&got, key),
        expected_signature(&got, "cGxhaW4gdGV4dA==")
    );
    assert_eq!(got.header("webhook-signature").unwrap(), both);
    let time: u64 = got.header("webhook-timestamp").unwrap().parse().unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!(now.abs_diff(time) < 60);
}

#[test]
fn refuses_an_invalid_secret_without_showing_it() {
    let receiver = Receiver::new(|_, stream| send_response(stream, "200 OK", "", ""));
    let sign = vec!["whsec_s3cret!".to_owned()];
    let outcome = send_request(&WebhookRequest { sign, ..post_request(&receiver.url("/")) });
    assert!(start_failure(&outcome).contains("base64"), "{outcome:?}");
    assert!(!start_failure(&outcome).contains("s3cret"));
    assert!(receiver.got().is_empty());
}
