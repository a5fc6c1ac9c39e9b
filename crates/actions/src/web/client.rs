//! Builds all HTTP clients: no proxy, no redirect, no cookie, own resolver, the machine's trust
//! store.

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

use super::error::{ExchangeError, TlsError};
use super::settings::{ResolveFn, WebSettings};
use super::target::Target;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Builds clients for checked targets.
#[derive(Clone)]
pub(crate) struct HttpClients {
    resolve: Option<ResolveFn>,
    roots: Vec<Vec<u8>>,
    /// Built once: the machine has many certificates.
    tls_config: Arc<OnceLock<Result<ClientConfig, TlsError>>>,
}

impl HttpClients {
    /// Creates it. Reads and opens nothing yet.
    pub fn new(settings: &WebSettings) -> Self {
        let (resolve, roots) = (settings.resolve.clone(), settings.roots.clone());
        Self { resolve, roots, tls_config: Arc::default() }
    }

    /// A client that reaches the addresses behind this target and nothing else.
    pub async fn client_for(&self, target: &Target) -> Result<Client, ExchangeError> {
        let resolved = match target.host_name() {
            Some(name) => self.resolve_host(name).await.map_err(|source| {
                ExchangeError::HostNotFound { authority: target.authority(), source }
            })?,
            None => Vec::new(),
        };

        let addresses = target.check_addresses(&resolved)?;
        let tls = match target.url.scheme() {
            "https" => self.tls_config.get_or_init(|| tls_with_roots(&self.roots)).clone(),
            _ => base_tls_config(),
        };

        let builder = Client::builder()
            .tls_backend_preconfigured(tls?)
            .dns_resolver(Arc::new(CheckedResolver(addresses)))
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .http1_only();
        builder.build().map_err(|error| ExchangeError::NoClient(error.without_url()))
    }

    async fn resolve_host(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let (name, resolve) = (name.to_owned(), self.resolve.clone());
        let work = move || match resolve {
            Some(resolve) => resolve(&name),
            None => {
                (name.as_str(), 0).to_socket_addrs().map(|all| all.map(|one| one.ip()).collect())
            }
        };
        let found: Vec<IpAddr> =
            tokio::task::spawn_blocking(work).await.map_err(io::Error::other)??;
        if found.is_empty() { Err(io::Error::other("the name has no address")) } else { Ok(found) }
    }
}

/// Resolves every name to the checked addresses, so that a second lookup cannot change them.
struct CheckedResolver(Vec<SocketAddr>);

impl Resolve for CheckedResolver {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

fn tls_with_roots(roots: &[Vec<u8>]) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let roots = roots.iter().map(|root| CertificateDer::from(root.clone()));
    let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&provider))
        .map_err(TlsError::NoTrustStore)?;
    let mut config = base_tls_config()?;
    config.dangerous().set_certificate_verifier(Arc::new(verifier));
    Ok(config)
}

fn base_tls_config() -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::NoProtocol)?;
    let mut config = builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
