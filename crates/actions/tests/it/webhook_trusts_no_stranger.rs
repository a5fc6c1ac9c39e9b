//! TLS: who is vouched for is spoken to, under the name that was asked for, and nobody else.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gambrel_actions::{Lookup, WebSettings, WebhookAction};
use gambrel_model::{Outcome, WebhookRequest};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::receiver::{answer, call, keeps_secret, post, read, run};
use crate::stand::unstarted;

/// A receiver with a certificate for this name; its port and the certificate.
fn secure(name: &str) -> (u16, Vec<u8>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let root = cert.der().to_vec();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok).take(8) {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
            let server = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(server, stream);
            if let Some(got) = read(&mut stream) {
                answer(&mut stream, "200 OK", "", &got.body);
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    (port, root)
}

fn tried(host: &str, port: u16, roots: Vec<Vec<u8>>) -> Outcome {
    let lookup: Lookup = Arc::new(|_| Ok(vec!["127.0.0.1".parse().unwrap()]));
    let settings = WebSettings { roots, lookup: Some(lookup), ..WebSettings::default() };
    let url = format!("https://{host}:{port}/s3cret");
    let request = WebhookRequest { allow: vec!["127.0.0.0/8".to_owned()], ..post(&url) };
    run(&WebhookAction::new(settings), &call(&request))
}

#[test]
fn who_is_vouched_for_is_spoken_to() {
    let (port, root) = secure("hooks.test");
    let outcome = tried("hooks.test", port, vec![root]);
    assert_eq!(outcome.stdout.text(), r#"{"n":1}"#, "{outcome:?}");
    assert_eq!(outcome.command[1], format!("https://hooks.test:{port}/…"));
}

#[test]
fn a_stranger_or_a_wrong_name_is_not() {
    let (port, root) = secure("hooks.test");
    let (_, other) = secure("hooks.test");
    for (host, roots) in [("hooks.test", vec![other]), ("evil.test", vec![root])] {
        let outcome = tried(host, port, roots);
        let why = unstarted(&outcome);
        assert!(why.starts_with("no connection: "), "{why}");
        assert!(why.contains("certificate"), "{why}");
        keeps_secret(&outcome, &["s3cret"]);
    }
}
