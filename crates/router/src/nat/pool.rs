//! External addresses and their ports, and the inside hosts that have them.

mod explicit;

use super::config::{
    AddressRange, Config, Forward, LowPorts, MAX_EXTERNAL, Pooling, PortBlocks, PortRange, Ports,
    Transport,
};
use super::endpoint::Endpoint;
use super::ports::{PortSet, Wish};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::ops::RangeInclusive;
use node::ConfigError;
use node::random::Random;
use packet::ipv4::protocol;

/// Maximum number of external addresses that are tried for a mapping, from a random one on. It bounds
/// the cost of a packet when most of a large pool is in use.
const MAX_TRIED_ADDRESSES: usize = 64;

/// A block of ports that a host has.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// The block's number on its address.
    number: u16,
    mappings: u32,
}

/// An inside host with at least one mapping.
#[derive(Debug, Default)]
struct Host {
    mappings: u32,
    sessions: usize,
    /// Index of its external address, with paired pooling.
    address: Option<usize>,
    blocks: Vec<Block>,
}

/// An external address.
#[derive(Debug)]
struct External {
    address: Ipv4Addr,
    /// Of TCP, UDP and ICMP; made when the first port is taken.
    ports: Option<[PortSet; 3]>,
    /// Numbers of the blocks in use.
    blocks: BTreeSet<u16>,
}

/// Counts of blocks that were given to hosts and came back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockCounts {
    pub assigned: u64,
    pub released: u64,
}

/// External endpoints, in use and free.
#[derive(Debug)]
pub(super) struct Pool {
    addresses: Vec<External>,
    hosts: BTreeMap<Ipv4Addr, Host>,
    ports: Ports,
    range: PortRange,
    low_ports: LowPorts,
    parity: bool,
    overload: bool,
    pooling: Pooling,
    blocks: Option<PortBlocks>,
    pub counts: BlockCounts,
    random: Random,
}

fn set_of(number: u8) -> Option<usize> {
    match number {
        protocol::TCP => Some(0),
        protocol::UDP => Some(1),
        protocol::ICMP => Some(2),
        _ => None,
    }
}

fn addresses(ranges: &[AddressRange]) -> Result<Vec<External>, ConfigError> {
    let count = |range: &AddressRange| {
        u64::from(range.last.to_bits().saturating_sub(range.first.to_bits())) + 1
    };
    let total: u64 = ranges.iter().map(count).sum();
    if total > MAX_EXTERNAL as u64 {
        let reason = format!("a NAT has at most {MAX_EXTERNAL} external addresses, not {total}");
        return Err(ConfigError::new("external", reason));
    }
    let all = ranges
        .iter()
        .flat_map(|range| range.first.to_bits()..=range.last.to_bits());
    let mut all: Vec<u32> = all.collect();
    all.sort_unstable();
    all.dedup();
    Ok(all
        .into_iter()
        .map(|bits| External {
            address: bits.into(),
            ports: None,
            blocks: BTreeSet::new(),
        })
        .collect())
}

impl Pool {
    /// A pool with all endpoints free but those of static mappings.
    ///
    /// # Errors
    /// When there are too many external addresses, or a static mapping has another one.
    pub fn new(config: &Config, random: Random) -> Result<Pool, ConfigError> {
        let mut pool = Pool {
            addresses: addresses(&config.external)?,
            hosts: BTreeMap::new(),
            ports: config.ports,
            range: config.port_range,
            low_ports: config.low_ports,
            parity: config.parity,
            overload: config.overload,
            pooling: config.pooling,
            blocks: config.port_blocks,
            counts: BlockCounts::default(),
            random,
        };
        for forward in &config.forward {
            pool.reserve(forward)?;
        }
        Ok(pool)
    }

    fn reserve(&mut self, forward: &Forward) -> Result<(), ConfigError> {
        let (address, port) = (*forward.external.ip(), forward.external.port());
        let Some(index) = self.index(address) else {
            let reason = format!("{address} is not one of the `external` addresses");
            return Err(ConfigError::new("forward", reason));
        };
        let set = match forward.protocol {
            Transport::Tcp => 0,
            Transport::Udp => 1,
        };
        let ports = &mut self.addresses[index].port_sets()[set];
        if ports.contains(port) || port == 0 || forward.inside.port() == 0 {
            let reason = format!("{} is port 0, or has two mappings", forward.external);
            return Err(ConfigError::new("forward", reason));
        }
        ports.insert(port);
        Ok(())
    }

    fn index(&self, address: Ipv4Addr) -> Option<usize> {
        self.addresses
            .binary_search_by_key(&address, |external| external.address)
            .ok()
    }

