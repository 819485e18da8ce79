//! Cookies by which a client proves that it receives at its address. The server keeps no state before.
//!
//! The answer to a setup request carries one in its authentication fields (RFC 9946 section 4.2, which names them for keys), and
//! the activation repeats it. It is a keyed hash of the client's address and port, the time and the options of the setup; the key
//! is random and lasts as long as the process.

use anyhow::Context;
use packet::udpstp::{Integrity, Setup};
use ring::hmac;
use std::net::{IpAddr, SocketAddr};

/// Seconds that a cookie is good for.
const LIFE: u32 = 10;

/// The server's key of cookies.
pub struct Cookies(hmac::Key);

impl Cookies {
    /// With a new key.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn new() -> anyhow::Result<Cookies> {
        let random = ring::rand::SystemRandom::new();
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &random).ok();
        key.map(Cookies).context("random numbers for cookies")
    }

    /// The cookie of a client's setup answer at a time, in seconds since 1970.
    #[must_use]
    pub fn of(&self, client: SocketAddr, setup: &Setup, unix_time: u32) -> Integrity {
        let options = u8::from(setup.jumbo) | u8::from(setup.traditional_mtu) << 1;
        self.made(client, setup.integrity.mode, options, unix_time)
    }

    fn made(&self, client: SocketAddr, mode: u8, options: u8, unix_time: u32) -> Integrity {
        let mut context = hmac::Context::with_key(&self.0);
        let address = match client.ip() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        context.update(&address.octets());
        context.update(&client.port().to_be_bytes());
        context.update(&[mode, options]);
        context.update(&unix_time.to_be_bytes());
        let mut digest = [0; 32];
        digest.copy_from_slice(context.sign().as_ref());
        Integrity {
            mode,
            unix_time,
            digest,
            key: options,
        }
    }

    /// The cookie that the client claims, if it is valid and recent.
    #[must_use]
    pub fn shown(&self, client: SocketAddr, said: &Integrity, unix_time: u32) -> Option<Integrity> {
        let age = unix_time.checked_sub(said.unix_time)?;
        (age <= LIFE).then(|| self.made(client, said.mode, said.key, said.unix_time))
    }
}

/// The options of the setup, from the cookie of its answer.
#[must_use]
pub fn setup_of(shown: &Integrity) -> Setup {
    Setup {
        version: packet::udpstp::VERSION,
        connections: 1,
        jumbo: shown.key & 1 != 0,
        traditional_mtu: shown.key & 2 != 0,
        ..Setup::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_good_for_its_address_its_port_and_a_while() {
        let cookies = Cookies::new().unwrap();
        let client: SocketAddr = "192.0.2.1:5000".parse().unwrap();
        let setup = Setup {
            jumbo: true,
            ..Setup::default()
        };
        let cookie = cookies.of(client, &setup, 1000);
        for (age, good) in [
            (0, true),
            (LIFE, true),
            (LIFE + 1, false),
            (u32::MAX, false),
        ] {
            let now = 1000u32.wrapping_add(age);
            assert_eq!(
                cookies.shown(client, &cookie, now) == Some(cookie),
                good,
                "{age}"
            );
        }
        for other in ["192.0.2.1:5001", "192.0.2.2:5000", "[2001:db8::1]:5000"] {
            let other = cookies
                .shown(other.parse().unwrap(), &cookie, 1000)
                .unwrap();
            assert_ne!(other.digest, cookie.digest);
        }
        let changed = Integrity { key: 3, ..cookie };
        let shown = cookies.shown(client, &changed, 1000).unwrap();
        assert_ne!(shown.digest, cookie.digest);
        // Another process has another key.
        let again = Cookies::new().unwrap().of(client, &setup, 1000);
        assert_ne!(again.digest, cookie.digest);
        // An IPv4 client of a socket for both versions is the same client.
        let mapped = "[::ffff:192.0.2.1]:5000".parse().unwrap();
        assert_eq!(cookies.of(mapped, &setup, 1000), cookie);
        assert!(setup_of(&cookie).jumbo && !setup_of(&cookie).traditional_mtu);
    }
}
