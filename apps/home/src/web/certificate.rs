//! Certificate of the server: self-signed, created at the first start and stored.
//!
//! No authority signs local names. A browser warns once; the fingerprint shows whether it is this certificate. The certificate
//! is valid until 2049: a router may start without the date, and browsers store their exception for one certificate.

use crate::store::{Store, StoreError};
use rcgen::{
    CertificateParams, DnType, KeyIdMethod, PublicKeyData, SerialNumber, SignatureAlgorithm,
    SigningKey,
};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::sync::Arc;

const CERTIFICATE: &str = "certificate";
const KEY: &str = "certificate-key";

/// A certificate that could not be created or used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name that a certificate cannot have.
    #[error("no certificate for these names: {0}")]
    Names(#[from] rcgen::Error),
    /// The system has no random numbers, or the key is damaged.
    #[error("the certificate's key: {0}")]
    Key(String),
    /// The key and the certificate do not match.
    #[error("the certificate in the store: {0}")]
    Tls(#[from] rustls::Error),
}

/// The stored certificate, or a new one for these names and addresses, and its SHA-256 fingerprint as browsers show it.
///
/// # Errors
/// When a name cannot be in a certificate, or the store fails.
pub fn config(
    store: &Store,
    names: Vec<String>,
) -> Result<(Arc<ServerConfig>, String), CertificateError> {
    let kept = (store.setting(CERTIFICATE)?, store.setting(KEY)?);
    let (certificate, key) = match kept {
        (Some(certificate), Some(key)) => (certificate, key),
        _ => {
            let (certificate, key) = make(names)?;
            store.set(KEY, &key)?;
            store.set(CERTIFICATE, &certificate)?;
            (certificate, key)
        }
    };
    let digest = ring::digest::digest(&ring::digest::SHA256, &certificate);
    let pairs: Vec<String> = digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(certificate)],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key)),
        )?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((Arc::new(config), pairs.join(":")))
}

/// A certificate and its key, in DER and PKCS #8.
fn make(names: Vec<String>) -> Result<(Vec<u8>, Vec<u8>), CertificateError> {
    let random = SystemRandom::new();
    let key_error = |error: &dyn std::fmt::Display| CertificateError::Key(error.to_string());
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)
        .map_err(|error| key_error(&error))?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random)
        .map_err(|error| key_error(&error))?;
    let mut serial = [0; 16];
    random
        .fill(&mut serial)
        .map_err(|error| key_error(&error))?;
    serial[0] &= 0x7F; // Positive (RFC 5280, section 4.1.2.2).
    let mut params = CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "Home router");
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2049, 12, 31);
    params.key_identifier_method = KeyIdMethod::PreSpecified(serial.to_vec());
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    let certificate = params.self_signed(&Key(pair, random))?;
    Ok((certificate.der().to_vec(), pkcs8.as_ref().to_vec()))
}

struct Key(EcdsaKeyPair, SystemRandom);

impl PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_ECDSA_P256_SHA256
    }
}

impl SigningKey for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signature = self.0.sign(&self.1, message);
        let signature = signature.map_err(|_| rcgen::Error::RemoteKeyError)?;
        Ok(signature.as_ref().to_vec())
    }
}
