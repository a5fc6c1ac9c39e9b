//! Signatures of Standard Webhooks, checked as a receiver checks them: by another program.

use std::process::Command;

use gambrel_model::WebhookRequest;

use crate::receiver::{Got, Receiver, answer, post, send};
use crate::stand::unstarted;

/// python3 knows HMAC and base64 without us.
fn expected(got: &Got, key: &str) -> String {
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
fn every_secret_signs_and_old_ones_still_do() {
    let receiver = Receiver::new(|_, stream| answer(stream, "204 No Content", "", ""));
    let key = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let sign = vec![format!("whsec_{key}"), "plain text".to_owned()];
    assert!(send(&WebhookRequest { sign, ..post(&receiver.url("/")) }).is_success());
    let got = receiver.got().remove(0);
    // `plain text` in base64.
    let both = format!("{} {}", expected(&got, key), expected(&got, "cGxhaW4gdGV4dA=="));
    assert_eq!(got.header("webhook-signature").unwrap(), both);
    let time: u64 = got.header("webhook-timestamp").unwrap().parse().unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!(now.abs_diff(time) < 60);
}

#[test]
fn a_broken_secret_sends_nothing_and_is_not_shown() {
    let receiver = Receiver::new(|_, stream| answer(stream, "200 OK", "", ""));
    let sign = vec!["whsec_s3cret!".to_owned()];
    let outcome = send(&WebhookRequest { sign, ..post(&receiver.url("/")) });
    assert!(unstarted(&outcome).contains("base64"), "{outcome:?}");
    assert!(!unstarted(&outcome).contains("s3cret"));
    assert!(receiver.got().is_empty());
}
