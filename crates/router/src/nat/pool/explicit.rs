//! Ports of explicit mappings.

use super::{Endpoint, MAX_TRIED_ADDRESSES, Pool, Pooling, Wish, set_of};
use core::net::Ipv4Addr;

impl Pool {
    /// Takes a port of `port_range` for an explicit mapping, at best that of `wish`, and with `is_exact` only that.
    pub fn take_explicit(
        &mut self,
        number: u8,
        inside: Endpoint,
        wish: Endpoint,
        is_exact: bool,
    ) -> Option<Endpoint> {
        let set = set_of(number)?;
        let count = self.addresses.len();
        let host = self.hosts.get(&inside.address);
        let paired = host.and_then(|host| host.address);
        let start = paired.or_else(|| self.index(wish.address));
        let tries = match start {
            Some(_) => 1,
            None => count.min(MAX_TRIED_ADDRESSES),
        };
        let start = start.unwrap_or_else(|| self.random.index(count));
        let range = self.range.first()..=self.range.last();
        let in_range = |port: u16| range.contains(&port).then_some(port);
        let [wished, own] = [wish.id, inside.id].map(in_range);
        let (index, id) = (0..tries).find_map(|step| {
            let index = (start + step) % count;
            let mut wish = Wish {
                range: range.clone(),
                first: [wished, own, None],
                odd: None,
                choice: self.ports,
            };
            let id = match self.blocks {
                Some(blocks) => self.take_in_blocks(blocks, index, set, inside, &mut wish),
                None => {
                    let ports = &mut self.addresses[index].port_sets()[set];
                    ports.take(&wish, &mut self.random)
                }
            };
            Some((index, id?))
        })?;
        let host = self.hosts.entry(inside.address).or_default();
        host.mappings += 1;
        if self.pooling == Pooling::Paired {
            host.address = Some(index);
        }
        let address = self.addresses[index].address;
        let taken = Endpoint { address, id };
        if is_exact && !taken.matches(wish) {
            self.release(number, inside, taken, false);
            return None;
        }
        Some(taken)
    }

    /// Counts an explicit mapping at the external endpoint of a mapping that is there.
    pub fn share(&mut self, number: u8, inside: Endpoint, external: Endpoint) {
        let (Some(index), Some(set)) = (self.index(external.address), set_of(number)) else {
            return;
        };
        self.addresses[index].port_sets()[set].insert(external.id);
        let host = self.hosts.entry(inside.address).or_default();
        host.mappings += 1;
        if let Some(blocks) = self.blocks {
            let block = external.id.saturating_sub(self.range.first()) / blocks.size;
            for held in &mut host.blocks {
                held.mappings += u32::from(held.number == block);
            }
        }
    }

    /// Counts a mapping that has ended, and frees its external endpoint unless it `is_used` by another mapping.
    pub fn release(&mut self, number: u8, inside: Endpoint, external: Endpoint, is_used: bool) {
        let index = self.index(external.address);
        let Some(host) = self.hosts.get_mut(&inside.address) else {
            return;
        };
        host.mappings -= 1;
        if let (Some(index), Some(set)) = (index, set_of(number)) {
            let address = &mut self.addresses[index];
            if !is_used {
                address.port_sets()[set].remove(external.id);
            }
            if let Some(blocks) = self.blocks {
                let block = external.id.saturating_sub(self.range.first()) / blocks.size;
                host.blocks.retain_mut(|held| {
                    held.mappings -= u32::from(held.number == block);
                    held.mappings > 0
                });
                if host.blocks.iter().all(|held| held.number != block) {
                    address.blocks.remove(&block);
                    self.counts.released += 1;
                }
            }
        }
        if host.mappings == 0 {
            self.hosts.remove(&inside.address);
        }
    }

    /// The external address of an inside host, or that of the first.
    pub fn address_of(&self, host: Ipv4Addr) -> Ipv4Addr {
        let paired = self.hosts.get(&host).and_then(|host| host.address);
        self.addresses[paired.unwrap_or(0)].address
    }
}
