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

/// What is needed for each new connection.
pub enum Side {
    Client(Arc<ClientConfig>),
    Server(Arc<ServerConfig>),
}

impl Side {
    /// Reads the files.
    pub fn new(name: &str, listen: bool, files: Option<&Tls>) -> Result<Side, PortError> {
        let wrong = |why: String| PortError::Tls {
            name: name.into(),
            why,
        };
        let none = Tls::default();
        let files = files.unwrap_or(&none);
        let provider = Arc::new(ring::default_provider());
        let own = match (&files.private_key, &files.certificate) {
            (Some(key), Some(certificate)) => Some(own(key, certificate).map_err(wrong)?),
            (None, None) if !listen => None,
            _ => return Err(wrong("a private key and its certificate are needed".into())),
        };
        let roots = match &files.ca_cert {
            Some(path) if path.as_os_str() == "none" => None,
            Some(path) => Some(Arc::new(roots(path).map_err(wrong)?)),
            None => {
                return Err(wrong(
                    "the authority's certificate is needed to know the far end by, or `none`"
                        .into(),
                ));
            }
        };
        let faulty = |error: Error| wrong(error.to_string());
        if listen {
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
            let Some((certificates, key)) = own else {
                return Err(wrong("a private key and its certificate are needed".into()));
            };
            let config = builder
                .with_single_cert(certificates, key)
                .map_err(faulty)?;
            return Ok(Side::Server(Arc::new(config)));
        }
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(faulty)?;
        let signed = match roots {
            Some(roots) => Some(
                WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
                    .build()
                    .map_err(|error| wrong(error.to_string()))?,
            ),
            None => None,
        };
        let verifier = Arc::new(Signed { signed, provider });
        let builder = builder
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match own {
            Some((certificates, key)) => builder
                .with_client_auth_cert(certificates, key)
                .map_err(faulty)?,
            None => builder.with_no_client_auth(),
        };
        Ok(Side::Client(Arc::new(config)))
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
