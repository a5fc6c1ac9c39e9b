//! TLS: only receivers with a trusted certificate for the requested name are reached.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use gambrel_actions::{ResolveFn, WebSettings, WebhookAction};
use gambrel_model::{Outcome, WebhookRequest};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::hook_fixture::start_failure;
use crate::http_receiver::{
    assert_no_secrets, post_request, read_request, run_call, send_response, webhook_call,
};

/// Starts a receiver with a certificate for this name; returns its port and the certificate.
fn tls_receiver(name: &str) -> (u16, Vec<u8>) {
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
            if let Some(got) = read_request(&mut stream) {
                send_response(&mut stream, "200 OK", "", &got.body);
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    (port, root)
}

fn send_to(host: &str, port: u16, roots: Vec<Vec<u8>>) -> Outcome {
    let lookup: ResolveFn = Arc::new(|_| Ok(vec!["127.0.0.1".parse().unwrap()]));
    let settings = WebSettings { roots, resolve: Some(lookup), ..WebSettings::default() };
    let url = format!("https://{host}:{port}/s3cret");
    let request = WebhookRequest { allow: vec!["127.0.0.0/8".to_owned()], ..post_request(&url) };
    run_call(&WebhookAction::new(settings), &webhook_call(&request))
}

#[test]
fn accepts_a_trusted_certificate() {
    let (port, root) = tls_receiver("hooks.test");
    let outcome = send_to("hooks.test", port, vec![root]);
    assert_eq!(outcome.stdout.to_text(), r#"{"n":1}"#, "{outcome:?}");
    assert_eq!(outcome.command[1], format!("https://hooks.test:{port}/…"));
}

#[test]
fn refuses_an_untrusted_certificate_or_a_wrong_name() {
    let (port, root) = tls_receiver("hooks.test");
    let (_, other) = tls_receiver("hooks.test");
    for (host, roots) in [("hooks.test", vec![other]), ("evil.test", vec![root])] {
        let outcome = send_to(host, port, roots);
        let why = start_failure(&outcome);
        assert!(why.starts_with("no connection: "), "{why}");
        assert!(why.contains("certificate"), "{why}");
        assert_no_secrets(&outcome, &["s3cret"]);
    }
}