    /// Whether there is no external address.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    pub fn is_external(&self, address: Ipv4Addr) -> bool {
        self.index(address).is_some()
    }

    /// Number of sessions of an inside host.
    pub fn sessions_of(&self, host: Ipv4Addr) -> usize {
        self.hosts.get(&host).map_or(0, |host| host.sessions)
    }

    /// Number of inside hosts.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Takes an external endpoint for a new mapping, one of `wishes` if it can be. With `overload`,
    /// and for protocols without ports, `is_free` decides whether an endpoint is free.
    pub fn take(
        &mut self,
        number: u8,
        inside: Endpoint,
        wishes: [Option<Endpoint>; 2],
        is_free: impl Fn(Endpoint) -> bool,
    ) -> Option<Endpoint> {
        let count = self.addresses.len();
        let paired = self
            .hosts
            .get(&inside.address)
            .and_then(|host| host.address);
        let (start, tries) = match paired {
            Some(index) => (index, 1),
            None => (self.random.index(count), count.min(MAX_TRIED_ADDRESSES)),
        };
        let (index, id) = (0..tries).find_map(|step| {
            let index = (start + step) % count;
            let id = self.take_at(index, number, inside, wishes, &is_free)?;
            Some((index, id))
        })?;
        let host = self.hosts.entry(inside.address).or_default();
        host.mappings += 1;
        if self.pooling == Pooling::Paired {
            host.address = Some(index);
        }
        let address = self.addresses[index].address;
        Some(Endpoint { address, id })
    }

    /// Whether an inside host has a mapping.
    pub fn has_host(&self, address: Ipv4Addr) -> bool {
        self.hosts.contains_key(&address)
    }

    fn take_at(
        &mut self,
        index: usize,
        number: u8,
        inside: Endpoint,
        wishes: [Option<Endpoint>; 2],
        is_free: impl Fn(Endpoint) -> bool,
    ) -> Option<u16> {
        let address = self.addresses[index].address;
        let is_free = |id| is_free(Endpoint { address, id });
        let Some(set) = set_of(number) else {
            return is_free(0).then_some(0);
        };
        let range = self.range_for(number, inside.id);
        let is_kept = range.contains(&inside.id)
            || (self.low_ports == LowPorts::Linux && self.blocks.is_none());
        let preserved = (self.ports == Ports::Preserve && is_kept).then_some(inside.id);
        let [latest, next] = wishes.map(|wish| {
            let here = wish.filter(|endpoint| endpoint.address == address);
            here.map(|endpoint| endpoint.id)
        });
        let next = next.filter(|port| range.contains(port));
        let mut wish = Wish {
            first: [latest, next, preserved],
            range,
            odd: (self.parity && number == protocol::UDP).then_some(inside.id % 2 == 1),
            choice: self.ports,
        };
        if let Some(blocks) = self.blocks {
            return self.take_in_blocks(blocks, index, set, inside, &mut wish);
        }
        let ports = &mut self.addresses[index].port_sets()[set];
        match self.overload {
            true => ports.choose(&wish, &mut self.random, is_free),
            false => ports.take(&wish, &mut self.random),
        }
    }

    /// Ports for an inside port or identifier.
    fn range_for(&self, number: u8, id: u16) -> RangeInclusive<u16> {
        let all = self.range.first()..=self.range.last();
        match (self.low_ports, number) {
            _ if self.blocks.is_some() => all,
            (_, protocol::ICMP) => 0..=u16::MAX,
            (LowPorts::SameRange, _) if id < 1_024 => 1..=1_023,
            (LowPorts::Linux, _) if id < 512 => 1..=511,
            (LowPorts::Linux, _) if id < 1_024 => 600..=1_023,
            _ => all,
        }
    }

    fn take_in_blocks(
        &mut self,
        blocks: PortBlocks,
        index: usize,
        set: usize,
        inside: Endpoint,
        wish: &mut Wish,
    ) -> Option<u16> {
        let external = &mut self.addresses[index];
        let wishes = wish.first;
        let mut take = |external: &mut External, number: u16| {
            let range = ports_of(self.range, blocks, number);
            wish.first = wishes.map(|port| port.filter(|port| range.contains(port)));
            wish.range = range;
            external.port_sets()[set].take(wish, &mut self.random)
        };
        if let Some(host) = self.hosts.get_mut(&inside.address) {
            for block in &mut host.blocks {
                if let Some(port) = take(external, block.number) {
                    block.mappings += 1;
                    return Some(port);
                }
            }
            if host.blocks.len() >= blocks.per_host.into() {
                return None;
            }
        }
        // A block may be full of static mappings, and is then of no use.
        let last = self.range.len() / blocks.size - 1;
        for number in 0..=last {
            if external.blocks.contains(&number) {
                continue;
            }
            let Some(port) = take(external, number) else {
                continue;
            };
            external.blocks.insert(number);
            self.counts.assigned += 1;
            let host = self.hosts.entry(inside.address).or_default();
            let mappings = 1;
            host.blocks.push(Block { number, mappings });
            return Some(port);
        }
        None
    }

    /// Counts a new session of an inside host that has a mapping.
    pub fn add_session(&mut self, host: Ipv4Addr) {
        if let Some(host) = self.hosts.get_mut(&host) {
            host.sessions += 1;
        }
    }

    /// Counts a session that has ended, and frees its mapping's external endpoint where the mapping
    /// has ended, too, unless it `is_used` by an explicit one.
    pub fn remove_session(
        &mut self,
        number: u8,
        inside: Endpoint,
        external: Endpoint,
        is_last: bool,
        is_used: bool,
    ) {
        let Some(host) = self.hosts.get_mut(&inside.address) else {
            return;
        };
        host.sessions -= 1;
        let is_used = is_used || self.overload;
        if is_last {
            self.release(number, inside, external, is_used);
        }
    }

    /// The blocks of all hosts: inside address, external address, ports.
    pub fn blocks(&self) -> impl Iterator<Item = (Ipv4Addr, Ipv4Addr, RangeInclusive<u16>)> {
        let blocks = self.blocks;
        self.hosts.iter().flat_map(move |(&inside, host)| {
            let address = host.address.map(|index| self.addresses[index].address);
            let held = blocks.zip(address).into_iter();
            held.flat_map(move |(blocks, address)| {
                let ranges = host.blocks.iter();
                let ranges = ranges.map(move |held| ports_of(self.range, blocks, held.number));
                ranges.map(move |range| (inside, address, range))
            })
        })
    }
}

/// Ports of a block.
fn ports_of(range: PortRange, blocks: PortBlocks, number: u16) -> RangeInclusive<u16> {
    let first = range.first() + number * blocks.size;
    first..=first + (blocks.size - 1)
}

impl External {
    fn port_sets(&mut self) -> &mut [PortSet; 3] {
        self.ports
            .get_or_insert_with(|| core::array::from_fn(|_| PortSet::new()))
    }
}
