//! Over three hundred URLs of private addresses, and no connection. The receiver listens on every
//! address of this machine, so that any connection would arrive.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use gambrel_actions::{ResolveFn, WebSettings, WebhookAction};
use gambrel_model::{Action, Call, End, Job, Outcome, WebhookRequest};

use crate::hook_fixture::start_failure;
use crate::http_receiver::{
    Receiver, assert_no_secrets, post_request, run_call, send_response, webhook_call,
};

const V4: &[&str] = &[
    "0.0.0.0",
    "0.0.0.1",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "169.254.1.1",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.17.0.1",
    "172.31.255.254",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.1.254",
    "198.18.0.1",
    "198.19.255.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "254.1.1.1",
    "255.255.255.255",
];

const V6: &[&str] = &[
    "::",
    "::2",
    "::127.0.0.1",
    "::10.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a00:1::",
    "2002:c0a8:101::",
    "2002:a9fe:a9fe::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "4000::1",
];

/// Every spelling of an IPv4 address that a URL allows.
fn spellings(text: &str) -> Vec<String> {
    let address: Ipv4Addr = text.parse().unwrap();
    let [a, b, c, d] = address.octets();
    let all = u32::from(address);
    let (low, tail) = (u32::from(c) * 256 + u32::from(d), all & 0x00ff_ffff);
    let wide: String = text
        .chars()
        .map(|digit| digit.to_digit(10).map_or('。', |n| char::from_u32(0xff10 + n).unwrap()))
        .collect();
    vec![
        text.to_owned(),
        format!("{text}."),
        all.to_string(),
        format!("{all:#x}"),
        format!("0{all:o}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("{a}.{b}.{low}"),
        format!("{a}.{tail}"),
        wide,
    ]
}

fn urls(port: u16) -> Vec<String> {
    let v4 = V4.iter().flat_map(|text| spellings(text));
    let v6 = V6.iter().map(|text| format!("[{text}]"));
    let mut urls: Vec<String> =
        v4.chain(v6).map(|host| format!("https://{host}:{port}/s3cret")).collect();
    urls.extend(NAMES.iter().map(|(name, _)| format!("https://{name}:{port}/s3cret")));
    // Plain http is allowed only for this machine, by its own name.
    for host in ["10.0.0.1", "8.8.8.8", "[2606:4700::1111]", "0.0.0.0", "here.test", "mixed.test"] {
        urls.push(format!("http://{host}:{port}/s3cret"));
    }
    // Hosts that only look like this machine.
    for host in [
        "localhost.evil.test",
        "127.0.0.1.evil.test",
        "localhost@evil.test",
        "127.0.0.1@10.0.0.1",
        "user:s3cret@127.0.0.1",
        "user@localhost",
        ":s3cret@localhost",
        "evil.test%2f@localhost",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "app.localhost",
        "localhost。evil.test",
    ] {
        urls.push(format!("http://{host}:{port}/s3cret"));
    }
    for scheme in ["ftp", "ws", "wss", "gopher", "file", "unix", "data", "javascript", "HTTPX"] {
        urls.push(format!("{scheme}://127.0.0.1:{port}/s3cret"));
    }
    for odd in [
        "",
        " ",
        "s3cret",
        "//127.0.0.1/s3cret",
        "https://",
        "https:///",
        "https://[::1/s3cret",
        "https://[host]/s3cret",
        "https://127.0.0.1:99999/s3cret",
        "https://a b/s3cret",
        "https://127.0.0.1/\r\nx",
        "http://127.0.0.1\t/s3cret",
        "http://127.0.0.1\n.evil.test/",
        "https://256.256.256.256/",
        "https://1.2.3.4.5/",
        "https://[fe80::1%25eth0]/",
        "http:",
        "https://%00/",
        "https://[v1.x]/",
        "mailto:s3cret@localhost",
        "https://exa<mple/",
    ] {
        urls.push(odd.to_owned());
    }
    urls
}

/// Names, and the addresses that they resolve to.
const NAMES: &[(&str, &[&str])] = &[
    ("here.test", &["127.0.0.1"]),
    ("here6.test", &["::1"]),
    ("app.localhost", &["127.0.0.1"]),
    ("mapped.test", &["::ffff:127.0.0.1"]),
    ("mixed.test", &["8.8.8.8", "127.0.0.1"]),
    ("mixed6.test", &["2606:4700::1111", "fd00::1"]),
    ("last.test", &["8.8.8.8", "1.1.1.1", "9.9.9.9", "10.0.0.1"]),
    ("cloud.test", &["169.254.169.254"]),
    ("lan.test", &["192.168.0.1"]),
    ("ten.test", &["10.0.0.1"]),
    ("nat.test", &["64:ff9b::7f00:1"]),
    ("zero.test", &["0.0.0.0"]),
    ("carrier.test", &["100.64.0.1"]),
    ("xn--fiq228c.test", &["172.16.0.1"]),
    ("nobody.test", &[]),
    ("error.test", &[]),
];

fn recording_resolver(asked: &Arc<Mutex<BTreeMap<String, usize>>>) -> ResolveFn {
    let asked = Arc::clone(asked);
    Arc::new(move |name: &str| {
        *asked.lock().unwrap().entry(name.to_owned()).or_default() += 1;
        let found = NAMES.iter().find(|(known, _)| *known == name).map(|(_, found)| *found);
        match found.filter(|_| name != "error.test") {
            Some(found) => Ok(found.iter().map(|text| text.parse().unwrap()).collect()),
            None => Err(io::Error::other("no such name")),
        }
    })
}

fn receiver_on_all_addresses(hits: &Arc<AtomicUsize>) -> Receiver {
    let listener = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).unwrap();
    let hits = Arc::clone(hits);
    Receiver::on(listener, move |_, stream| {
        hits.fetch_add(1, Ordering::SeqCst);
        send_response(stream, "200 OK", "", "inside");
    })
}

