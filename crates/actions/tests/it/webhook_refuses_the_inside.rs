//! Over three hundred ways to reach what is inside, and not one connection. The listener stands on
//! every address of this machine, so that whatever gets through arrives.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use gambrel_actions::{Lookup, WebSettings, WebhookAction};
use gambrel_model::{Action, Call, End, Job, Outcome, WebhookRequest};

use crate::receiver::{Receiver, answer, call, keeps_secret, post, run};
use crate::stand::unstarted;

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

/// Every way to write an IPv4 address that a URL knows.
fn spellings(text: &str) -> Vec<String> {
    let address: Ipv4Addr = text.parse().unwrap();
    let [a, b, c, d] = address.octets();
    let all = u32::from(address);
    let (low, tail) = (u32::from(c) * 256 + u32::from(d), all & 0x00ff_ffff);
    let wide: String = text
        .chars()
        .map(|letter| letter.to_digit(10).map_or('。', |n| char::from_u32(0xff10 + n).unwrap()))
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
    // Plain http is for this machine alone, and by its own name.
    for host in ["10.0.0.1", "8.8.8.8", "[2606:4700::1111]", "0.0.0.0", "here.test", "mixed.test"] {
        urls.push(format!("http://{host}:{port}/s3cret"));
    }
    // Anybody may look like this machine.
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

/// Names, and where their owner says they are.
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

fn lookup(asked: &Arc<Mutex<BTreeMap<String, usize>>>) -> Lookup {
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

fn everywhere(hits: &Arc<AtomicUsize>) -> Receiver {
    let listener = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).unwrap();
    let hits = Arc::clone(hits);
    Receiver::on(listener, move |_, stream| {
        hits.fetch_add(1, Ordering::SeqCst);
        answer(stream, "200 OK", "", "inside");
    })
}

fn run_all(action: &WebhookAction, calls: &[Call]) -> Vec<Outcome> {
    let jobs: Vec<Job> = calls.iter().map(|call| Job { call, record: None }).collect();
    action.run(&jobs)
}

#[test]
fn not_one_connection() {
    let hits = Arc::default();
    let receiver = everywhere(&hits);
    let asked = Arc::default();
    let settings = WebSettings { lookup: Some(lookup(&asked)), ..WebSettings::default() };
    let urls = urls(receiver.address.port());
    assert!(urls.len() >= 300, "{}", urls.len());
    let calls: Vec<Call> = urls.iter().map(|url| call(&post(url))).collect();
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
        keeps_secret(outcome, &["s3cret"]);
    }
    assert_eq!(hits.load(Ordering::SeqCst), 0);
    assert!(receiver.got().is_empty());
    // Every name that was resolved at all was resolved once for its one try.
    assert!(asked.lock().unwrap().values().all(|count| *count <= 2), "{asked:?}");
}

#[test]
fn this_machine_by_its_own_name() {
    let hits = Arc::default();
    let receiver = everywhere(&hits);
    let port = receiver.address.port();
    let never: Lookup = Arc::new(|_| panic!("nobody asks where this machine is"));
    let settings = WebSettings { lookup: Some(never), ..WebSettings::default() };
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
    let calls: Vec<Call> =
        hosts.iter().map(|host| call(&post(&format!("http://{host}:{port}/")))).collect();
    let outcomes = run_all(&WebhookAction::new(settings), &calls);
    for (host, outcome) in hosts.iter().zip(&outcomes) {
        assert_eq!(outcome.stdout.text(), "inside", "{host}: {outcome:?}");
    }
}

#[test]
fn what_the_user_opens_is_tried() {
    let asked = Arc::default();
    let settings = WebSettings { lookup: Some(lookup(&asked)), ..WebSettings::default() };
    let hits = Arc::default();
    let receiver = everywhere(&hits);
    let action = WebhookAction::new(settings);
    let tried = |allow: &str| {
        let url = format!("https://here.test:{}/", receiver.address.port());
        let request = WebhookRequest { allow: vec![allow.to_owned()], ..post(&url) };
        run(&action, &call(&request))
    };
    for allow in ["here.test", "HERE.test.", "127.0.0.1", "127.0.0.0/8"] {
        // It gets as far as TLS, which this listener does not speak.
        let outcome = tried(allow);
        assert!(unstarted(&outcome).starts_with("no connection: here.test:"), "{outcome:?}");
    }
    for allow in ["there.test", "10.0.0.0/8", "::1", "127.0.0.2", "*", ""] {
        let outcome = tried(allow);
        assert!(unstarted(&outcome).starts_with("refused: 127.0.0.1 (here.test)"), "{outcome:?}");
    }
}

/// A name that is somewhere else every time it is asked for.
#[test]
fn a_name_cannot_move_between_the_look_and_the_connection() {
    let count = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&count);
    let lookup: Lookup = Arc::new(move |_| {
        let inside: IpAddr = Ipv4Addr::LOCALHOST.into();
        let opened: IpAddr = Ipv4Addr::new(127, 0, 0, 9).into();
        Ok(vec![if counted.fetch_add(1, Ordering::SeqCst) == 0 { opened } else { inside }])
    });
    let hits = Arc::default();
    let receiver = everywhere(&hits);
    let settings = WebSettings { lookup: Some(lookup), ..WebSettings::default() };
    let url = format!("https://moving.test:{}/", receiver.address.port());
    let request = WebhookRequest { allow: vec!["127.0.0.9".to_owned()], ..post(&url) };
    let action = WebhookAction::new(settings);
    let first = run(&action, &call(&request));
    assert!(unstarted(&first).starts_with("no connection"), "{first:?}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let second = run(&action, &call(&request));
    assert!(unstarted(&second).starts_with("refused: 127.0.0.1"), "{second:?}");
}
