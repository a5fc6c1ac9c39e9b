//! The one place where clients for HTTP are made: no proxy, no redirect, no cookie, no resolver
//! but our own, the machine's trust store. It knows targets, not what is sent to them.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, redirect, retry};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::settings::{Lookup, WebSettings};
use super::target::Target;

/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(5);

/// The way out to the network.
#[derive(Clone)]
pub(crate) struct Net {
    lookup: Option<Lookup>,
    roots: Vec<Vec<u8>>,
    /// Read once: the machine's certificates are many.
    secure: Arc<OnceLock<Result<ClientConfig, String>>>,
}

/// Why there is no client.
pub(crate) enum NoClient {
    /// It is not allowed, now or later.
    Refused(String),
    /// The world was against it.
    Failed(String),
}

impl Net {
    /// Under these settings; nothing is read and nothing is opened yet.
    pub fn new(settings: &WebSettings) -> Self {
        let (lookup, roots) = (settings.lookup.clone(), settings.roots.clone());
        Self { lookup, roots, secure: Arc::default() }
    }

    /// A client that reaches the addresses behind this target and nothing else.
    pub async fn client(&self, target: &Target) -> Result<Client, NoClient> {
        let resolved = match target.name() {
            Some(name) => self.resolve(name).await.map_err(|error| {
                NoClient::Failed(format!("{} was not found: {error}", target.authority()))
            })?,
            None => Vec::new(),
        };
        let addresses = target.admit(&resolved).map_err(NoClient::Refused)?;
        let tls = match target.url.scheme() {
            "https" => self.secure.get_or_init(|| secure(&self.roots)).clone(),
            _ => configured(RootCertStore::empty()),
        };
        let tls = tls.map_err(NoClient::Failed)?;
        let builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(Arc::new(Checked(addresses)))
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(CONNECT)
            .http1_only();
        builder.build().map_err(|error| NoClient::Failed(error.without_url().to_string()))
    }

    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let (name, lookup) = (name.to_owned(), self.lookup.clone());
        let work = move || match lookup {
            Some(lookup) => lookup(&name),
            None => {
                (name.as_str(), 0).to_socket_addrs().map(|all| all.map(|one| one.ip()).collect())
            }
        };
        let found: Vec<IpAddr> =
            tokio::task::spawn_blocking(work).await.map_err(io::Error::other)??;
        if found.is_empty() { Err(io::Error::other("it has no address")) } else { Ok(found) }
    }
}

/// Resolves every name to what was looked at; so nobody can change his mind in between.
struct Checked(Vec<SocketAddr>);

impl Resolve for Checked {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

fn secure(roots: &[Vec<u8>]) -> Result<ClientConfig, String> {
    let why = |error: rustls::Error| format!("no trust store: {error}");
    let provider = Arc::new(ring::default_provider());
    let roots = roots.iter().map(|root| CertificateDer::from(root.clone()));
    let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&provider)).map_err(why)?;
    let mut config = configured(RootCertStore::empty())?;
    config.dangerous().set_certificate_verifier(Arc::new(verifier));
    Ok(config)
}

fn configured(roots: RootCertStore) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("no TLS: {error}"))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