fn run_all(action: &WebhookAction, calls: &[Call]) -> Vec<Outcome> {
    let jobs: Vec<Job> = calls.iter().map(|call| Job { call, record: None }).collect();
    action.run(&jobs)
}

#[test]
fn opens_no_connection_to_private_addresses() {
    let hits = Arc::default();
    let receiver = receiver_on_all_addresses(&hits);
    let asked = Arc::default();
    let settings =
        WebSettings { resolve: Some(recording_resolver(&asked)), ..WebSettings::default() };
    let urls = urls(receiver.address.port());
    assert!(urls.len() >= 300, "{}", urls.len());
    let calls: Vec<Call> = urls.iter().map(|url| webhook_call(&post_request(url))).collect();
    let outcomes = run_all(&WebhookAction::new(settings), &calls);
    for (url, outcome) in urls.iter().zip(&outcomes) {
        let why = match &outcome.end {
            End::FailedToStart(why) => why,
            other => panic!("{url}: {other:?}"),
        };
        let unknown =
            ["nobody.test", "error.test", "evil.test"].iter().any(|name| url.contains(name));
        let refused = why.starts_with("refused: ") || (unknown && why.contains("was not found"));
        assert!(refused, "{url}: {why}");
        assert_no_secrets(outcome, &["s3cret"]);
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
    assert!(receiver.got().is_empty());
    // Each name was resolved once per attempt.
    assert!(asked.lock().unwrap().values().all(|count| *count <= 2), "{asked:?}");
}

#[test]
fn reaches_this_machine_by_its_own_name() {
    let hits = Arc::default();
    let receiver = receiver_on_all_addresses(&hits);
    let port = receiver.address.port();
    let never: ResolveFn = Arc::new(|_| panic!("this machine's name must not be resolved"));
    let settings = WebSettings { resolve: Some(never), ..WebSettings::default() };
    let mut hosts = vec![
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.53",
        "localhost",
        "LOCALHOST",
        "localhost.",
    ];
    if receiver.address.is_ipv6() {
        hosts.push("[::1]");
    }
    let calls: Vec<Call> = hosts
        .iter()
        .map(|host| webhook_call(&post_request(&format!("http://{host}:{port}/"))))
        .collect();
    let outcomes = run_all(&WebhookAction::new(settings), &calls);
    for (host, outcome) in hosts.iter().zip(&outcomes) {
        assert_eq!(outcome.stdout.to_text(), "inside", "{host}: {outcome:?}");
    }
}

#[test]
fn connects_to_allowed_private_addresses() {
    let asked = Arc::default();
    let settings =
        WebSettings { resolve: Some(recording_resolver(&asked)), ..WebSettings::default() };
    let hits = Arc::default();
    let receiver = receiver_on_all_addresses(&hits);
    let action = WebhookAction::new(settings);
    let tried = |allow: &str| {
        let url = format!("https://here.test:{}/", receiver.address.port());
        let request = WebhookRequest { allow: vec![allow.to_owned()], ..post_request(&url) };
        run_call(&action, &webhook_call(&request))
    };
    for allow in ["here.test", "HERE.test.", "127.0.0.1", "127.0.0.0/8"] {
        // The connection gets as far as TLS, which this listener does not speak.
        let outcome = tried(allow);
        assert!(start_failure(&outcome).starts_with("no connection: `here.test:"), "{outcome:?}");
    }
    for allow in ["there.test", "10.0.0.0/8", "::1", "127.0.0.2", "*", ""] {
        let outcome = tried(allow);
        assert!(
            start_failure(&outcome).starts_with("refused: 127.0.0.1 (here.test)"),
            "{outcome:?}"
        );
    }
}

/// A name that resolves to another address every time.
#[test]
fn connects_only_to_the_checked_address() {
    let count = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&count);
    let lookup: ResolveFn = Arc::new(move |_| {
        let inside: IpAddr = Ipv4Addr::LOCALHOST.into();
        let opened: IpAddr = Ipv4Addr::new(127, 0, 0, 9).into();
        Ok(vec![if counted.fetch_add(1, Ordering::SeqCst) == 0 { opened } else { inside }])
    });
    let hits = Arc::default();
    let receiver = receiver_on_all_addresses(&hits);
    let settings = WebSettings { resolve: Some(lookup), ..WebSettings::default() };
    let url = format!("https://moving.test:{}/", receiver.address.port());
    let request = WebhookRequest { allow: vec!["127.0.0.9".to_owned()], ..post_request(&url) };
    let action = WebhookAction::new(settings);
    let first = run_call(&action, &webhook_call(&request));
    assert!(start_failure(&first).starts_with("no connection"), "{first:?}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let second = run_call(&action, &webhook_call(&request));
    assert!(start_failure(&second).starts_with("refused: 127.0.0.1"), "{second:?}");
}
