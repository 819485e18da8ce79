//! The client (RFC 9915 section 18.2): message in, message out, without I/O.
//!
//! The caller hands over messages with [`handle`](Client::handle) and does what [`poll`](Client::poll) says until it says
//! nothing more, after each call and at [`next_wake`](Client::next_wake). All messages go to
//! [`ALL_SERVERS`](super::message::ALL_SERVERS).

mod lease;
mod request;
mod retransmission;

pub use lease::{Held, Lease};

use super::message::{Item, Kind, Message, option, status};
use alloc::vec::Vec;
use core::net::Ipv6Addr;
use lease::Advertisement;
use node::Time;
use node::random::Random;
use retransmission::{Limits, Retransmission};

/// Number of the associations of a client.
const IAID: u32 = 1;
/// Maximum random delay of the first message (`SOL_MAX_DELAY`, `INF_MAX_DELAY`).
const MAX_DELAY: Time = Time::from_secs(1);
/// Time until the client begins again after a server has refused all.
const REFUSED_DELAY: Time = Time::from_secs(1);

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// DUID, 3 to 130 bytes.
    pub duid: Vec<u8>,
    /// Whether it wants an address.
    pub address: bool,
    /// Length of the prefix that it wants delegated, 1 to 128 bits; `None`: it wants none.
    pub prefix: Option<u8>,
    /// Whether it asks for two messages instead of four.
    pub rapid_commit: bool,
}

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing sent yet.
    Init,
    /// Looks for servers.
    Soliciting,
    /// Has asked one server.
    Requesting,
    /// Has addresses.
    Bound,
    /// Has asked its server for longer lifetimes.
    Renewing,
    /// Has asked all servers for longer lifetimes.
    Rebinding,
    /// Has asked for parameters alone.
    Informing,
    /// Has parameters, and wants nothing else.
    Informed,
    /// Reports that another host has its address.
    Declining,
    /// Gives its addresses up.
    Releasing,
}

/// Demand of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send the message.
    Send,
    /// These addresses, prefixes and parameters are valid from now on, in place of earlier ones.
    Configure(Lease),
    /// Nothing is valid any longer.
    Unconfigure,
}

/// A client. See the [module](self).
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    random: Random,
    state: State,
    xid: u32,
    /// Time of the first message of the exchange.
    started: Time,
    retransmission: Retransmission,
    timer: Time,
    best: Option<Advertisement>,
    lease: Option<Lease>,
    configured: Option<Lease>,
    /// Address to decline.
    conflict: Option<Item>,
}

impl Client {
    /// A client that begins at time 0.
    pub fn new(settings: Settings, seed: u64) -> Client {
        let mut random = Random::new(seed);
        let timer = Time::from_ps(random.below(MAX_DELAY.as_ps()));
        Client {
            settings,
            random,
            state: State::Init,
            xid: 0,
            started: Time::ZERO,
            retransmission: Retransmission::default(),
            timer,
            best: None,
            lease: None,
            configured: None,
            conflict: None,
        }
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Leases in use.
    pub fn lease(&self) -> Option<&Lease> {
        self.configured.as_ref()
    }

    /// Time at which [`poll`](Client::poll) has something to do.
    pub fn next_wake(&self) -> Option<Time> {
        (self.timer < Time::MAX).then_some(self.timer)
    }

    /// Another host has an address of the lease.
    pub fn handle_conflict(&mut self, now: Time, address: Ipv6Addr) -> bool {
        let lease = self.lease.as_ref();
        let item = lease.and_then(|lease| lease.items().find(|one| one.address == address));
        let Some(item) = item.copied() else {
            return false;
        };
        self.conflict = Some(item);
        self.enter(now, State::Declining);
        true
    }

    /// Gives the lease up. The client begins again after [`restart`](Client::restart).
    pub fn release(&mut self, now: Time) {
        if self.lease.is_some() {
            self.enter(now, State::Releasing);
        }
    }

    /// Begins again at `at`, without a lease.
    pub fn restart(&mut self, at: Time) {
        self.state = State::Init;
        self.timer = at;
        (self.lease, self.best, self.conflict) = (None, None, None);
    }

    /// Takes a message of a server.
    ///
    /// # Errors
    /// The reason for which it was ignored.
    pub fn handle(&mut self, now: Time, bytes: &[u8]) -> Result<(), &'static str> {
        let message = Message::new(bytes).map_err(|fault| fault.0)?;
        if !matches!(message.kind, Kind::Advertise | Kind::Reply) {
            return Err("DHCPv6 message of a client");
        }
        if message.client() != Some(&self.settings.duid) || message.xid != self.xid {
            return Err("DHCPv6 reply to another client");
        }
        let server = message.server().ok_or("DHCPv6 reply without a server")?;
        match (self.state, message.kind) {
            (State::Soliciting, Kind::Advertise) => self.advertised(now, &message, server),
            (State::Soliciting, Kind::Reply)
                if message.options.find(option::RAPID_COMMIT).is_some() =>
            {
                self.take(now, &message)
            }
            (State::Requesting, Kind::Reply) => match message.options.status() {
                status::SUCCESS => self.take(now, &message),
                _ => {
                    self.restart(now + REFUSED_DELAY);
                    Ok(())
                }
            },
            (State::Renewing | State::Rebinding, Kind::Reply) => self.take(now, &message),
            (State::Informing, Kind::Reply) => {
                let (lease, refresh) = lease::information(now, &message);
                self.lease = Some(lease);
                self.state = State::Informed;
                self.timer = refresh;
                Ok(())
            }
            (State::Declining, Kind::Reply) => {
                self.restart(now + REFUSED_DELAY);
                Ok(())
            }
            (State::Releasing, Kind::Reply) => {
                self.restart(Time::MAX);
                Ok(())
            }
            _ => Err("DHCPv6 reply out of turn"),
        }
    }

