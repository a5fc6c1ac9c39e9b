//! The first and the last address of every private range, and their public neighbours.

use std::net::IpAddr;

use super::{Allowlist, private_kind};

const PRIVATE: &[&str] = &[
    "0.0.0.0",
    "0.0.0.1",
    "0.255.255.255",
    "10.0.0.0",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.0",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.0",
    "127.0.0.1",
    "127.1.2.3",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.0.0",
    "169.254.169.254",
    "169.254.170.2",
    "169.254.255.255",
    "172.16.0.0",
    "172.17.0.1",
    "172.31.255.255",
    "192.0.0.0",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.0.255",
    "192.0.2.0",
    "192.0.2.255",
    "192.88.99.0",
    "192.88.99.255",
    "192.168.0.0",
    "192.168.1.1",
    "192.168.255.255",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.0",
    "198.51.100.255",
    "203.0.113.0",
    "203.0.113.255",
    "224.0.0.0",
    "224.0.0.251",
    "239.255.255.250",
    "239.255.255.255",
    "240.0.0.0",
    "250.1.2.3",
    "255.255.255.254",
    "255.255.255.255",
    "::",
    "::1",
    "::2",
    "::7f00:1",
    "::10.0.0.1",
    "::8.8.8.8",
    "::ffff:0.0.0.0",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "::ffff:0:8.8.8.8",
    "64:ff9b::127.0.0.1",
    "64:ff9b::10.1.2.3",
    "64:ff9b::169.254.169.254",
    "64:ff9b::0.0.0.0",
    "64:ff9b::192.168.0.1",
    "64:ff9b:1::8.8.8.8",
    "64:ff9b:1::",
    "64:ff9b:1:ffff::1",
    "64:ff9b:0:0:0:1::1",
    "100::",
    "100::1",
    "100:0:0:1::1",
    "2001::1",
    "2001:0:7f00:1::",
    "2001:0:4136:e378:8000:63bf:f5ff:fffe",
    "2001:0:a00:1:8000:63bf:3fff:fdd2",
    "2001:1::1",
    "2001:2::1",
    "2001:2:0:ffff::1",
    "2001:10::1",
    "2001:20::1",
    "2001:1ff:ffff::1",
    "2001:db8::",
    "2001:db8:ffff::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:a9fe:a9fe::",
    "2002:c0a8:101::1",
    "2002:e000:1::",
    "3fff::",
    "3fff:fff:ffff::1",
    "4000::1",
    "5f00::1",
    "8000::1",
    "fc00::",
    "fc00::1",
    "fd00:ec2::254",
    "fd12:3456:789a::1",
    "fdff:ffff::1",
    "fe00::1",
    "fe80::1",
    "fe80::a9fe:a9fe",
    "febf:ffff::1",
    "fec0::1",
    "feff::1",
    "ff00::",
    "ff02::1",
    "ff02::fb",
    "ff0e::1",
    "ffff::1",
];

const PUBLIC: &[&str] = &[
    "1.0.0.0",
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "2000::1",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2001:db7::1",
    "2001:db9::1",
    "2002:808:808::1",
    "2003::1",
    "2606:4700:4700::1111",
    "2a00:1450::1",
    "3ffe::1",
    "3fff:1000::1",
    "64:ff9b::8.8.8.8",
    "64:ff9b::1.1.1.1",
    "2001:0:4136:e378:8000:63bf:f7f7:f7f7",
];

fn parse_address(text: &str) -> IpAddr {
    text.parse().unwrap_or_else(|_| panic!("{text} is no address"))
}

#[test]
fn classifies_private_addresses() {
    for text in PRIVATE {
        assert!(private_kind(parse_address(text)).is_some(), "{text} passes");
    }
}

#[test]
fn passes_public_addresses() {
    for text in PUBLIC {
        assert_eq!(private_kind(parse_address(text)), None, "{text}");
    }
}

#[test]
fn allows_listed_hosts_and_networks_only() {
    let list = ["Wiki.Corp.", "10.1.0.0/16", "192.168.1.5", "[fd00::1]", "fd01::/16", " "];
    let allowed = Allowlist::parse(&list.map(str::to_owned));
    for host in ["wiki.corp", "WIKI.corp."] {
        assert!(allowed.allows_host(host), "{host}");
    }
    for host in ["corp", "a.wiki.corp", "", "10.1.0.0"] {
        assert!(!allowed.allows_host(host), "{host}");
    }
    for text in ["10.1.0.0", "10.1.255.255", "192.168.1.5", "fd00::1", "fd01:2::1"] {
        assert!(allowed.allows_address(parse_address(text)), "{text}");
    }
    for text in ["10.2.0.0", "10.0.255.255", "192.168.1.6", "fd00::2", "::ffff:10.1.0.1"] {
        assert!(!allowed.allows_address(parse_address(text)), "{text}");
    }
}

#[test]
fn ignores_invalid_allowlist_entries() {
    let list = ["10.0.0.0/33", "10.0.0.0/x", "host/8", "/", "/0", "10.0.0.0/-1", "fd00::/129"];
    let allowed = Allowlist::parse(&list.map(str::to_owned));
    assert!(
        !allowed.allows_address(parse_address("10.0.0.0"))
            && !allowed.allows_address(parse_address("fd00::"))
    );
    assert!(!allowed.allows_host("host") && !allowed.allows_host(""));
    let all = Allowlist::parse(&["0.0.0.0/0".to_owned()]);
    assert!(
        all.allows_address(parse_address("10.0.0.1"))
            && !all.allows_address(parse_address("fd00::1"))
    );
}
