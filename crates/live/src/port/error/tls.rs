//! What goes wrong with TLS.

use rustls::client::VerifierBuilderError;
use rustls::pki_types::{InvalidDnsNameError, pem};
use std::path::PathBuf;

/// What is wrong with keys and certificates.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A server has neither, or one of both is missing.
    #[error("a private key and its certificate are needed (--private-key, --certificate)")]
    NoKey,
    /// Nobody said who is to be believed.
    #[error("the authority's certificate is needed to know the far end by (--ca-cert), or `none`")]
    NoAuthority,
    /// A key that cannot be read.
    #[error("the private key {}: {source}", path.display())]
    Key {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// A certificate that cannot be read.
    #[error("the certificate {}: {source}", path.display())]
    Certificate {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// A file without a certificate.
    #[error("the certificate {}: there is none in it", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A certificate of no authority.
    #[error("the certificate {}: {source}", path.display())]
    Authority {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        source: rustls::Error,
    },
    /// What does not fit together, or is not allowed.
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
    /// Certificates by which nothing can be verified.
    #[error(transparent)]
    Verifier(#[from] VerifierBuilderError),
    /// A host by whose name nothing can be verified.
    #[error(transparent)]
    Host(#[from] InvalidDnsNameError),
}
