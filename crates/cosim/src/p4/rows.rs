//! Where the entries of a table stand in the hardware: which row, and what bits.

use num_bigint::BigUint;
use p4::ir::{KeyMatch, ValueSetId};
use p4::value::{Bits, mask};
use pipeline::environment::{Environment, Object};
use pipeline::state::profile::Reference;
use pipeline::table::{Call, Installed};
use std::collections::BTreeMap;
use verilog::map::{Source, TableKind, TableMap, address};

/// Rows by number, each with its entry's bits.
pub(crate) type Rows = BTreeMap<u32, BigUint>;

/// So many entries may be moved for one.
const MOVES: usize = 500;

/// All rows of a table, and how many entries have no place.
pub(crate) fn rows(environment: &Environment, map: &TableMap) -> (Rows, usize) {
    let table = match map.source {
        Source::Table(table) => table,
        Source::ValueSet(set) => return members(environment, map, set),
        Source::Groups => return groups(environment, map),
    };
    let mut installed = environment.tables.entries(table);
    installed.sort_by_key(|entry| entry.handle);
    let mut rows = Rows::new();
    let mut left = 0;
    match &map.kind {
        TableKind::Default => {}
        TableKind::Exact { index, hashes } => {
            let mut places: BTreeMap<u32, (BigUint, BigUint)> = BTreeMap::new();
            for entry in &installed {
                let (key, _) = joined(&entry.entry.keys, map);
                let bits =
                    valid(map.key(), &key, map.result.data()) | data(environment, map, entry);
                left += usize::from(!place(&mut places, key, bits, *index, hashes));
            }
            rows.extend(places.into_iter().map(|(row, (_, bits))| (row, bits)));
        }
        TableKind::Prefix { levels } => {
            let intervals = intervals(environment, map, &installed);
            for (number, (from, bits)) in intervals.iter().enumerate() {
                // The first begins at zero, where no boundary is.
                if number > 0 {
                    rows.insert(heap(number as u32, *levels), from.clone());
                }
                rows.insert((1 << levels) + number as u32, bits.clone());
            }
            // The greatest key is behind all boundaries that are not used.
            if let Some((_, last)) = intervals.last() {
                rows.insert((2 << levels) - 1, last.clone());
            }
        }
        TableKind::Ternary { rows: most } => {
            let mut ordered: Vec<(&Installed, u32)> = installed
                .iter()
                .map(|entry| (entry, prefix(entry)))
                .collect();
            ordered.sort_by_key(|(entry, prefix)| {
                (
                    std::cmp::Reverse((entry.entry.priority, *prefix)),
                    entry.handle,
                )
            });
            let mut next = 0;
            for (entry, _) in ordered {
                let data = data(environment, map, entry);
                let all = patterns(&entry.entry.keys, map);
                if next + all.len() as u32 > *most {
                    left += 1;
                    continue;
                }
                for (value, mask) in all {
                    let width = map.result.data();
                    let both = (value << map.key()) | mask;
                    rows.insert(next, valid(2 * map.key(), &both, width) | &data);
                    next += 1;
                }
            }
        }
    }
    let call = environment.tables.default(table).map(|(call, _)| call);
    let default = call.map_or_else(
        |_| BigUint::default(),
        |call| given(environment, map, 0, &call),
    );
    rows.insert(address::DEFAULT_ROW, default);
    (rows, left)
}

/// The members of a value set, in rows as they come.
fn members(environment: &Environment, map: &TableMap, set: ValueSetId) -> (Rows, usize) {
    let TableKind::Ternary { rows: most } = map.kind else {
        return (Rows::new(), 0);
    };
    let members = environment.value_sets[set.index()].get();
    let all = members.iter().flat_map(|keys| patterns(keys, map));
    let bits: Vec<BigUint> = all
        .map(|(value, mask)| {
            valid(
                2 * map.key(),
                &((value << map.key()) | mask),
                map.result.data(),
            )
        })
        .collect();
    let left = bits.len().saturating_sub(most as usize);
    ((0..most).zip(bits).collect(), left)
}

/// The multicast groups: for each its first place, and how many it has. The places stand in the order of [`places`].
fn groups(environment: &Environment, map: &TableMap) -> (Rows, usize) {
    let TableKind::Exact { index, hashes } = &map.kind else {
        return (Rows::new(), 0);
    };
    let (mut stand, mut next, mut left) = (BTreeMap::new(), 0, 0);
    for (number, replicas) in &environment.replication.get().multicast {
        let count = replicas.len();
        if next + count > PLACES || count >= 256 {
            left += 1;
            continue;
        }
        let key = BigUint::from(*number);
        let given = (BigUint::from(next) << (map.result.action + map.result.arguments))
            | BigUint::from(count);
        let bits = valid(map.key(), &key, map.result.data()) | given;
        left += usize::from(!place(&mut stand, key, bits, *index, hashes));
        next += count;
    }
    (
        stand
            .into_iter()
            .map(|(row, (_, bits))| (row, bits))
            .collect(),
        left,
    )
}

