//! Which clients of `wire probe --answer` get a test: those that prove that they receive, one test for each address, and from
//! addresses of the whole Internet only those with the key.

use super::cookie::{Cookies, setup_of};
use crate::token;
use nodes::bandwidth::capacity::client::Signer;
use nodes::bandwidth::capacity::server::Grant;
use packet::udpstp::{Activation, Setup, SetupAnswer};
use parking_lot::Mutex;
use ring::hmac;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// Setups of clients without cookies that are remembered at most.
const MAX_SETUPS: usize = 1024;

/// Signs activations with the key of a file, and creates the file if it does not exist.
///
/// # Errors
/// Those of [`token::of_file`].
pub fn signer(path: Option<&Path>) -> anyhow::Result<Option<Signer>> {
    let Some(path) = path else { return Ok(None) };
    let text = token::of_file(path)?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes());
    Ok(Some(Signer::new(move |bytes| {
        let mut digest = [0; 32];
        digest.copy_from_slice(hmac::sign(&key, bytes).as_ref());
        digest
    })))
}

/// Clients whose tests run.
#[derive(Clone, Default)]
pub struct Running(Arc<Mutex<BTreeSet<SocketAddr>>>);

impl Running {
    fn with<T>(&self, see: impl FnOnce(&mut BTreeSet<SocketAddr>) -> T) -> T {
        see(&mut self.0.lock())
    }

    /// The test of this client is over.
    pub fn end(&self, client: SocketAddr) {
        self.with(|all| all.remove(&client));
    }

    /// Whether none runs.
    pub fn is_empty(&self) -> bool {
        self.with(|all| all.is_empty())
    }
}

/// Admission policy.
pub struct Desk {
    pub at_once: usize,
    /// Clients of any address are served without a key.
    pub public: bool,
    /// Clients that do not repeat the cookie are served.
    pub any_client: bool,
    pub signer: Option<Signer>,
    pub cookies: Cookies,
    pub running: Running,
    /// Setups of clients that may not repeat the cookie, when there may be such.
    pub setups: BTreeMap<SocketAddr, Setup>,
}

/// Why an activation starts no test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its test runs: the answer was lost.
    Runs,
    /// It does not repeat the cookie, or has a wrong key.
    Unproven,
    /// As many tests run as may, or one of this address does.
    Full,
}

impl Desk {
    /// The admission policy as text.
    pub fn whom(&self) -> &'static str {
        match (&self.signer, self.public) {
            (Some(_), _) => "clients with the key",
            (None, true) => "any address",
            (None, false) => "clients of loopback and private addresses",
        }
    }

    fn is_full(&self, client: SocketAddr) -> bool {
        let ip = client.ip().to_canonical();
        self.running.with(|all| {
            // Programs of this machine share its address.
            let same = |other: &SocketAddr| other.ip().to_canonical() == ip;
            all.len() >= self.at_once || !ip.is_loopback() && all.iter().any(same)
        })
    }

    /// Answers a setup request without keeping state.
    pub fn grant(
        &mut self,
        client: SocketAddr,
        port: u16,
        setup: &Setup,
        unix_time: u32,
    ) -> Result<Grant, SetupAnswer> {
        let wants_key = self.signer.is_some() || !self.public && is_public(client.ip());
        match (wants_key, setup.integrity.mode) {
            (true, 0) => return Err(SetupAnswer::KEY_WANTED),
            (true, _) if self.signer.is_none() => return Err(SetupAnswer::KEY_WANTED),
            (false, 1..) => return Err(SetupAnswer::NO_KEYS),
            _ => {}
        }
        if self.is_full(client) {
            return Err(SetupAnswer::FULL);
        }
        if self.any_client && !wants_key {
            if self.setups.len() >= MAX_SETUPS {
                self.setups.pop_first();
            }
            self.setups.insert(client, *setup);
        }
        let integrity = self.cookies.of(client, setup, unix_time);
        Ok(Grant { port, integrity })
    }

    /// Takes an activation; then a test of this setup runs.
    pub fn activate(
        &mut self,
        client: SocketAddr,
        request: &Activation,
        unix_time: u32,
    ) -> Result<Setup, Refusal> {
        if self.running.with(|all| all.contains(&client)) {
            return Err(Refusal::Runs);
        }
        let proven = self.proven(client, request, unix_time);
        let setup = match proven {
            Some(setup) => setup,
            None if self.any_client => self.setups.remove(&client).ok_or(Refusal::Unproven)?,
            None => return Err(Refusal::Unproven),
        };
        if self.is_full(client) {
            return Err(Refusal::Full);
        }
        self.setups.remove(&client);
        self.running.with(|all| all.insert(client));
        Ok(setup)
    }

    /// The setup that the client proves to have been answered.
    fn proven(&self, client: SocketAddr, request: &Activation, unix_time: u32) -> Option<Setup> {
        let shown = self.cookies.shown(client, &request.integrity, unix_time)?;
        // Only with a key a cookie says that it wants one.
        let digest = match (&self.signer, shown.mode) {
            (None, 0) => shown.digest,
            (Some(signer), 1..) => signer.digest(request, &shown),
            _ => return None,
        };
        let good = bool::from(digest.ct_eq(&request.integrity.digest));
        good.then(|| setup_of(&shown))
    }
}

/// Whether an address is public: not private, link-local, or for benchmarks (RFC 2544).
fn is_public(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(v4) => {
            let benchmark = matches!(v4.octets(), [198, 18 | 19, ..]);
            !(v4.is_loopback() || v4.is_private() || v4.is_link_local() || benchmark)
        }
        IpAddr::V6(v6) => !(v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local()),
    }
}

#[cfg(test)]
mod tests;
