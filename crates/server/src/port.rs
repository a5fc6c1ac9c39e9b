//! A port of this machine, bound on both loopback addresses: `localhost` means either, and another
//! program on one of them would receive the links. Further addresses are bound only on request.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

/// How often another free port is tried when its other address is taken.
const MAX_ATTEMPTS: usize = 8;
const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// A port bound by this process.
pub(crate) struct BoundPort {
    pub(crate) port: u16,
    pub(crate) listeners: Vec<TcpListener>,
}

impl BoundPort {
    /// Binds a port on loopback, any for 0; `None` if another program uses it.
    pub(crate) fn bind(port: u16) -> io::Result<Option<Self>> {
        Self::bind_also(port, None)
    }

    /// Binds a port on loopback and on one more address.
    pub(crate) fn bind_also(port: u16, more: Option<IpAddr>) -> io::Result<Option<Self>> {
        let addresses = listen_addresses(more);
        let tries = if port == 0 { MAX_ATTEMPTS } else { 1 };
        for _ in 0..tries {
            if let Some(bound_port) = bind_once(port, &addresses, more)? {
                return Ok(Some(bound_port));
            }
        }
        Ok(None)
    }
}

/// The addresses to bind. An address that stands for all of its family takes their place; that of
/// IPv6 also stands for IPv4.
fn listen_addresses(more: Option<IpAddr>) -> Vec<IpAddr> {
    let is_covered = |address: &IpAddr| match more {
        Some(IpAddr::V6(all)) if all.is_unspecified() => true,
        Some(IpAddr::V4(all)) if all.is_unspecified() => address.is_ipv4(),
        more => more == Some(*address),
    };
    let loopback = LOOPBACK.into_iter().filter(|address| !is_covered(address));
    more.into_iter().chain(loopback).collect()
}

fn bind_once(
    port: u16,
    addresses: &[IpAddr],
    needed: Option<IpAddr>,
) -> io::Result<Option<BoundPort>> {
    let mut bound = BoundPort { port, listeners: Vec::new() };
    for address in addresses {
        let is_needed = address.is_ipv4() || needed == Some(*address);
        match TcpListener::bind((*address, bound.port)) {
            Ok(listener) => {
                bound.port = listener.local_addr()?.port();
                listener.set_nonblocking(true)?;
                bound.listeners.push(listener);
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Ok(None),
            Err(error) if is_needed => return Err(error),
            // Without IPv6, no program can bind the other address.
            Err(_) => {}
        }
    }
    Ok(Some(bound))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::{BoundPort, listen_addresses};

    #[test]
    fn replaces_loopback_by_an_address_that_contains_it() {
        let addresses = |text: &str| {
            let more: Option<IpAddr> = text.parse().ok();
            listen_addresses(more).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(addresses(""), ["127.0.0.1", "::1"]);
        assert_eq!(addresses("127.0.0.1"), ["127.0.0.1", "::1"]);
        assert_eq!(addresses("192.168.1.5"), ["192.168.1.5", "127.0.0.1", "::1"]);
        assert_eq!(addresses("0.0.0.0"), ["0.0.0.0", "::1"]);
        assert_eq!(addresses("::"), ["::"]);
    }

    #[test]
    fn binds_every_address_to_one_port() {
        let bound = BoundPort::bind_also(0, "127.0.0.2".parse().ok()).unwrap().unwrap();
        let ports = bound.listeners.iter().map(|listener| listener.local_addr().unwrap().port());
        assert!(ports.clone().all(|port| port == bound.port) && ports.count() >= 2);
        assert!(BoundPort::bind(bound.port).unwrap().is_none(), "the port is taken");
    }
}
