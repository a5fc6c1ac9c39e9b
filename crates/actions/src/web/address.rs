//! Which addresses lie inside: on this machine, in its networks, or nowhere. Pure; it knows no
//! names, no sockets and no requests.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PRIVATE: &str = "a private address";
const LOOPBACK: &str = "an address of this machine";
const LINK: &str = "a link-local address";
const MULTICAST: &str = "a multicast address";
const EXAMPLE: &str = "an address for documentation or benchmarks";
const RESERVED: &str = "a reserved address";
const DISGUISE: &str = "an IPv4 address in disguise";

/// Everything of IPv4 that is not the public internet.
const V4: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 8, "an unspecified address"),
    ([10, 0, 0, 0], 8, PRIVATE),
    ([100, 64, 0, 0], 10, "a carrier-grade NAT address"),
    ([127, 0, 0, 0], 8, LOOPBACK),
    // A cloud's own service at what looks like a public address.
    ([168, 63, 129, 16], 32, LINK),
    ([169, 254, 0, 0], 16, LINK),
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

/// What of IPv6 has a name of its own; the first that holds it counts.
const V6: &[([u16; 8], u32, &str)] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 128, "an unspecified address"),
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, LOOPBACK),
    ([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, DISGUISE),
    ([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, DISGUISE),
    ([0, 0, 0, 0, 0, 0, 0, 0], 96, DISGUISE),
    ([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, PRIVATE),
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64, RESERVED),
    ([0x2001, 2, 0, 0, 0, 0, 0, 0], 48, EXAMPLE),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, EXAMPLE),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, EXAMPLE),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, PRIVATE),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, LINK),
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, PRIVATE),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, MULTICAST),
];

/// What an address is, if it is not one of the public internet.
pub(crate) fn inside(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => inside_v4(address),
        IpAddr::V6(address) => inside_v6(address),
    }
}

fn inside_v4(address: Ipv4Addr) -> Option<&'static str> {
    let held = |(net, length, _): &&([u8; 4], u32, &str)| {
        holds(Ipv4Addr::from(*net).into(), *length, address.into())
    };
    V4.iter().find(held).map(|(.., word)| *word)
}

fn inside_v6(address: Ipv6Addr) -> Option<&'static str> {
    let held = |(net, length, _): &&([u16; 8], u32, &str)| {
        holds(Ipv6Addr::from(*net).into(), *length, address.into())
    };
    if let Some((.., word)) = V6.iter().find(held) {
        return Some(word);
    }
    let parts = address.segments();
    let within = |at: usize| {
        let [a, b] = [parts[at], parts[at + 1]].map(u16::to_be_bytes);
        Ipv4Addr::new(a[0], a[1], b[0], b[1])
    };
    let disguised = |v4: Ipv4Addr| inside_v4(v4).map(|_| DISGUISE);
    match parts {
        // NAT64: how a machine without IPv4 reaches the rest.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => disguised(within(6)),
        // 6to4.
        [0x2002, ..] => disguised(within(1)),
        // Teredo: its server, and its client with all bits turned.
        [0x2001, 0, ..] => {
            let client = Ipv4Addr::from(!u32::from(within(6)));
            disguised(within(2)).or_else(|| disguised(client))
        }
        // The rest of what is set aside for protocols.
        [0x2001, 1..0x200, ..] => Some(RESERVED),
        [first, ..] => (first & 0xe000 != 0x2000).then_some(RESERVED),
    }
}

/// Whether a network holds an address.
fn holds(net: IpAddr, length: u32, address: IpAddr) -> bool {
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

/// Hosts and networks of the inside that the user has opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed {
    hosts: Vec<String>,
    networks: Vec<(IpAddr, u32)>,
}

impl Allowed {
    /// From names, addresses and `address/length`. What is none of them opens nothing.
    pub fn read(list: &[String]) -> Self {
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
                (Err(_), None) if !head.is_empty() => this.hosts.push(plain(head)),
                (Err(_), _) => {}
            }
        }
        this
    }

    /// Whether a host is opened by its name.
    pub fn host(&self, host: &str) -> bool {
        self.hosts.contains(&plain(host))
    }

    /// Whether an address is opened.
    pub fn address(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|(net, length)| holds(*net, *length, address))
    }
}

fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
