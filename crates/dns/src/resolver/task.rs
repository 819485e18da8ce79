//! A search for one name and type, from a zone's servers to the next (RFC 1034 section 5.3.3).

use super::delegation::{Delegation, NameServer};
use crate::message::{OwnedRecord, Transport};
use crate::name::{Key, OwnedName};
use alloc::vec::Vec;
use core::net::SocketAddr;
use domain::base::iana::Rtype;
use node::Time;
use node::random::Random;

/// Maximum number of labels that are added one by one (RFC 9156 section 2.3).
const MAX_MINIMISED: usize = 10;
/// Maximum number of queries to one server for a zone.
const MAX_TRIES: u8 = 2;

/// The purpose of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The question of a client.
    Client,
    /// The address of a server, for another search.
    Address { parent: u64, server: OwnedName },
}

#[derive(Debug)]
pub struct Task {
    pub goal: Goal,
    /// The client's question that pays for the search.
    pub job: u64,
    /// Number of searches that wait for this one.
    pub depth: usize,
    /// The name that is searched: the last alias.
    pub name: OwnedName,
    pub key: Key,
    pub rtype: Rtype,
    pub dnssec_ok: bool,
    pub checking_disabled: bool,
    /// The zone whose servers are asked.
    pub zone: Delegation,
    /// Queries to each server of the zone.
    tries: Vec<(SocketAddr, u8)>,
    /// Servers of the zone that must not be asked again.
    lame: Vec<SocketAddr>,
    /// Number of labels in queries; all when minimisation is over.
    sent_labels: usize,
    added: usize,
    /// Servers of the zone whose addresses were searched.
    searched: Vec<OwnedName>,
    pub aliases: usize,
    pub referrals: usize,
    /// Records of the aliases so far.
    pub answer: Vec<OwnedRecord>,
    /// When the client's question came.
    pub begun: Time,
    pub without_edns: bool,
    /// Maximum number of labels of the zone to begin with.
    pub max_zone_labels: usize,
    /// A server of the zone whose response was doubtful.
    doubtful: Option<SocketAddr>,
    /// Whether the response of such a server counts, as no other one has responded.
    pub accepts_doubtful: bool,
    /// The server whose response was truncated just now.
    truncated: Option<SocketAddr>,
}

/// The next step of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Ask(SocketAddr, Transport),
    /// The addresses of a server are not known.
    Search(OwnedName),
    /// All servers have failed.
    Fail,
}

impl Task {
    pub fn new(goal: Goal, job: u64, depth: usize, name: OwnedName, rtype: Rtype) -> Task {
        let key = Key::of(name.for_slice());
        // DS records are in the parent zone (RFC 4035 section 2.4).
        let max_zone_labels = match rtype {
            Rtype::DS => key.labels().saturating_sub(1),
            _ => key.labels(),
        };
        Task {
            goal,
            job,
            depth,
            name,
            key,
            rtype,
            dnssec_ok: false,
            checking_disabled: false,
            zone: Delegation {
                labels: 0,
                servers: Vec::new(),
                expires: Time::ZERO,
            },
            tries: Vec::new(),
            lame: Vec::new(),
            sent_labels: 0,
            added: 0,
            searched: Vec::new(),
            aliases: 0,
            referrals: 0,
            answer: Vec::new(),
            begun: Time::ZERO,
            without_edns: false,
            max_zone_labels,
            doubtful: None,
            accepts_doubtful: false,
            truncated: None,
        }
    }

    /// Goes on with the servers of a zone.
    pub fn enter(&mut self, zone: Delegation, minimise: bool) {
        self.tries.clear();
        self.lame.clear();
        self.searched.clear();
        self.without_edns = false;
        self.doubtful = None;
        self.accepts_doubtful = false;
        self.sent_labels = match minimise && self.added < MAX_MINIMISED {
            true => zone.labels + 1,
            false => self.key.labels(),
        };
        self.zone = zone;
    }

    /// Goes on with an alias.
    pub fn rename(&mut self, name: OwnedName) {
        self.key = Key::of(name.for_slice());
        let is_ds = self.rtype == Rtype::DS;
        self.max_zone_labels = self.key.labels().saturating_sub(usize::from(is_ds));
        self.name = name;
        self.aliases += 1;
        self.added = 0;
    }

    /// Whether the query has the whole name, and the type.
    pub fn is_whole(&self) -> bool {
        self.sent_labels >= self.key.labels()
    }

