//! The home's prefix: the control program asks the router for it by DHCPv6 (RFC 9818), as the router asks the provider.
//!
//! The router routes the whole prefix to the link-local address of the control program. It answers at least every 15 s, so that the home follows
//! a prefix that changes. A router without a prefix does not answer.

use crate::networks::Network;
use core::net::Ipv6Addr;
use dhcp::v6::client::{Action, Client, Lease, Settings, State};
use dhcp::v6::message::duid;
use node::Time;
use packet::ethernet::Mac;

/// Length of the prefix that is asked for, bits; the router delegates the one that it has.
const LENGTH: u8 = 56;
/// Interval of client restarts. With the back-off of RFC 9915 it could miss a prefix for up to an hour.
const RESTART_INTERVAL: Time = Time::from_secs(30);

/// A change of the prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delegated {
    /// The home has this prefix: its first address, its length, and the times until which it is preferred and valid.
    Prefix(Ipv6Addr, u8, [Time; 2]),
    /// The home has no prefix.
    Nothing,
}

/// The client.
#[derive(Debug)]
pub struct Delegation {
    client: Client,
    /// Time of the next restart without a prefix.
    again: Time,
    /// The last message.
    pub message: Vec<u8>,
    /// Messages sent.
    pub sent: u64,
    /// Messages of the router that were ignored.
    pub ignored: u64,
    /// Prefixes that are too long for one device.
    pub unusable: u64,
}

impl Delegation {
    /// A client with an identifier of this MAC address.
    pub fn new(mac: Mac, seed: u64) -> Delegation {
        let settings = Settings {
            duid: duid(mac.0),
            address: false,
            prefix: Some(LENGTH),
            rapid_commit: true,
        };
        Delegation {
            client: Client::new(settings, seed),
            again: RESTART_INTERVAL,
            message: Vec::new(),
            sent: 0,
            ignored: 0,
            unusable: 0,
        }
    }

    /// Takes a message of the router.
    pub fn handle(&mut self, now: Time, payload: &[u8]) {
        if self.client.handle(now, payload).is_err() {
            self.ignored += 1;
        }
    }

    /// Advances the client. `true`: [`message`](Delegation::message) must be sent. Changes of the prefix go to `changed`. Called until
    /// it returns `false`.
    pub fn poll(&mut self, now: Time, changed: &mut Vec<Delegated>) -> bool {
        if now >= self.again {
            self.again = now + RESTART_INTERVAL;
            if matches!(self.client.state(), State::Soliciting | State::Requesting) {
                self.client.restart(now);
            }
        }
        loop {
            match self.client.poll(now, &mut self.message) {
                None => return false,
                Some(Action::Send) => {
                    self.sent += 1;
                    return true;
                }
                Some(Action::Configure(lease)) => changed.push(self.read(&lease)),
                Some(Action::Unconfigure) => changed.push(Delegated::Nothing),
            }
        }
    }

    /// The prefix of a lease with the longest preferred lifetime.
    fn read(&mut self, lease: &Lease) -> Delegated {
        let prefixes = lease.prefixes.iter();
        let is_usable = |address, length| Network::new(address, length, Time::ZERO, Time::ZERO);
        let usable = prefixes.filter(|held| is_usable(held.item.address, held.item.length).is_ok());
        let best = usable.max_by_key(|held| (held.preferred_until, held.valid_until));
        match best {
            Some(held) => Delegated::Prefix(
                held.item.address,
                held.item.length,
                [held.preferred_until, held.valid_until],
            ),
            None => {
                self.unusable += u64::from(!lease.prefixes.is_empty());
                Delegated::Nothing
            }
        }
    }

    /// Time of the next call of [`poll`](Delegation::poll).
    pub fn next_wake(&self) -> Option<Time> {
        let is_waiting = matches!(self.client.state(), State::Soliciting | State::Requesting);
        let again = is_waiting.then_some(self.again);
        [self.client.next_wake(), again].into_iter().flatten().min()
    }
}
