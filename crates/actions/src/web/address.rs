//! Which addresses are private: on this machine, in its networks, or reserved. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PRIVATE: &str = "a private address";
const LOOPBACK: &str = "an address of this machine";
const LINK_LOCAL: &str = "a link-local address";
const MULTICAST: &str = "a multicast address";
const EXAMPLE: &str = "an address for documentation or benchmarks";
const RESERVED: &str = "a reserved address";
const EMBEDDED_V4: &str = "an IPv4 address in disguise";

/// All IPv4 ranges outside the public internet.
const PRIVATE_V4: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 8, "an unspecified address"),
    ([10, 0, 0, 0], 8, PRIVATE),
    ([100, 64, 0, 0], 10, "a carrier-grade NAT address"),
    ([127, 0, 0, 0], 8, LOOPBACK),
    // A cloud's internal service at a public-looking address.
    ([168, 63, 129, 16], 32, LINK_LOCAL),
    ([169, 254, 0, 0], 16, LINK_LOCAL),
    ([172, 16, 0, 0], 12, PRIVATE),
    ([192, 0, 0, 0], 24, RESERVED),
    ([192, 0, 2, 0], 24, EXAMPLE),
    ([192, 88, 99, 0], 24, RESERVED),
    ([192, 168, 0, 0], 16, PRIVATE),
    ([198, 18, 0, 0], 15, EXAMPLE),
    ([198, 51, 100, 0], 24, EXAMPLE),
    ([203, 0, 113, 0], 24, EXAMPLE),
    ([224, 0, 0, 0], 4, MULTICAST),
    ([255, 255, 255, 255], 32, "the broadcast address"),
    ([240, 0, 0, 0], 4, RESERVED),
];

/// IPv6 ranges with a kind of their own; the first that contains the address counts.
const PRIVATE_V6: &[([u16; 8], u32, &str)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 128, "an unspecified address"),
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, LOOPBACK),
    ([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, EMBEDDED_V4),
    ([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, EMBEDDED_V4),
    ([0, 0, 0, 0, 0, 0, 0, 0], 96, EMBEDDED_V4),
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, PRIVATE),
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64, RESERVED),
    ([0x2001, 2, 0, 0, 0, 0, 0, 0], 48, EXAMPLE),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, EXAMPLE),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, EXAMPLE),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, PRIVATE),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, LINK_LOCAL),
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, PRIVATE),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, MULTICAST),
];

/// The kind of an address outside the public internet; `None` for a public address.
pub(crate) fn private_kind(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => private_kind_v4(address),
        IpAddr::V6(address) => private_kind_v6(address),
    }
}

fn private_kind_v4(address: Ipv4Addr) -> Option<&'static str> {
    let held = |(net, length, _): &&([u8; 4], u32, &str)| {
        network_contains(Ipv4Addr::from(*net).into(), *length, address.into())
    };
    PRIVATE_V4.iter().find(held).map(|(.., word)| *word)
}

fn private_kind_v6(address: Ipv6Addr) -> Option<&'static str> {
    let held = |(net, length, _): &&([u16; 8], u32, &str)| {
        network_contains(Ipv6Addr::from(*net).into(), *length, address.into())
    };
    if let Some((.., word)) = PRIVATE_V6.iter().find(held) {
        return Some(word);
    }
    let parts = address.segments();
    let embedded_v4 = |at: usize| {
        let [a, b] = [parts[at], parts[at + 1]].map(u16::to_be_bytes);
        Ipv4Addr::new(a[0], a[1], b[0], b[1])
    };
    let embedded_kind = |v4: Ipv4Addr| private_kind_v4(v4).map(|_| EMBEDDED_V4);
    match parts {
        // NAT64: a machine without IPv4 reaches IPv4 addresses through it.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => embedded_kind(embedded_v4(6)),
        // 6to4.
        [0x2002, ..] => embedded_kind(embedded_v4(1)),
        // Teredo: its server, and its client with all bits inverted.
        [0x2001, 0, ..] => {
            let client = Ipv4Addr::from(!u32::from(embedded_v4(6)));
            embedded_kind(embedded_v4(2)).or_else(|| embedded_kind(client))
        }
        // The remaining ranges for protocols.
        [0x2001, 1..0x200, ..] => Some(RESERVED),
        [first, ..] => (first & 0xe000 != 0x2000).then_some(RESERVED),
    }
}

/// Whether a network contains an address.
fn network_contains(net: IpAddr, length: u32, address: IpAddr) -> bool {
    let (net, address, bits) = match (net, address) {
        (IpAddr::V4(net), IpAddr::V4(address)) => {
            (u128::from(u32::from(net)), u128::from(u32::from(address)), 32)
        }
        (IpAddr::V6(net), IpAddr::V6(address)) => (u128::from(net), u128::from(address), 128),
        _ => return false,
    };
    let shift = bits - length.min(bits);
    net.checked_shr(shift).unwrap_or(0) == address.checked_shr(shift).unwrap_or(0)
}

/// Private hosts and networks that the user allows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowlist {
    hosts: Vec<String>,
    networks: Vec<(IpAddr, u32)>,
}

impl Allowlist {
    /// From names, addresses and `address/length`. Other entries allow nothing.
    pub fn parse(list: &[String]) -> Self {
        let mut this = Self::default();
        for entry in list.iter().map(|entry| entry.trim()) {
            let (head, length) = entry.split_once('/').map_or((entry, None), |(a, b)| (a, Some(b)));
            let head = head.trim_start_matches('[').trim_end_matches(']');
            match (head.parse::<IpAddr>(), length) {
                (Ok(address), None) => this.networks.push((address, 128)),
                (Ok(address), Some(length)) => {
                    let longest = if address.is_ipv4() { 32 } else { 128 };
                    let length = length.parse().ok().filter(|length| *length <= longest);
                    this.networks.extend(length.map(|length| (address, length)));
                }
                (Err(_), None) if !head.is_empty() => this.hosts.push(normalize_host(head)),
                (Err(_), _) => {}
            }
        }
        this
    }

    /// Whether a host is allowed by its name.
    pub fn allows_host(&self, host: &str) -> bool {
        self.hosts.contains(&normalize_host(host))
    }

    /// Whether an address is allowed.
    pub fn allows_address(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|(net, length)| network_contains(*net, *length, address))
    }
}

fn normalize_host(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