    /// Adds a label to the name of queries; gives up minimisation where `whole`.
    pub fn lengthen(&mut self, whole: bool) {
        self.added += 1;
        self.sent_labels = match whole || self.added >= MAX_MINIMISED {
            true => self.key.labels(),
            false => self.sent_labels + 1,
        };
        self.tries.clear();
        self.doubtful = None;
        self.accepts_doubtful = false;
    }

    /// The name of queries, and their type.
    pub fn question(&self) -> (OwnedName, Rtype) {
        if self.is_whole() {
            return (self.name.clone(), self.rtype);
        }
        let skip = self.key.labels() - self.sent_labels;
        let mut suffixes = self.name.iter_suffixes().skip(skip);
        let suffix = suffixes
            .next()
            .expect("a name has as many suffixes as labels");
        let octets = suffix.as_slice().to_vec();
        let name = OwnedName::from_octets(octets).expect("a suffix of a name is a name");
        // A type that each server knows (RFC 9156 section 2.1).
        (name, Rtype::A)
    }

    pub fn is_in_zone(&self, key: &Key) -> bool {
        key.as_slice().starts_with(self.zone_key())
    }

    pub fn zone_key(&self) -> &[u8] {
        self.key.ancestor(self.zone.labels.min(self.key.labels()))
    }

    /// A server that must not be asked again.
    pub fn exclude(&mut self, server: SocketAddr) {
        self.lame.push(server);
    }

    /// A server whose response is doubtful: it is asked once more when all others have failed.
    pub fn exclude_doubtful(&mut self, server: SocketAddr) {
        self.exclude(server);
        self.doubtful = Some(server);
    }

    /// Takes an address back from those that were asked, to ask it once more in another way.
    pub fn forgive(&mut self, server: SocketAddr) {
        self.tries.retain(|(other, _)| *other != server);
    }

    /// Asks a server whose response was truncated once more, over TCP.
    pub fn ask_by_tcp(&mut self, server: SocketAddr) {
        self.truncated = Some(server);
    }

    /// Adds the result of the search for a server's address.
    pub fn add_addresses(&mut self, server: &OwnedName, addresses: &[SocketAddr]) {
        let mut servers = self.zone.servers.iter_mut();
        if let Some(found) = servers.find(|other| other.name.as_ref() == Some(server)) {
            found.addresses = addresses.to_vec();
        }
    }

    /// The next step: the server with the fewest queries, slow ones last, else the search for the address of one.
    pub fn step(
        &mut self,
        random: &mut Random,
        max_searches: usize,
        is_slow: impl Fn(SocketAddr) -> bool,
    ) -> Step {
        if let Some(server) = self.truncated.take() {
            return Step::Ask(server, Transport::Tcp);
        }
        let addresses = self
            .zone
            .servers
            .iter()
            .flat_map(|server| &server.addresses);
        let mut best: Option<((u8, bool, u64), SocketAddr)> = None;
        for address in addresses.filter(|address| !self.lame.contains(address)) {
            let mut tries = self.tries.iter().filter(|(other, _)| other == address);
            let tries = tries.next().map_or(0, |(_, tries)| *tries);
            let rank = (tries, is_slow(*address), random.bits());
            if tries < MAX_TRIES && best.is_none_or(|(other, _)| rank < other) {
                best = Some((rank, *address));
            }
        }
        let is_fresh = best.is_some_and(|((tries, ..), _)| tries == 0);
        if !is_fresh && self.searched.len() < max_searches {
            let unknown = |server: &&NameServer| {
                server.addresses.is_empty()
                    && server
                        .name
                        .as_ref()
                        .is_some_and(|name| !self.searched.contains(name))
            };
            let count = self.zone.servers.iter().filter(unknown).count();
            let nth = random.index(count);
            let server = self.zone.servers.iter().filter(unknown).nth(nth);
            if let Some(name) = server.and_then(|server| server.name.clone()) {
                self.searched.push(name.clone());
                return Step::Search(name);
            }
        }
        let Some((_, server)) = best else {
            self.accepts_doubtful = true;
            return self
                .doubtful
                .take()
                .map_or(Step::Fail, |server| Step::Ask(server, Transport::Udp));
        };
        match self.tries.iter_mut().find(|(other, _)| *other == server) {
            Some((_, tries)) => *tries += 1,
            None => self.tries.push((server, 1)),
        }
        Step::Ask(server, Transport::Udp)
    }
}