/// So many places all groups have together.
const PLACES: usize = 256;

/// The places of all groups: port, and above it instance.
pub(crate) fn places(environment: &Environment) -> Vec<u32> {
    let mut all: Vec<u32> = Vec::new();
    for replicas in environment.replication.get().multicast.values() {
        if all.len() + replicas.len() <= PLACES && replicas.len() < 256 {
            all.extend(
                replicas
                    .iter()
                    .map(|replica| replica.instance << 16 | replica.port & 0xFFFF),
            );
        }
    }
    all
}

/// The node of a binary tree, numbered level by level from 1, that is the `number`th from the left, from 1.
fn heap(number: u32, levels: u32) -> u32 {
    // The lowest set bit says how far from the leaves it is, what is above it where on its level.
    let above = number.trailing_zeros();
    (1 << (levels - 1 - above)) + (number >> (above + 1))
}

/// Where intervals begin, from zero on, and what each says: hit and data, or nothing.
fn intervals(
    environment: &Environment,
    map: &TableMap,
    installed: &[Installed],
) -> Vec<(BigUint, BigUint)> {
    let end_of_all = mask(map.key()) + 1u8;
    let mut prefixes: Vec<(BigUint, BigUint, BigUint)> = installed
        .iter()
        .map(|entry| {
            let (from, mask_of) = joined(&entry.entry.keys, map);
            let end = &from + (mask(map.key()) ^ mask_of) + 1u8;
            let hit = BigUint::from(1u8) << map.result.data();
            (from, end, hit | data(environment, map, entry))
        })
        .collect();
    // The longer ones behind those that they are in.
    prefixes.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut found: Vec<(BigUint, BigUint)> = vec![(BigUint::default(), BigUint::default())];
    let mut begin = |at: &BigUint, bits: BigUint| match found.last_mut() {
        Some(last) if last.0 == *at => last.1 = bits,
        Some(last) if last.1 == bits => {}
        _ => found.push((at.clone(), bits)),
    };
    let mut inside: Vec<(BigUint, BigUint)> = Vec::new();
    for (from, end, bits) in prefixes {
        while inside.last().is_some_and(|(end, _)| *end <= from) {
            let (end, _) = inside.pop().unwrap_or_default();
            begin(
                &end,
                inside
                    .last()
                    .map_or_else(BigUint::default, |(_, bits)| bits.clone()),
            );
        }
        begin(&from, bits.clone());
        inside.push((end, bits));
    }
    while let Some((end, _)) = inside.pop() {
        if end < end_of_all {
            begin(
                &end,
                inside
                    .last()
                    .map_or_else(BigUint::default, |(_, bits)| bits.clone()),
            );
        }
    }
    found
}

fn valid(width: u32, key: &BigUint, data: u32) -> BigUint {
    ((BigUint::from(1u8) << width) | key) << data
}

/// How many leading bits an entry compares, of its lpm keys.
fn prefix(entry: &Installed) -> u32 {
    let keys = entry.entry.keys.iter().map(|key| match key {
        KeyMatch::Prefix(_, length) => *length,
        _ => 0,
    });
    keys.sum()
}

fn data(environment: &Environment, map: &TableMap, entry: &Installed) -> BigUint {
    given(environment, map, entry.index, &entry.entry.call)
}

/// Number of the entry, action, arguments.
fn given(environment: &Environment, map: &TableMap, index: u32, call: &Call) -> BigUint {
    let none = map.actions.len() as u32;
    let (action, arguments) = match call {
        Call::Action(call) => (call.action, call.arguments.clone()),
        Call::Member(member) => member_of(environment, map, *member).unwrap_or((none, Vec::new())),
        Call::Group(_) => (none, Vec::new()),
    };
    let mut all = BigUint::default();
    if let Some((_, parameters)) = map.actions.get(action as usize) {
        for ((_, width), value) in parameters.iter().zip(arguments) {
            all = (all << width) | (value.unsigned() & mask(*width));
        }
    }
    let front = (BigUint::from(index) << map.result.action) | BigUint::from(action);
    (front << map.result.arguments) | all
}

/// The action of a member of the table's action profile.
fn member_of(environment: &Environment, map: &TableMap, member: u32) -> Option<(u32, Vec<Bits>)> {
    let Source::Table(table) = map.source else {
        return None;
    };
    let form = &environment.tables.forms()[table.index()];
    let Object::Profile(profile) = &environment.objects[form.implementation?.index()] else {
        return None;
    };
    let contents = profile.contents.get();
    let (_, member) = contents.resolve(Reference::Member(member), 0)?;
    // By the profile's first table; the same action here has the same name.
    let program = &environment.program;
    let first = program
        .tables
        .iter()
        .find(|table| table.implementation == form.implementation)?;
    let action = first.actions.get(member.action as usize)?.action;
    let listed = &program.tables[table.index()].actions;
    let number = listed.iter().position(|listed| listed.action == action)?;
    let mut cells = &member.arguments[..];
    let arguments = map.actions[number].1.iter().map(|(_, width)| {
        let (now, rest) = cells.split_at((width.div_ceil(64) as usize).min(cells.len()));
        cells = rest;
        Bits::from_limbs(*width, now)
    });
    Some((number as u32, arguments.collect()))
}

