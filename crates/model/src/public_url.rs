//! The address under which other machines reach the callback links of this one: a scheme, a host and
//! perhaps a port. The listener itself stays on this machine, behind a tunnel or a proxy.

use std::fmt;

/// A public address, such as `https://hooks.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    base: String,
    host: String,
}

/// Why a text is no public address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PublicUrlError {
    /// It has another scheme, or none.
    #[error("the public URL begins with https:// or http://")]
    Scheme,
    /// It has no usable host.
    #[error("the public URL needs a host, such as https://hooks.example.com")]
    Host,
    /// It has more than a scheme, a host and a port.
    #[error("the public URL has only a scheme, a host and a port; leave out user, path and query")]
    Rest,
}

impl PublicUrl {
    /// Parses an address. A slash at the end has no meaning.
    pub fn parse(text: &str) -> Result<Self, PublicUrlError> {
        let text = text.trim().to_ascii_lowercase();
        let (scheme, rest) = text.split_once("://").ok_or(PublicUrlError::Scheme)?;
        let usual_port = match scheme {
            "https" => ":443",
            "http" => ":80",
            _ => return Err(PublicUrlError::Scheme),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '@', '\\']) {
            return Err(PublicUrlError::Rest);
        }
        let host = authority.strip_suffix(usual_port).unwrap_or(authority);
        if !is_authority(host) {
            return Err(PublicUrlError::Host);
        }
        Ok(Self { base: format!("{scheme}://{host}"), host: host.to_owned() })
    }

    /// The beginning of links, without a slash at the end. Browsers send the same text as `Origin`.
    pub fn as_str(&self) -> &str {
        &self.base
    }

    /// Whether the `Host` of a request names this address.
    pub fn is_host(&self, host: &str) -> bool {
        let usual_port = if self.base.starts_with("https:") { ":443" } else { ":80" };
        let host = host.strip_suffix(usual_port).unwrap_or(host);
        self.host.eq_ignore_ascii_case(host)
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

/// Whether a text is a host name or an address, perhaps with a port.
fn is_authority(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let Some((address, port)) = rest.split_once(']') else { return false };
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return false;
            }
            ("v6", port)
        }
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let has_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok_and(|n| n > 0));
    !host.is_empty() && host.chars().all(is_name) && has_port
}

#[cfg(test)]
mod tests {
    use super::{PublicUrl, PublicUrlError};

    #[test]
    fn parses_addresses() {
        for (text, base) in [
            ("https://hooks.example.com", "https://hooks.example.com"),
            (" HTTPS://Hooks.Example.com:443/ ", "https://hooks.example.com"),
            ("http://192.168.1.5:8765", "http://192.168.1.5:8765"),
            ("http://[fd00::1]:8765", "http://[fd00::1]:8765"),
        ] {
            assert_eq!(PublicUrl::parse(text).unwrap().as_str(), base);
        }
    }

    #[test]
    fn refuses_other_texts() {
        for (text, error) in [
            ("hooks.example.com", PublicUrlError::Scheme),
            ("ftp://hooks.example.com", PublicUrlError::Scheme),
            ("https://", PublicUrlError::Host),
            ("https://a b", PublicUrlError::Host),
            ("https://a:0", PublicUrlError::Host),
            ("https://[::1", PublicUrlError::Host),
            ("https://me@hooks.example.com", PublicUrlError::Rest),
            ("https://hooks.example.com/gambrel", PublicUrlError::Rest),
            ("https://hooks.example.com?x", PublicUrlError::Rest),
        ] {
            assert_eq!(PublicUrl::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn compares_hosts() {
        let url = PublicUrl::parse("https://hooks.example.com").unwrap();
        for host in ["hooks.example.com", "Hooks.Example.com", "hooks.example.com:443"] {
            assert!(url.is_host(host), "{host}");
        }
        for host in ["hooks.example.com:8443", "hooks.example.com.evil", "localhost", ""] {
            assert!(!url.is_host(host), "{host}");
        }
    }
}
