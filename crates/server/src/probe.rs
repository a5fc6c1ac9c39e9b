//! Finds the owner of a port: a gambrel process with the same ledger, or another program. Takes at
//! most half a second.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use gambrel_model::PublicUrl;
use serde_json::Value;

const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
const MAX_ANSWER_BYTES: usize = 4096;

/// The owner of a port.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PortOwner {
    /// A gambrel process with the same ledger, and the public address that it serves.
    SameLedger(Option<PublicUrl>),
    /// Another program, or another user's process.
    OtherProgram,
    /// No process accepts connections.
    Nobody,
}

/// Asks the owner of a port for its ledger id.
pub(crate) fn find_owner(port: u16, ledger_id: &str) -> PortOwner {
    let Ok(stream) = TcpStream::connect_timeout(&loopback_address(port), PROBE_TIMEOUT) else {
        return PortOwner::Nobody;
    };
    let answer = request_health(stream, port).unwrap_or_default();
    match parse_health(&answer).filter(|health| health["gambrel"] == ledger_id) {
        Some(health) if belongs_to_user(port) => {
            let public_url = health["public_url"].as_str();
            PortOwner::SameLedger(public_url.and_then(|url| PublicUrl::parse(url).ok()))
        }
        _ => PortOwner::OtherProgram,
    }
}

fn loopback_address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

fn request_health(mut stream: TcpStream, port: u16) -> io::Result<String> {
    let until = Instant::now() + PROBE_TIMEOUT;
    stream.set_write_timeout(Some(PROBE_TIMEOUT))?;
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    let mut chunk = [0; 1024];
    while answer.len() < MAX_ANSWER_BYTES {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk)? {
            0 => break,
            count => answer.extend_from_slice(chunk.get(..count).unwrap_or_default()),
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// What a process says about itself.
fn parse_health(answer: &str) -> Option<Value> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let body: Value = serde_json::from_str(body.trim()).ok()?;
    head.starts_with("HTTP/1.1 200").then_some(body)
}

/// Whether this user's process listens on the port. Another user could learn the ledger id and
/// answer with it to receive the links. Without a table of sockets it counts as this user's.
fn belongs_to_user(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let us = rustix::process::geteuid().as_raw().to_string();
    socket_owner(&table, port).is_none_or(|owner| owner == us)
}

/// The user id of the listening socket, in the system's table.
fn socket_owner(table: &str, port: u16) -> Option<&str> {
    let local_address =
        format!("{:08X}:{port:04X}", u32::from_ne_bytes(Ipv4Addr::LOCALHOST.octets()));
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listens =
            fields.get(1) == Some(&local_address.as_str()) && fields.get(3) == Some(&"0A");
        fields.get(7).filter(|_| listens).copied()
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::{belongs_to_user, parse_health, socket_owner};

    #[test]
    fn finds_the_owner_of_a_listening_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(belongs_to_user(port));
        let Ok(table) = std::fs::read_to_string("/proc/net/tcp") else { return };
        let us = rustix::process::geteuid().as_raw();
        assert_eq!(socket_owner(&table, port), Some(us.to_string().as_str()));
        let line =
            "   7: 0100007F:223D 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001";
        assert_eq!(socket_owner(line, 8765), Some("1001"));
        assert_eq!(socket_owner(&line.replace(" 0A ", " 01 "), 8765), None);
        assert_eq!(socket_owner(line, 8766), None);
    }

    #[test]
    fn reads_only_answers_of_servers() {
        let good = "HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{\"gambrel\":\"m\"}";
        assert_eq!(parse_health(good).unwrap()["gambrel"], "m");
        assert_eq!(parse_health(&good.replace("200", "404")), None);
        assert_eq!(parse_health("{\"gambrel\":\"m\"}"), None);
        assert_eq!(parse_health(""), None);
    }
}