/// The keys side by side, the first at the left: value and mask. A range is whatever it begins with.
fn joined(keys: &[KeyMatch], map: &TableMap) -> (BigUint, BigUint) {
    let (mut values, mut masks) = (BigUint::default(), BigUint::default());
    for (key, (_, width)) in keys.iter().zip(&map.keys) {
        let full = mask(*width);
        let (value, part) = match key {
            KeyMatch::Any => (BigUint::default(), BigUint::default()),
            KeyMatch::Exact(value) => (value.unsigned().clone(), full),
            KeyMatch::Prefix(value, length) => {
                let part = mask(*length) << (width - length);
                (value.unsigned() & &part, part)
            }
            KeyMatch::Mask(value, part) => {
                (value.unsigned() & part.unsigned(), part.unsigned().clone())
            }
            KeyMatch::Range(from, _) => (from.unsigned().clone(), full),
        };
        values = (values << width) | value;
        masks = (masks << width) | part;
    }
    (values, masks)
}

/// Values and masks that together match what an entry does: a range becomes prefixes.
fn patterns(keys: &[KeyMatch], map: &TableMap) -> Vec<(BigUint, BigUint)> {
    let mut all: Vec<Vec<KeyMatch>> = vec![Vec::new()];
    for (key, (_, width)) in keys.iter().zip(&map.keys) {
        let parts = match key {
            KeyMatch::Range(from, to) => prefixes(from, to, *width),
            other => vec![other.clone()],
        };
        all = all
            .iter()
            .flat_map(|before| {
                parts.iter().map(move |part| {
                    let mut keys = before.clone();
                    keys.push(part.clone());
                    keys
                })
            })
            .collect();
    }
    all.iter().map(|keys| joined(keys, map)).collect()
}

/// The prefixes that make up a range.
fn prefixes(from: &Bits, to: &Bits, width: u32) -> Vec<KeyMatch> {
    let (mut next, to) = (from.unsigned().clone(), to.unsigned());
    let mut all = Vec::new();
    while next <= *to {
        // The largest block that begins here and does not reach beyond.
        let aligned = next
            .trailing_zeros()
            .unwrap_or(u64::from(width))
            .min(u64::from(width)) as u32;
        let mut size = aligned;
        while size > 0 && &next + mask(size) > *to {
            size -= 1;
        }
        all.push(KeyMatch::Prefix(
            Bits::new(width, next.clone()),
            width - size,
        ));
        next += BigUint::from(1u8) << size;
    }
    all
}

/// Puts a key in one of its four places; those that stand there may be moved to others of theirs.
fn place(
    places: &mut BTreeMap<u32, (BigUint, BigUint)>,
    key: BigUint,
    bits: BigUint,
    index: u32,
    hashes: &[Vec<Vec<u64>>],
) -> bool {
    let rows = |key: &BigUint| -> Vec<u32> {
        let limbs: Vec<u64> = key.iter_u64_digits().collect();
        let ways = hashes.iter().enumerate().map(|(way, masks)| {
            let hash = masks.iter().enumerate().map(|(bit, mask)| {
                let both = limbs
                    .iter()
                    .zip(mask)
                    .map(|(limb, mask)| (limb & mask).count_ones());
                (both.sum::<u32>() & 1) << bit
            });
            (way as u32) << index | hash.sum::<u32>()
        });
        ways.collect()
    };
    let before = places.clone();
    let mut homeless = (key, bits);
    for turn in 0..MOVES {
        let own = rows(&homeless.0);
        if let Some(free) = own.iter().find(|row| !places.contains_key(row)) {
            places.insert(*free, homeless);
            return true;
        }
        let victim = own[turn % own.len()];
        if let Some(moved) = places.insert(victim, homeless) {
            homeless = moved;
        } else {
            return true;
        }
    }
    *places = before;
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_made_of_prefixes() {
        let bits = |value: u32| Bits::new(4, value);
        let found = prefixes(&bits(1), &bits(14), 4);
        let lengths: Vec<(u64, u32)> = found
            .iter()
            .map(|key| match key {
                KeyMatch::Prefix(value, length) => (value.to_u64().unwrap(), *length),
                _ => unreachable!(),
            })
            .collect();
        assert_eq!(lengths, [(1, 4), (2, 3), (4, 2), (8, 2), (12, 3), (14, 4)]);
        assert_eq!(prefixes(&bits(0), &bits(15), 4).len(), 1);
    }
}
