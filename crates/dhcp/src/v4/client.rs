//! The client (RFC 2131 section 4.4): message in, message out, without I/O.
//!
//! The caller hands over messages with [`handle`](Client::handle) and does what [`poll`](Client::poll) says until it says
//! nothing more, after each call and at [`next_wake`](Client::next_wake).

mod lease;

pub use lease::Lease;

use super::message::{Header, Kind, Message, REPLY, REQUEST, Writer, option};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use ip::address::is_host;
use node::Time;
use node::random::Random;
use packet::ethernet::Mac;

/// First time between two messages, which doubles up to the last (RFC 2131 section 4.1), and its random part each way.
const FIRST_TIMEOUT: Time = Time::from_secs(4);
const LAST_TIMEOUT: Time = Time::from_secs(64);
const JITTER: Time = Time::from_secs(1);
/// Requests for an offered address, and for an address from before a restart, until the client begins again.
const REQUESTS: u32 = 4;
const REBOOT_REQUESTS: u32 = 2;
/// Time until the client begins again after it has declined an address (RFC 2131 section 3.1).
const DECLINE_DELAY: Time = Time::from_secs(10);
/// Time until it begins again after a refusal.
const NAK_DELAY: Time = Time::from_secs(1);
/// Minimum time between two requests for a longer lease (RFC 2131 section 4.4.5), or a sixteenth of a short lease.
const RENEW_TIMEOUT: Time = Time::from_secs(60);
/// Number of ARP probes for an address (RFC 5227 section 1.1).
const PROBES: u32 = 3;
/// Options that the client asks for.
const PARAMETERS: [u8; 7] = [
    option::SUBNET_MASK,
    option::CLASSLESS_ROUTES,
    option::ROUTER,
    option::NAME_SERVER,
    option::DOMAIN_NAME,
    option::MTU,
    option::NTP,
];

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// MAC address of the interface.
    pub mac: Mac,
    /// Client identifier, 2 to 255 bytes (RFC 4361 section 6.1); `None`: the server goes by the MAC address.
    pub id: Option<Vec<u8>>,
    /// Name of the host, for the server.
    pub host_name: Option<String>,
    /// Whether replies are broadcast.
    pub broadcast: bool,
    /// Whether the client asks for two messages instead of four (RFC 4039).
    pub rapid_commit: bool,
    /// Time in which another host may answer for the address; zero: no probe.
    pub probe: Time,
    /// Maximum random delay of the first message.
    pub delay: Time,
    /// Address that the host had before it was restarted.
    pub previous: Option<Ipv4Addr>,
}

/// State of a client (RFC 2131 figure 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing sent yet.
    Init,
    /// Looks for servers.
    Selecting,
    /// Has asked for an offered address.
    Requesting,
    /// Has asked for the address it had.
    Rebooting,
    /// Looks whether another host has the address.
    Probing,
    /// Has an address.
    Bound,
    /// Has asked the server for a longer lease.
    Renewing,
    /// Has asked all servers for a longer lease.
    Rebinding,
}

/// Demand of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send the message from UDP port 68 of `from` to port 67 of `to`: a server, or all.
    Send {
        /// The client's address, or the unspecified one.
        from: Ipv4Addr,
        /// The server, or the broadcast address.
        to: Ipv4Addr,
    },
    /// Ask by ARP whether another host has this address (RFC 5227 section 2.1).
    Probe(Ipv4Addr),
    /// The lease is valid from now on, with these values. An earlier one is over.
    Configure(Lease),
    /// The lease is over.
    Unconfigure(Lease),
}

/// A client. See the [module](self).
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    random: Random,
    state: State,
    xid: u32,
    started: Time,
    /// Messages sent in this state.
    sent: u32,
    /// Time of the request from which a lease counts (RFC 2131 section 4.4.1).
    requested: Time,
    timer: Time,
    offer: Option<(Ipv4Addr, Ipv4Addr)>,
    lease: Option<Lease>,
    /// Whether the caller knows the lease.
    configured: Option<Lease>,
    /// Message that leaves next besides those of the state.
    decline: Option<(Ipv4Addr, Ipv4Addr)>,
}

