//! Who holds a port: one of us with the same ledger, or somebody else. Half a second, no more.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

const LIMIT: Duration = Duration::from_millis(500);
const ANSWER_BYTES: usize = 4096;

/// Who was met.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// It serves the tickets of our ledger.
    Kin,
    /// Somebody else.
    Stranger,
    /// Nobody answers the door.
    Nobody,
}

/// Asks a port for its mark.
pub(crate) fn probe(port: u16, mark: &str) -> Met {
    let Ok(stream) = TcpStream::connect_timeout(&address(port), LIMIT) else { return Met::Nobody };
    let answer = ask(stream, port).unwrap_or_default();
    if says(&answer, mark) && is_our_own(port) { Met::Kin } else { Met::Stranger }
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

fn ask(mut stream: TcpStream, port: u16) -> io::Result<String> {
    let until = Instant::now() + LIMIT;
    stream.set_write_timeout(Some(LIMIT))?;
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    let mut chunk = [0; 1024];
    while answer.len() < ANSWER_BYTES {
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

fn says(answer: &str, mark: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return false };
    let body: Value = serde_json::from_str(body.trim()).unwrap_or_default();
    head.starts_with("HTTP/1.1 200") && body.get("gambrel").and_then(Value::as_str) == Some(mark)
}

/// Another user of this machine can learn our mark and answer with it, to be shown our links.
/// Where the system tells whose socket it is, that counts.
fn is_our_own(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let us = rustix::process::geteuid().as_raw().to_string();
    owner(&table, port).is_none_or(|owner| owner == us)
}

/// The user who listens, in the system's table of sockets.
fn owner(table: &str, port: u16) -> Option<&str> {
    let door = format!("{:08X}:{port:04X}", u32::from_ne_bytes(Ipv4Addr::LOCALHOST.octets()));
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listens = fields.get(1) == Some(&door.as_str()) && fields.get(3) == Some(&"0A");
        fields.get(7).filter(|_| listens).copied()
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::{is_our_own, owner, says};

    #[test]
    fn the_system_says_whose_a_socket_is() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_our_own(port));
        let Ok(table) = std::fs::read_to_string("/proc/net/tcp") else { return };
        let us = rustix::process::geteuid().as_raw();
        assert_eq!(owner(&table, port), Some(us.to_string().as_str()));
        let line =
            "   7: 0100007F:223D 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001";
        assert_eq!(owner(line, 8765), Some("1001"));
        assert_eq!(owner(&line.replace(" 0A ", " 01 "), 8765), None);
        assert_eq!(owner(line, 8766), None);
    }

    #[test]
    fn only_our_mark_in_a_good_answer_is_ours() {
        let good = "HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{\"gambrel\":\"m\"}";
        assert!(says(good, "m"));
        assert!(!says(good, "n"));
        assert!(!says(&good.replace("200", "404"), "m"));
        assert!(!says("{\"gambrel\":\"m\"}", "m"));
        assert!(!says("", ""));
    }
}
