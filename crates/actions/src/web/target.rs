//! The target of a request: a strictly parsed URL and its checked addresses. Messages never hold
//! the URL's path or query: those may be a secret.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

use super::address::{Allowlist, private_kind};
use super::error::RequestError;

/// A URL that a request may go to.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub url: Url,
    pub allowed: Allowlist,
    kind: TargetKind,
    host: String,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    /// This machine, by its own name or address.
    Loopback,
    Address(IpAddr),
    HostName,
}

impl Target {
    /// Parses a URL, or returns why nothing is sent to it.
    pub fn parse(text: &str, allow: &[String]) -> Result<Self, RequestError> {
        if text.chars().any(|character| character.is_control() || character == ' ') {
            return Err(RequestError::UrlCharacters);
        }
        let url = Url::parse(text).map_err(RequestError::NotUrl)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(RequestError::UrlCredentials);
        }

        let host = url.host_str().unwrap_or_default().to_owned();
        let kind = target_kind(&host);
        match url.scheme() {
            "https" => {}
            "http" if kind == TargetKind::Loopback => {}
            "http" => return Err(RequestError::PlainHttp),
            other => return Err(RequestError::Scheme(other.to_owned())),
        }
        let port = url.port_or_known_default().unwrap_or_default();
        Ok(Self { url, allowed: Allowlist::parse(allow), kind, host, port })
    }

    /// The URL without path and query, for records.
    pub fn redacted_url(&self) -> String {
        let bare = self.url.path() == "/" && self.url.query().is_none();
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}://{}{port}/{}", self.url.scheme(), self.host, if bare { "" } else { "…" })
    }

    /// Host and port.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The host name to resolve, if there is one.
    pub fn host_name(&self) -> Option<&str> {
        (self.kind == TargetKind::HostName).then_some(self.host.as_str())
    }

    /// The addresses to connect to: those of the URL, or those of its resolved name. One forbidden
    /// address refuses them all.
    pub fn check_addresses(&self, resolved: &[IpAddr]) -> Result<Vec<SocketAddr>, RequestError> {
        let own = match self.kind {
            TargetKind::Loopback => loopback_addresses(&self.host),
            TargetKind::Address(address) => vec![address],
            TargetKind::HostName => resolved.to_vec(),
        };
        if self.kind != TargetKind::Loopback {
            own.iter().try_for_each(|address| self.check_address(*address))?;
        }
        Ok(own.into_iter().map(|address| SocketAddr::new(address, self.port)).collect())
    }

    fn check_address(&self, address: IpAddr) -> Result<(), RequestError> {
        let Some(kind) = private_kind(address) else { return Ok(()) };
        if self.allowed.allows_host(&self.host) || self.allowed.allows_address(address) {
            return Ok(());
        }
        let host = self.host_name().map(str::to_owned);
        Err(RequestError::PrivateAddress { address, host, kind })
    }
}

fn target_kind(host: &str) -> TargetKind {
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match literal {
        Ok(address) if address.is_loopback() => TargetKind::Loopback,
        Ok(address) => TargetKind::Address(address),
        Err(_) if host.trim_end_matches('.') == "localhost" => TargetKind::Loopback,
        Err(_) => TargetKind::HostName,
    }
}

/// The loopback addresses of a host. `localhost` is never resolved, so no resolver can point it
/// elsewhere.
fn loopback_addresses(host: &str) -> Vec<IpAddr> {
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    literal.map_or_else(
        |_| vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        |address| vec![address],
    )
}
