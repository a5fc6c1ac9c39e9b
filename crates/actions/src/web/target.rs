//! Where a request goes: a URL that was read strictly, and the addresses behind it, every one of
//! them looked at. It opens no connection. What it says of a URL never holds its path or query:
//! those may be a secret.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

use super::address::{Allowed, inside};

/// What the words of a refusal end with.
const HELP: &str = "only the user's own configuration can allow it";

/// A URL that may be tried.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub url: Url,
    pub allowed: Allowed,
    place: Place,
    host: String,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// This machine, by its own name or address.
    Here,
    Address(IpAddr),
    Name,
}

impl Target {
    /// Reads a URL, or says why nothing is sent to it.
    pub fn read(text: &str, allow: &[String]) -> Result<Self, String> {
        if text.chars().any(|letter| letter.is_control() || letter == ' ') {
            return Err("refused: the URL contains a space or a control character".to_owned());
        }
        let url = Url::parse(text).map_err(|error| format!("refused: not a URL: {error}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("refused: the URL contains a user name or a password; \
                send them in a header"
                .to_owned());
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let place = place(&host);
        match url.scheme() {
            "https" => {}
            "http" if place == Place::Here => {}
            "http" => return Err("refused: http goes to this machine only; use https".to_owned()),
            other => return Err(format!("refused: {other} is not https")),
        }
        let port = url.port_or_known_default().unwrap_or_default();
        Ok(Self { url, allowed: Allowed::read(allow), place, host, port })
    }

    /// What a record may show of it.
    pub fn shown(&self) -> String {
        let bare = self.url.path() == "/" && self.url.query().is_none();
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}://{}{port}/{}", self.url.scheme(), self.host, if bare { "" } else { "…" })
    }

    /// Host and port.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The name to be resolved, if there is one.
    pub fn name(&self) -> Option<&str> {
        (self.place == Place::Name).then_some(self.host.as_str())
    }

    /// The addresses to connect to: those of the URL, or those that its name was resolved to. One
    /// that is not allowed refuses them all.
    pub fn admit(&self, resolved: &[IpAddr]) -> Result<Vec<SocketAddr>, String> {
        let own = match self.place {
            Place::Here => here(&self.host),
            Place::Address(address) => vec![address],
            Place::Name => resolved.to_vec(),
        };
        if self.place != Place::Here {
            own.iter().try_for_each(|address| self.check(*address))?;
        }
        Ok(own.into_iter().map(|address| SocketAddr::new(address, self.port)).collect())
    }

    fn check(&self, address: IpAddr) -> Result<(), String> {
        let Some(word) = inside(address) else { return Ok(()) };
        if self.allowed.host(&self.host) || self.allowed.address(address) {
            return Ok(());
        }
        let whose = self.name().map(|name| format!(" ({name})")).unwrap_or_default();
        Err(format!("refused: {address}{whose} is {word}; {HELP}"))
    }
}

fn place(host: &str) -> Place {
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match literal {
        Ok(address) if address.is_loopback() => Place::Here,
        Ok(address) => Place::Address(address),
        Err(_) if host.trim_end_matches('.') == "localhost" => Place::Here,
        Err(_) => Place::Name,
    }
}

/// `localhost` is never resolved: no resolver can make it another machine.
fn here(host: &str) -> Vec<IpAddr> {
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    literal.map_or_else(
        |_| vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        |address| vec![address],
    )
}
