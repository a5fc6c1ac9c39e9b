//! A port of this machine, held on both loopback addresses: `localhost` means either, and whoever
//! held the other one would be handed our links.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

/// How often a free port is asked for when its other address turns out to be taken.
const TRIES: usize = 8;

/// A port that is ours.
pub(crate) struct Place {
    pub(crate) port: u16,
    pub(crate) listeners: Vec<TcpListener>,
}

impl Place {
    /// Takes a port, any for 0; nothing if somebody has it.
    pub(crate) fn take(port: u16) -> io::Result<Option<Self>> {
        let tries = if port == 0 { TRIES } else { 1 };
        for _ in 0..tries {
            if let Some(place) = Self::take_once(port)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    fn take_once(port: u16) -> io::Result<Option<Self>> {
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
            // A machine without the newer address has nobody who could take it.
            Err(_) => {}
        }
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        Ok(Some(Self { port, listeners }))
    }
}
