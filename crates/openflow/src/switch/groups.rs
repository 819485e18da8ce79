//! Groups (1.3.5 section 5.6).

use crate::action::Action;
use crate::key::Key;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use node::Time;

/// How a group chooses among its buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    All,
    Select,
    Indirect,
    FastFailover,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Bucket {
    /// In the order of an action set.
    pub actions: Vec<Action<'static>>,
    /// As they came, in the form of 1.3.
    pub wire: Vec<u8>,
    pub weight: u16,
    /// The port whose life is the bucket's; all ones for none.
    pub watch_port: u32,
    /// The group whose life is the bucket's; all ones for none.
    pub watch_group: u32,
    pub packets: u64,
    pub bytes: u64,
}

/// No port, or no group.
pub(super) const ANY: u32 = u32::MAX;

impl Bucket {
    /// The groups that it leads to, or watches.
    pub fn groups(&self) -> impl Iterator<Item = u32> + '_ {
        let led = self.actions.iter().filter_map(|action| match action {
            Action::Group(group) => Some(*group),
            _ => None,
        });
        led.chain((self.watch_group != ANY).then_some(self.watch_group))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    pub kind: Kind,
    pub buckets: Vec<Bucket>,
    pub created: Time,
    pub packets: u64,
    pub bytes: u64,
}

/// All groups, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    pub all: BTreeMap<u32, Group>,
}

/// Maximum depth of a chain of groups.
pub(super) const MAX_CHAIN_DEPTH: u8 = 16;

impl Groups {
    pub fn has(&self, number: u32) -> bool {
        self.all.contains_key(&number)
    }

    /// Whether these buckets would make the group lead to itself, or a chain too long.
    pub fn would_loop(&self, number: u32, buckets: &[Bucket]) -> bool {
        let mut next: Vec<u32> = buckets.iter().flat_map(Bucket::groups).collect();
        for _ in 0..MAX_CHAIN_DEPTH {
            if next.is_empty() {
                return false;
            }
            if next.contains(&number) {
                return true;
            }
            let behind = next.iter().filter_map(|group| self.all.get(group));
            next = behind
                .flat_map(|group| group.buckets.iter().flat_map(Bucket::groups))
                .collect();
            next.sort_unstable();
            next.dedup();
        }
        true
    }

    /// How many groups lead to this one.
    pub fn users(&self, number: u32) -> u32 {
        let others = self.all.values().flat_map(|group| &group.buckets);
        others
            .flat_map(Bucket::groups)
            .filter(|&g| g == number)
            .count() as u32
    }

    /// Whether a bucket lives: without anything to watch it does, but not one of fast failover.
    pub fn is_live(&self, bucket: &Bucket, kind: Kind, port_lives: &impl Fn(u32) -> bool) -> bool {
        self.is_live_to(bucket, kind, port_lives, MAX_CHAIN_DEPTH)
    }

    fn is_live_to(
        &self,
        bucket: &Bucket,
        kind: Kind,
        port_lives: &impl Fn(u32) -> bool,
        depth: u8,
    ) -> bool {
        if bucket.watch_port == ANY && bucket.watch_group == ANY {
            return kind != Kind::FastFailover;
        }
        let by_port = bucket.watch_port != ANY && port_lives(bucket.watch_port);
        by_port
            || (bucket.watch_group != ANY
                && depth > 0
                && self.all.get(&bucket.watch_group).is_some_and(|group| {
                    let mut buckets = group.buckets.iter();
                    buckets.any(|b| self.is_live_to(b, group.kind, port_lives, depth - 1))
                }))
    }
}

/// What packets of a flow have in common: addresses, VLAN, types, ports. The port of arrival and the pipeline's own fields
/// do not count.
pub(super) fn flow_hash(key: &Key) -> u64 {
    key.0[2..10]
        .iter()
        .fold(0x243F_6A88_85A3_08D3, |hash, word| {
            let product = u128::from(hash ^ word) * 0x9E37_79B9_7F4A_7C15u128;
            (product >> 64) as u64 ^ product as u64
        })
}

/// One of those that live, by weight: its index among `live`, of which the weights' sum is `total`.
pub(super) fn choose(
    hash: u64,
    weights: impl Iterator<Item = (usize, u64)>,
    total: u64,
) -> Option<usize> {
    if total == 0 {
        return None;
    }
    // The upper half of a product is a number below `total`, without the bias of a remainder.
    let mixed = hash.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let mut rest = ((u128::from(mixed ^ mixed >> 32) * u128::from(total)) >> 64) as u64;
    for (index, weight) in weights {
        match rest.checked_sub(weight) {
            None => return Some(index),
            Some(left) => rest = left,
        }
    }
    None
}