impl Client {
    /// A client that begins at time 0.
    pub fn new(settings: Settings, seed: u64) -> Client {
        let mut random = Random::new(seed);
        let timer = Time::from_ps(random.below(settings.delay.as_ps()));
        Client {
            settings,
            random,
            state: State::Init,
            xid: 0,
            started: Time::ZERO,
            sent: 0,
            requested: Time::ZERO,
            timer,
            offer: None,
            lease: None,
            configured: None,
            decline: None,
        }
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The lease that is in use.
    pub fn lease(&self) -> Option<&Lease> {
        self.configured.as_ref()
    }

    /// Time at which [`poll`](Client::poll) has something to do.
    pub fn next_wake(&self) -> Option<Time> {
        (self.timer < Time::MAX).then_some(self.timer)
    }

    /// Another host has answered for an address, or probes for it. Whether it is the one that this client probes for.
    pub fn handle_conflict(&mut self, now: Time, address: Ipv4Addr) -> bool {
        let lease = self.lease.as_ref().filter(|lease| lease.address == address);
        let Some(lease) = lease.filter(|_| self.state == State::Probing) else {
            return false;
        };
        self.decline = Some((lease.address, lease.server));
        self.restart(now, DECLINE_DELAY);
        true
    }

    /// Takes a message of a server.
    ///
    /// # Errors
    /// The reason for which it was ignored.
    pub fn handle(&mut self, now: Time, bytes: &[u8]) -> Result<(), &'static str> {
        let message = Message::new(bytes).map_err(|fault| fault.0)?;
        if message.op() != REPLY {
            return Err("DHCP message of a client");
        }
        let ours = message.chaddr() == self.settings.mac && message.xid() == self.xid;
        if !ours || self.state == State::Init {
            return Err("DHCP reply to another client");
        }
        let server = message.address(option::SERVER);
        let server = server.ok_or("DHCP reply without a server")?;
        match (self.state, message.kind()) {
            (State::Selecting, Kind::Offer) => {
                if !is_host(message.yiaddr().into()) {
                    return Err("DHCP reply with a bad address");
                }
                self.offer = Some((message.yiaddr(), server));
                self.enter(now, State::Requesting);
                Ok(())
            }
            (State::Selecting, Kind::Ack)
                if self.settings.rapid_commit && message.option(option::RAPID_COMMIT).is_some() =>
            {
                self.take(now, &message, server)
            }
            (State::Requesting, Kind::Ack) if self.offer.is_some_and(|(_, one)| one == server) => {
                self.take(now, &message, server)
            }
            (State::Rebooting | State::Renewing | State::Rebinding, Kind::Ack) => {
                self.take(now, &message, server)
            }
            (State::Requesting, Kind::Nak) if self.offer.is_some_and(|(_, one)| one == server) => {
                self.restart(now, NAK_DELAY);
                Ok(())
            }
            (State::Rebooting | State::Renewing | State::Rebinding, Kind::Nak) => {
                self.restart(now, NAK_DELAY);
                Ok(())
            }
            _ => Err("DHCP reply out of turn"),
        }
    }

