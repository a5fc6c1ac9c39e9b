//! Names of receivers come from the hosts file and from a name server, also when the answer is too
//! long for a datagram. Their certificates are checked with the authority in SSL_CERT_FILE. The
//! published build has its own C library, so it runs these tests too.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use crate::offline::{run_with_own_names, test_name};
use crate::test_project::{BASH_LS, TestProject};

const DENY: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"asked the receiver"}}"#;
/// A name of the hosts file, and one that only the name server knows.
const HOSTS: &str = "127.0.0.1 localhost\n127.0.0.7 in-file.test\n";
const SERVED_NAME: &str = "from-server.test";
/// With so many addresses an answer has more than 512 bytes.
const ADDRESS_COUNT: u8 = 60;

#[test]
fn finds_a_name_in_the_hosts_file() {
    run_with_own_names(test_name_of(finds_a_name_in_the_hosts_file), HOSTS, || {
        assert_eq!(ask_receiver("in-file.test", true), "asked the receiver");
    });
}

#[test]
fn asks_the_name_server_again_over_tcp_for_a_long_answer() {
    let name = test_name_of(asks_the_name_server_again_over_tcp_for_a_long_answer);
    run_with_own_names(name, HOSTS, || {
        serve_names();
        assert_eq!(ask_receiver(SERVED_NAME, true), "asked the receiver");
    });
}

#[test]
fn refuses_a_certificate_without_its_authority() {
    run_with_own_names(test_name_of(refuses_a_certificate_without_its_authority), HOSTS, || {
        let reason = ask_receiver("in-file.test", false);
        assert!(reason.contains("certificate"), "{reason}");
    });
}

fn test_name_of<T>(_: T) -> &'static str {
    test_name::<T>()
}

/// Fires a hook that asks a receiver with this name. Returns why the call is denied.
fn ask_receiver(host: &str, knows_authority: bool) -> String {
    let (port, certificate) = start_receiver(host);
    let mut project = TestProject::new();
    let file = project.file("authority.pem", &certificate);
    if knows_authority {
        project = project.with("SSL_CERT_FILE", &file.to_string_lossy());
    }
    project.file("../home/.config/gambrel/config.yaml", "http: {allow: [127.0.0.0/8]}\n");
    let hook = json!({"type": "http", "url": format!("https://{host}:{port}/ask"), "timeout": 30});
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    project.file(".claude/settings.json", &settings.to_string());
    let output =
        project.run(&["fire", "--from", "claude", "--strict", "--json"], BASH_LS.as_bytes());
    let decision: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(decision["ruling"], "deny", "{decision}");
    decision["reasons"][0]["text"].as_str().unwrap().to_owned()
}

/// An HTTPS receiver that denies. Returns its port and its certificate, which signs itself.
fn start_receiver(name: &str) -> (u16, String) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            // A client that does not trust the certificate ends the connection.
            let _refused = answer_request(StreamOwned::new(session, stream));
        }
    });
    let text = BASE64_STANDARD.encode(cert.der());
    (port, format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n"))
}

fn answer_request(mut stream: StreamOwned<ServerConnection, TcpStream>) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut bytes = [0; 4096];
    // The event ends the request.
    while !request.ends_with(b"}") {
        let count = stream.read(&mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        request.extend_from_slice(&bytes[..count]);
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{DENY}", DENY.len())?;
    stream.conn.send_close_notify();
    stream.flush()
}

/// A name server of this machine. It says over UDP that the answer is too long.
fn serve_names() {
    let datagrams = UdpSocket::bind("127.0.0.1:53").unwrap();
    let connections = TcpListener::bind("127.0.0.1:53").unwrap();
    thread::spawn(move || {
        let mut query = [0; 512];
        while let Ok((length, from)) = datagrams.recv_from(&mut query) {
            datagrams.send_to(&answer_query(&query[..length], true), from).unwrap();
        }
    });
    thread::spawn(move || {
        for mut stream in connections.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut length = [0; 2];
                while stream.read_exact(&mut length).is_ok() {
                    let mut query = vec![0; usize::from(u16::from_be_bytes(length))];
                    stream.read_exact(&mut query).unwrap();
                    let answer = answer_query(&query, false);
                    let length = u16::try_from(answer.len()).unwrap().to_be_bytes();
                    stream.write_all(&[&length[..], &answer].concat()).unwrap();
                }
            });
        }
    });
}

/// Answers a question for IPv4 addresses with many, and any other with none.
fn answer_query(query: &[u8], is_cut: bool) -> Vec<u8> {
    const HEADER_BYTES: usize = 12;
    const ADDRESS_TYPE: [u8; 2] = [0, 1];
    let mut end = HEADER_BYTES;
    while query[end] != 0 {
        end += 1 + usize::from(query[end]);
    }
    let question = &query[HEADER_BYTES..end + 5];
    let has_answers = !is_cut && query[end + 1..end + 3] == ADDRESS_TYPE;
    let count = if has_answers { ADDRESS_COUNT } else { 0 };
    // A response, cut or not, with recursion.
    let flags = [0x81 | if is_cut { 0x02 } else { 0 }, 0x80];
    let mut answer = [&query[..2], &flags, &[0, 1, 0, count, 0, 0, 0, 0], question].concat();
    for last in 1..=count {
        // The name of the question, one address for a minute.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, last]);
    }
    answer
}
