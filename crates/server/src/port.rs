//! A port of this machine, bound on both loopback addresses: `localhost` means either, and another
//! program on one of them would receive the links.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

/// How often another free port is tried when its other address is taken.
const MAX_ATTEMPTS: usize = 8;

/// A port bound by this process.
pub(crate) struct LoopbackPort {
    pub(crate) port: u16,
    pub(crate) listeners: Vec<TcpListener>,
}

impl LoopbackPort {
    /// Binds a port, any for 0; `None` if another program uses it.
    pub(crate) fn bind(port: u16) -> io::Result<Option<Self>> {
        let tries = if port == 0 { MAX_ATTEMPTS } else { 1 };
        for _ in 0..tries {
            if let Some(bound_port) = Self::bind_once(port)? {
                return Ok(Some(bound_port));
            }
        }
        Ok(None)
    }

    fn bind_once(port: u16) -> io::Result<Option<Self>> {
        let four = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => listener,
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Ok(None),
            Err(error) => return Err(error),
        };
        let port = four.local_addr()?.port();
        let mut listeners = vec![four];
        match TcpListener::bind((Ipv6Addr::LOCALHOST, port)) {
            Ok(six) => listeners.push(six),
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Ok(None),
            // Without IPv6, no program can bind the other address.
            Err(_) => {}
        }
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        Ok(Some(Self { port, listeners }))
    }
}
