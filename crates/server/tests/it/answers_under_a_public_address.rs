//! Under the public address only the links of single questions answer, whatever a proxy sends.

use std::net::IpAddr;

use gambrel_server::listen;

use crate::fixture::{KEY, ServerFixture, free_port, open_ticket, path_of, server_config};
use crate::http_client::{TestRequest, TestResponse};
use crate::test_process::{BIND, PUBLIC_URL, TestProcess};

const PUBLIC: &str = "https://hooks.example.com";

/// Sends a request as a proxy does that keeps the public name.
fn through_proxy(request: TestRequest) -> TestResponse {
    request.with_host("Host: hooks.example.com").with_header("X-Forwarded-For: 203.0.113.7").send()
}

#[test]
fn answers_links_of_single_questions() {
    let fixture = ServerFixture::with_public_url(PUBLIC);
    assert_eq!(fixture.listening.base(), PUBLIC);
    let opened = fixture.open_ticket("public");
    let page = through_proxy(fixture.get(&path_of(&opened)));
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("git push for public"), "{}", page.body);
    let answer = fixture
        .post(&path_of(&opened), "action=approve")
        .with_header("Origin: https://hooks.example.com")
        .with_header("Sec-Fetch-Site: same-origin");
    assert_eq!(through_proxy(answer).status, 200);
    assert_eq!(fixture.answer_of(&opened).unwrap().action, "approve");
}

#[test]
fn answers_nothing_else() {
    let fixture = ServerFixture::with_public_url(PUBLIC);
    let cookie = fixture.cookie();
    let key = format!("/?key={}", KEY.replace(' ', "%20"));
    let opened = fixture.open_ticket("public");
    let by_id = format!("/approvals/{}", opened.ticket.id);
    for path in ["/", &key, "/history", "/events", "/healthz", "/callbacks", "/nowhere", &by_id] {
        for request in [fixture.get(path), fixture.post(path, "action=approve")] {
            let got = through_proxy(request.with_header(&cookie));
            assert_eq!(got.status, 404, "{path}: {got:?}");
            assert!(!got.body.contains("git push"), "{path}: {}", got.body);
        }
    }
    assert_eq!(fixture.answer_of(&opened), None);
}

/// Many proxies put their own name for the server in the place of the public one.
#[test]
fn takes_forwarded_requests_as_public() {
    let fixture = ServerFixture::with_public_url(PUBLIC);
    let cookie = fixture.cookie();
    let opened = fixture.open_ticket("forwarded");
    for header in ["X-Forwarded-For: 203.0.113.7", "Forwarded: for=203.0.113.7"] {
        let list = fixture.get("/").with_header(&cookie).with_header(header).send();
        assert_eq!(list.status, 404, "{header}: {list:?}");
        let page = fixture.get(&path_of(&opened)).with_header(header).send();
        assert_eq!(page.status, 200, "{header}: {page:?}");
    }
    assert_eq!(fixture.get("/").with_header(&cookie).send().status, 200);
}

#[test]
fn refuses_other_names_and_origins() {
    let fixture = ServerFixture::with_public_url(PUBLIC);
    let opened = fixture.open_ticket("others");
    for host in ["Host: hooks.example.com.evil", "Host: hooks.example.com:8443", "Host: evil"] {
        let got = fixture.get(&path_of(&opened)).with_host(host).send();
        assert_eq!(got.status, 421, "{host}: {got:?}");
    }
    for origin in ["Origin: https://evil.example", "Origin: http://hooks.example.com"] {
        let post = fixture.post(&path_of(&opened), "action=approve").with_header(origin);
        assert_eq!(through_proxy(post).status, 403, "{origin}");
    }
    assert_eq!(fixture.answer_of(&opened), None);
}

/// `gambrel serve --public-url` passes its address on to processes that share its port.
#[test]
fn shares_the_address_of_the_port_owner() {
    let root = tempfile::tempdir().unwrap();
    let config = server_config(root.path());
    let port = free_port();
    let owner = TestProcess::start_with("serve", root.path(), port, &[(PUBLIC_URL, PUBLIC)]);
    let listening = listen(&config, port).unwrap();
    assert_eq!((listening.base(), listening.port()), (PUBLIC, port));
    drop(owner);
}

/// A peer on the network can send any host name: the address it reached decides.
#[test]
fn shows_the_network_only_links() {
    let root = tempfile::tempdir().unwrap();
    let config = server_config(root.path());
    let Some(address) = find_network_address() else { return };
    let port = free_port();
    let bind = [(BIND, address.to_string())];
    let bind = bind.each_ref().map(|(name, value)| (*name, value.as_str()));
    let process = TestProcess::start_with("serve", root.path(), port, &bind);
    let opened = open_ticket(&config, "network");
    let own = format!("Host: {address}:{port}");
    let local = format!("Host: localhost:{port}");
    let at = |path: &str| TestRequest::get(port, path).at_address(address);
    assert_eq!(at(&path_of(&opened)).with_host(&own).send().status, 200);
    assert_eq!(at("/").with_host(&own).send().status, 404);
    for path in ["/", &path_of(&opened), "/healthz"] {
        assert_eq!(at(path).with_host(&local).send().status, 421, "{path}");
    }
    let post = TestRequest::post(port, &path_of(&opened), "action=approve").at_address(address);
    let origin = format!("Origin: http://{address}:{port}");
    assert_eq!(post.with_host(&own).with_header(&origin).send().status, 200);
    drop(process);
}

/// An address of this machine that is not loopback.
fn find_network_address() -> Option<IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    // Connecting a datagram socket sends nothing.
    let connected = socket.connect("192.0.2.1:9").is_ok();
    let address = socket.local_addr().unwrap().ip();
    if !connected || address.is_loopback() || address.is_unspecified() {
        eprintln!("SKIPPED: this machine has no address besides loopback");
        return None;
    }
    Some(address)
}
