//! TLS as users of Open vSwitch have it: a key, a certificate, and those of the authority that both sides trust.
//!
//! A certificate is good when the authority has signed it; names do not count, since switches and controllers have
//! none that a certificate could hold.

use crate::port::{PortError, TlsError};
use ::capture::file::Bytes;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error,
    RootCertStore, ServerConfig, ServerConnection, SignatureScheme,
};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest file of a key or of certificates, bytes: all authorities of a system have some 200 KiB.
const MAX_PEM: u64 = 4 << 20;

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
        self.server_config(protocols)
            .map_err(|source| PortError::Tls {
                name: name.into(),
                source,
            })
    }

    fn server_config(&self, protocols: &[&[u8]]) -> Result<ServerConfig, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let (certificates, key) = self.own()?.ok_or(TlsError::NoKey)?;
        let roots = self.roots()?;
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = match roots {
            Some(roots) => builder.with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(roots, provider).build()?,
            ),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(certificates, key)?;
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(config)
    }

    fn client_config(&self) -> Result<ClientConfig, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let own = self.own()?;
        let signed = match self.roots()? {
            Some(roots) => {
                let builder = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
                Some(builder.build()?)
            }
            None => None,
        };
        let builder = ClientConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions()?;
        let verifier = Arc::new(Signed { signed, provider });
        let builder = builder
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        Ok(match own {
            Some((certificates, key)) => builder.with_client_auth_cert(certificates, key)?,
            None => builder.with_no_client_auth(),
        })
    }

    /// This side's certificates and key, if it has any.
    fn own(&self) -> Result<Option<Own>, TlsError> {
        match (&self.private_key, &self.certificate) {
            (Some(key), Some(certificate)) => Ok(Some(own(key, certificate)?)),
            (None, None) => Ok(None),
            _ => Err(TlsError::NoKey),
        }
    }

    /// Whose word counts; `None` where the far end is not asked who it is.
    fn roots(&self) -> Result<Option<Arc<RootCertStore>>, TlsError> {
        match &self.ca_cert {
            Some(path) if path.as_os_str() == "none" => Ok(None),
            Some(path) => Ok(Some(Arc::new(roots(path)?))),
            None => Err(TlsError::NoAuthority),
        }
    }
}

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
            false => match files.client_config() {
                Ok(config) => Ok(Side::Client(Arc::new(config))),
                Err(source) => Err(PortError::Tls {
                    name: name.into(),
                    source,
                }),
            },
        }
    }

    /// A new connection's own part.
    pub fn begin(&self, host: &str) -> Result<Connection, TlsError> {
        Ok(match self {
            Side::Server(config) => ServerConnection::new(config.clone())?.into(),
            Side::Client(config) => {
                let name = ServerName::try_from(host.to_owned())?;
                ClientConnection::new(config.clone(), name)?.into()
            }
        })
    }
}

type Own = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn own(key: &Path, certificate: &Path) -> Result<Own, TlsError> {
    let private = read(key).and_then(|bytes| PrivateKeyDer::from_pem_slice(&bytes));
    let private = private.map_err(|source| TlsError::Key {
        path: key.into(),
        source,
    })?;
    Ok((certificates(certificate)?, private))
}

/// A file, which a lab may name: as much of it as keys and certificates have, and no wait that a signal does not end.
fn read(path: &Path) -> Result<Vec<u8>, pem::Error> {
    let mut bytes = Vec::new();
    let read = Bytes::open(path).and_then(|file| file.take(MAX_PEM).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(pem::Error::Io)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = read(path).and_then(|bytes| CertificateDer::pem_slice_iter(&bytes).collect());
    let read: Vec<_> = read.map_err(|source| TlsError::Certificate {
        path: path.into(),
        source,
    })?;
    match read.is_empty() {
        true => Err(TlsError::Empty { path: path.into() }),
        false => Ok(read),
    }
}

fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        let added = roots.add(certificate);
        added.map_err(|source| TlsError::Authority {
            path: path.into(),
            source,
        })?;
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