    /// Takes the lease of an acknowledgement.
    fn take(
        &mut self,
        now: Time,
        message: &Message<'_>,
        server: Ipv4Addr,
    ) -> Result<(), &'static str> {
        let lease =
            lease::lease(self.requested, message, server).ok_or("DHCP reply with a bad lease")?;
        let same = self
            .lease
            .as_ref()
            .is_some_and(|old| old.address == lease.address);
        let renews = matches!(self.state, State::Renewing | State::Rebinding);
        if renews && !same {
            return Err("DHCP reply with another address");
        }
        self.lease = Some(lease);
        let state = match renews || self.settings.probe == Time::ZERO {
            true => State::Bound,
            false => State::Probing,
        };
        self.enter(now, state);
        Ok(())
    }

    /// Returns the next action, if there is one; a message to send is written into `out`.
    pub fn poll(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Action> {
        if let Some((address, server)) = self.decline.take() {
            self.write(now, Kind::Decline, Some(address), Some(server), out);
            return Some(Action::Send {
                from: Ipv4Addr::UNSPECIFIED,
                to: Ipv4Addr::BROADCAST,
            });
        }
        let in_use = matches!(
            self.state,
            State::Bound | State::Renewing | State::Rebinding
        );
        if !in_use && let Some(lease) = self.configured.take() {
            return Some(Action::Unconfigure(lease));
        }
        if in_use && self.configured != self.lease {
            self.configured = self.lease.clone();
            return self.configured.clone().map(Action::Configure);
        }
        if now < self.timer {
            return None;
        }
        self.timeout(now, out)
    }

    fn timeout(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Action> {
        let lease = self.lease.clone();
        match self.state {
            State::Init => {
                self.started = now;
                self.xid = self.random.bits() as u32;
                let state = match self.settings.previous {
                    Some(_) => State::Rebooting,
                    None => State::Selecting,
                };
                self.enter(now, state);
                self.timeout(now, out)
            }
            State::Selecting => {
                self.back_off(now);
                self.write(now, Kind::Discover, None, None, out);
                broadcast()
            }
            State::Requesting => {
                let (address, server) = self.offer?;
                if self.sent >= REQUESTS {
                    self.restart(now, Time::ZERO);
                    return self.timeout(now, out);
                }
                self.back_off(now);
                self.write(now, Kind::Request, Some(address), Some(server), out);
                broadcast()
            }
            State::Rebooting => {
                if self.sent >= REBOOT_REQUESTS {
                    self.restart(now, Time::ZERO);
                    return self.timeout(now, out);
                }
                self.back_off(now);
                self.write(now, Kind::Request, self.settings.previous, None, out);
                broadcast()
            }
            State::Probing => {
                let address = lease?.address;
                if self.sent >= PROBES {
                    self.enter(now, State::Bound);
                    return self.poll(now, out);
                }
                self.sent += 1;
                let interval = self.settings.probe.as_ps() / u64::from(PROBES);
                self.timer = now + Time::from_ps(interval.max(1));
                Some(Action::Probe(address))
            }
            State::Bound => {
                self.started = now;
                self.enter(now, State::Renewing);
                self.timeout(now, out)
            }
            State::Renewing | State::Rebinding => {
                let lease = lease?;
                if now >= lease.end {
                    self.restart(now, Time::ZERO);
                    return self.poll(now, out);
                }
                if now >= lease.rebinding {
                    self.state = State::Rebinding;
                }
                let (until, to) = match self.state {
                    State::Renewing => (lease.rebinding, lease.server),
                    _ => (lease.end, Ipv4Addr::BROADCAST),
                };
                let least =
                    RENEW_TIMEOUT.min(Time::from_ps((lease.end - lease.renewal).as_ps() / 8));
                let half = Time::from_ps((until - now).as_ps() / 2);
                self.timer = (now + half.max(least)).min(until);
                // The reply to an earlier request would give a lease that is too long.
                (self.xid, self.requested) = (self.random.bits() as u32, now);
                self.write(now, Kind::Request, None, None, out);
                Some(Action::Send {
                    from: lease.address,
                    to,
                })
            }
        }
    }

    /// Sets the timer of a message that is sent now.
    fn back_off(&mut self, now: Time) {
        let doubled = FIRST_TIMEOUT * (1 << self.sent.min(16));
        let random = Time::from_ps(self.random.below((JITTER * 2).as_ps()));
        self.timer = now + doubled.min(LAST_TIMEOUT) - JITTER + random;
        if self.sent == 0 {
            self.requested = now;
        }
        self.sent += 1;
    }

    fn enter(&mut self, now: Time, state: State) {
        self.state = state;
        self.sent = 0;
        self.timer = match (state, &self.lease) {
            (State::Bound, Some(lease)) => lease.renewal,
            _ => now,
        };
        if state == State::Bound {
            self.settings.previous = None;
        }
    }

    fn restart(&mut self, now: Time, delay: Time) {
        self.enter(now, State::Init);
        self.timer = now + delay;
        (self.offer, self.lease, self.settings.previous) = (None, None, None);
    }

    fn write(
        &self,
        now: Time,
        kind: Kind,
        requested: Option<Ipv4Addr>,
        server: Option<Ipv4Addr>,
        out: &mut Vec<u8>,
    ) {
        let renews = matches!(self.state, State::Renewing | State::Rebinding);
        let lease = self
            .lease
            .as_ref()
            .filter(|_| renews && kind == Kind::Request);
        let secs = (now - self.started).as_ns() / 1_000_000_000;
        let header = Header {
            op: REQUEST,
            xid: self.xid,
            secs: secs.min(0xFFFF) as u16,
            broadcast: self.settings.broadcast && lease.is_none(),
            ciaddr: lease.map_or(Ipv4Addr::UNSPECIFIED, |lease| lease.address),
            yiaddr: Ipv4Addr::UNSPECIFIED,
            siaddr: Ipv4Addr::UNSPECIFIED,
            giaddr: Ipv4Addr::UNSPECIFIED,
            chaddr: self.settings.mac,
        };
        let mut writer = Writer::new(out, &header, kind, 1472);
        if let Some(id) = &self.settings.id {
            writer.option(option::CLIENT_ID, id);
        }
        if let Some(address) = requested {
            writer.option(option::REQUESTED, &address.octets());
        }
        if let Some(server) = server {
            writer.option(option::SERVER, &server.octets());
        }
        if kind != Kind::Decline {
            writer.option(option::PARAMETERS, &PARAMETERS);
            writer.option(option::MAX_SIZE, &1500_u16.to_be_bytes());
            if let Some(name) = &self.settings.host_name {
                writer.option(option::HOST_NAME, name.as_bytes());
            }
        }
        if kind == Kind::Discover && self.settings.rapid_commit {
            writer.option(option::RAPID_COMMIT, &[]);
        }
        writer.end();
    }
}

fn broadcast() -> Option<Action> {
    Some(Action::Send {
        from: Ipv4Addr::UNSPECIFIED,
        to: Ipv4Addr::BROADCAST,
    })
}