    /// Keeps the best advertisement (RFC 9915 section 18.2.9).
    fn advertised(
        &mut self,
        now: Time,
        message: &Message<'_>,
        server: &[u8],
    ) -> Result<(), &'static str> {
        let advertisement = Advertisement::read(message, server);
        if advertisement.count == 0 {
            return Err("DHCPv6 server without addresses");
        }
        let wanted =
            usize::from(self.settings.address) + usize::from(self.settings.prefix.is_some());
        let perfect = advertisement.preference == 255 && advertisement.count >= wanted;
        let later = self.retransmission.sent > 1;
        let better = self
            .best
            .as_ref()
            .is_none_or(|best| advertisement.is_better(best));
        if better {
            self.best = Some(advertisement);
        }
        if perfect || later {
            self.enter(now, State::Requesting);
        }
        Ok(())
    }

    /// Takes the lease of a reply.
    fn take(&mut self, now: Time, message: &Message<'_>) -> Result<(), &'static str> {
        let lease = Lease::read(self.retransmission.last, message, IAID);
        let lost = message
            .options
            .associations()
            .any(|one| one.iaid == IAID && one.options.status() == status::NO_BINDING);
        let renews = matches!(self.state, State::Renewing | State::Rebinding);
        match (lease, self.lease.take()) {
            (Some(mut lease), old) => {
                match old.filter(|_| renews) {
                    Some(old) => lease = lease.after(old, now),
                    None => lease.expire(now),
                }
                if lease.is_empty() && !renews {
                    return Err("DHCPv6 reply without addresses");
                }
                self.lease = Some(lease);
                self.state = State::Bound;
                self.set_timer();
                Ok(())
            }
            // The server has lost its table: ask it for the same (RFC 9915 section 18.2.10.1).
            (None, Some(old)) if lost && renews => {
                self.best = Some(Advertisement::of(
                    &old,
                    message.server().unwrap_or_default(),
                ));
                self.lease = Some(old);
                self.enter(now, State::Requesting);
                Ok(())
            }
            (None, _) if self.state == State::Requesting => {
                self.restart(now + REFUSED_DELAY);
                Ok(())
            }
            (None, old) => {
                self.lease = old;
                Err("DHCPv6 reply without addresses")
            }
        }
    }

    fn set_timer(&mut self) {
        let times = self.lease.as_ref().map(|lease| {
            let times = [lease.renewal, lease.rebinding, lease.end()];
            times.into_iter().min().unwrap_or(Time::MAX)
        });
        self.timer = times.unwrap_or(Time::MAX);
    }

    /// Returns the next action, if there is one; a message to send is written into `out`.
    pub fn poll(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Action> {
        if let Some(lease) = &mut self.lease {
            lease.expire(now);
            let holds = matches!(
                self.state,
                State::Bound | State::Renewing | State::Rebinding
            );
            if holds && lease.is_empty() {
                self.restart(now);
            }
        }
        let in_use = !matches!(self.state, State::Declining | State::Releasing);
        let lease = self.lease.clone().filter(|_| in_use);
        if lease != self.configured {
            self.configured = lease;
            return Some(match &self.configured {
                Some(lease) => Action::Configure(lease.clone()),
                None => Action::Unconfigure,
            });
        }
        if now < self.timer {
            return None;
        }
        self.timeout(now, out)
    }

    fn timeout(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Action> {
        let limits = match self.state {
            State::Init => {
                let wants = self.settings.address || self.settings.prefix.is_some();
                let state = if wants {
                    State::Soliciting
                } else {
                    State::Informing
                };
                self.enter(now, state);
                return self.timeout(now, out);
            }
            State::Informed => {
                self.enter(now, State::Informing);
                return self.timeout(now, out);
            }
            State::Soliciting if self.best.is_some() => {
                self.enter(now, State::Requesting);
                return self.timeout(now, out);
            }
            State::Bound => {
                let lease = self.lease.as_ref()?;
                let state = match now >= lease.rebinding {
                    true => State::Rebinding,
                    false => State::Renewing,
                };
                self.enter(now, state);
                return self.timeout(now, out);
            }
            State::Renewing if self.lease.as_ref().is_some_and(|one| now >= one.rebinding) => {
                self.enter(now, State::Rebinding);
                return self.timeout(now, out);
            }
            State::Soliciting => Limits::SOLICIT,
            State::Requesting => Limits::REQUEST,
            State::Renewing => Limits::RENEW,
            State::Rebinding => Limits::REBIND,
            State::Informing => Limits::INFORMATION,
            State::Declining | State::Releasing => Limits::RELEASE,
        };
        let Some(next) = self.retransmission.next(now, limits, &mut self.random) else {
            let ended = matches!(self.state, State::Releasing);
            self.restart(if ended { Time::MAX } else { now });
            return self.poll(now, out);
        };
        let until = self.lease.as_ref().map(|lease| match self.state {
            State::Renewing => lease.rebinding.min(lease.end()),
            State::Rebinding => lease.end(),
            _ => Time::MAX,
        });
        self.timer = next.min(until.unwrap_or(Time::MAX));
        self.write_message(now, out);
        Some(Action::Send)
    }

    fn enter(&mut self, now: Time, state: State) {
        self.state = state;
        self.xid = self.random.bits() as u32 & 0x00FF_FFFF;
        self.started = now;
        self.timer = now;
        self.retransmission = Retransmission::default();
        if state == State::Soliciting {
            self.best = None;
        }
    }
}
