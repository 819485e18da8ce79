//! TLS as users of Open vSwitch have it: a key, a certificate, and those of the authority that both sides trust.
//!
//! A certificate is good when the authority has signed it; names do not count, since switches and controllers have
//! none that a certificate could hold.

use crate::port::PortError;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error,
    RootCertStore, ServerConfig, ServerConnection, SignatureScheme,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files in PEM form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// This side's key.
    pub private_key: Option<PathBuf>,
    /// This side's certificate, with those between it and the authority's behind it.
    pub certificate: Option<PathBuf>,
    /// The certificates of the authorities whose word counts; `none` for not asking who the far end is.
    pub ca_cert: Option<PathBuf>,
}

impl Tls {
    /// What a server needs that speaks TLS, and these protocols above it.
    ///
    /// # Errors
    /// When a file is missing or does not do; `name` is who listens.
    pub fn server(&self, name: &str, protocols: &[&[u8]]) -> Result<ServerConfig, PortError> {
        let wrong = |why: String| PortError::Tls {
            name: name.into(),
            why,
        };
        let faulty = |error: Error| wrong(error.to_string());
        let provider = Arc::new(ring::default_provider());
        let (certificates, key) = self
            .own()
            .map_err(wrong)?
            .ok_or_else(|| wrong(NO_KEY.into()))?;
        let roots = self.roots().map_err(wrong)?;
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(faulty)?;
        let builder = match roots {
            Some(roots) => builder.with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(roots, provider)
                    .build()
                    .map_err(|error| wrong(error.to_string()))?,
            ),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder
            .with_single_cert(certificates, key)
            .map_err(faulty)?;
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(config)
    }

    fn client(&self, name: &str) -> Result<ClientConfig, PortError> {
        let wrong = |why: String| PortError::Tls {
            name: name.into(),
            why,
        };
        let faulty = |error: Error| wrong(error.to_string());
        let provider = Arc::new(ring::default_provider());
        let own = self.own().map_err(wrong)?;
        let signed = match self.roots().map_err(wrong)? {
            Some(roots) => Some(
                WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
                    .build()
                    .map_err(|error| wrong(error.to_string()))?,
            ),
            None => None,
        };
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(faulty)?;
        let verifier = Arc::new(Signed { signed, provider });
        let builder = builder
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        match own {
            Some((certificates, key)) => builder
                .with_client_auth_cert(certificates, key)
                .map_err(faulty),
            None => Ok(builder.with_no_client_auth()),
        }
    }

    /// This side's certificates and key, if it has any.
    fn own(&self) -> Result<Option<Own>, String> {
        match (&self.private_key, &self.certificate) {
            (Some(key), Some(certificate)) => Ok(Some(own(key, certificate)?)),
            (None, None) => Ok(None),
            _ => Err(NO_KEY.into()),
        }
    }

    /// Whose word counts; `None` where the far end is not asked who it is.
    fn roots(&self) -> Result<Option<Arc<RootCertStore>>, String> {
        match &self.ca_cert {
            Some(path) if path.as_os_str() == "none" => Ok(None),
            Some(path) => Ok(Some(Arc::new(roots(path)?))),
            None => Err(
                "the authority's certificate is needed to know the far end by (--ca-cert), or `none`"
                    .into(),
            ),
        }
    }
}

const NO_KEY: &str = "a private key and its certificate are needed (--private-key, --certificate)";

/// What is needed for each new connection.
pub enum Side {
    Client(Arc<ClientConfig>),
    Server(Arc<ServerConfig>),
}

impl Side {
    /// Reads the files.
    pub fn new(name: &str, listen: bool, files: Option<&Tls>) -> Result<Side, PortError> {
        let none = Tls::default();
        let files = files.unwrap_or(&none);
        match listen {
            true => Ok(Side::Server(Arc::new(files.server(name, &[])?))),
            false => Ok(Side::Client(Arc::new(files.client(name)?))),
        }
    }

    /// A new connection's own part.
    pub fn begin(&self, host: &str) -> Result<Connection, String> {
        let said = |error: Error| error.to_string();
        match self {
            Side::Server(config) => Ok(ServerConnection::new(config.clone()).map_err(said)?.into()),
            Side::Client(config) => {
                let name =
                    ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
                let connection = ClientConnection::new(config.clone(), name).map_err(said)?;
                Ok(connection.into())
            }
        }
    }
}

type Own = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn own(key: &Path, certificate: &Path) -> Result<Own, String> {
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| format!("the private key {}: {error}", key.display()))?;
    Ok((certificates(certificate)?, private))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |why: String| format!("the certificate {}: {why}", path.display());
    let read = CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
    let read: Result<Vec<_>, _> = read.collect();
    let read = read.map_err(|error| wrong(error.to_string()))?;
    match read.is_empty() {
        true => Err(wrong("there is none in it".into())),
        false => Ok(read),
    }
}

fn roots(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        let added = roots.add(certificate);
        added.map_err(|error| format!("the certificate {}: {error}", path.display()))?;
    }
    Ok(roots)
}

/// Takes a server whose certificate the authority has signed, whatever its name; without an authority, any.
#[derive(Debug)]
struct Signed {
    signed: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Signed {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(signed) = &self.signed else {
            return Ok(ServerCertVerified::assertion());
        };
        // The name is looked at last, when all else was found good.
        match signed.verify_server_cert(end, between, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
