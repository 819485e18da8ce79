//! Where the entries of a table stand in the hardware: which row, and what bits.

use num_bigint::BigUint;
use p4::ir::{KeyMatch, ValueSetId};
use p4::value::{Bits, mask};
use pipeline::environment::{Environment, Object, Selector};
use pipeline::state::profile::{Profile, Reference};
use pipeline::state::replication::Replica;
use pipeline::table::{Call, Installed};
use std::collections::BTreeMap;
use verilog::map::{CHOICE, Source, TableKind, TableMap, address};

/// Rows by number, each with its entry's bits.
pub(crate) type Rows = BTreeMap<u32, BigUint>;

/// So many entries may be moved for one.
const MOVES: usize = 500;

/// All rows of a table, and how many entries have no place.
pub(crate) fn rows(environment: &Environment, map: &TableMap) -> (Rows, usize) {
    let table = match map.source {
        Source::Table(table) => table,
        Source::ValueSet(set) => return members(environment, map, set),
        Source::Choices(_) => return choices(environment, map),
        Source::Groups => return groups(environment, map, &numbered(environment).0),
        Source::Sessions => return groups(environment, map, &numbered(environment).1),
    };
    let mut installed = environment.tables.entries(table);
    installed.sort_by_key(|entry| entry.handle);
    let mut rows = Rows::new();
    let mut left = 0;
    match &map.kind {
        TableKind::Default => {}
        TableKind::Cam { rows: most } => {
            for entry in installed.iter().filter(|entry| entry.index < *most) {
                let (key, _) = joined(&entry.entry.keys, map);
                let bits = valid(map.key(), &key, map.result.data());
                rows.insert(entry.index, bits | data(environment, map, entry));
            }
            left = installed.len() - rows.len();
        }
        TableKind::Exact {
            index,
            hashes,
            spare,
        } => {
            let mut places: BTreeMap<u32, (BigUint, BigUint)> = BTreeMap::new();
            for entry in &installed {
                let (key, _) = joined(&entry.entry.keys, map);
                let bits =
                    valid(map.key(), &key, map.result.data()) | data(environment, map, entry);
                left += usize::from(!place(&mut places, key, bits, (*index, *spare), hashes));
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

/// A group of places: number, first place, how many, and what else is known of it, above how many.
type Group = (u32, u32, u32, BigUint);

/// So many places all groups have together.
const PLACES: usize = 256;

/// The places of multicast groups and clone sessions, one behind the other, with port and above it instance.
pub(crate) fn places(environment: &Environment) -> Vec<u32> {
    numbered(environment).2
}

/// Multicast groups, clone sessions, and the places of both. Those without room are not among them.
fn numbered(environment: &Environment) -> (Vec<Group>, Vec<Group>, Vec<u32>) {
    let groups = environment.replication.get();
    let mut places: Vec<u32> = Vec::new();
    let mut take = |replicas: &mut dyn Iterator<Item = Replica>| {
        let own: Vec<u32> = replicas
            .map(|replica| replica.instance << 16 | replica.port & 0xFFFF)
            .collect();
        let (first, count) = (places.len() as u32, own.len() as u32);
        let room = places.len() + own.len() <= PLACES && count < 256;
        room.then(|| places.extend(own))?;
        Some((first, count))
    };
    let mut multicast = Vec::new();
    for (number, replicas) in &groups.multicast {
        if let Some((first, count)) = take(&mut replicas.iter().copied()) {
            multicast.push((*number, first, count, BigUint::default()));
        }
    }
    let mut sessions = Vec::new();
    for number in groups.sessions.keys() {
        let Some((session, mut replicas)) = groups.clones(*number) else {
            continue;
        };
        if let Some((first, count)) = take(&mut replicas) {
            let most = session.truncate.unwrap_or(u32::MAX);
            let more = (BigUint::from(session.class_of_service) << 32) | BigUint::from(most);
            sessions.push((*number, first, count, more << 8));
        }
    }
    (multicast, sessions, places)
}

/// Multicast groups, or clone sessions: for each its first place, and how many it has.
fn groups(environment: &Environment, map: &TableMap, groups: &[Group]) -> (Rows, usize) {
    let TableKind::Exact {
        index,
        hashes,
        spare,
    } = &map.kind
    else {
        return (Rows::new(), 0);
    };
    let known = environment.replication.get();
    let all = match map.source {
        Source::Sessions => known.sessions.len(),
        _ => known.multicast.len(),
    };
    let (mut stand, mut left) = (BTreeMap::new(), all - groups.len());
    for (number, first, count, more) in groups {
        let key = BigUint::from(*number);
        if key.bits() > u64::from(map.key()) {
            left += 1;
            continue;
        }
        let given = (BigUint::from(*first) << (map.result.action + map.result.arguments))
            | BigUint::from(*count)
            | more;
        let bits = valid(map.key(), &key, map.result.data()) | given;
        left += usize::from(!place(&mut stand, key, bits, (*index, *spare), hashes));
    }
    let rows = stand.into_iter().map(|(row, (_, bits))| (row, bits));
    (rows.collect(), left)
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
        Call::Group(group) => match group_of(environment, map, *group) {
            Chosen::Among(first, count) => {
                let front = (BigUint::from(index) << map.result.action) | BigUint::from(none + 1);
                let choices = (BigUint::from(first) << CHOICE) | BigUint::from(count);
                return (front << map.result.arguments) | choices;
            }
            Chosen::Action(action, arguments) => (action, arguments),
            Chosen::Nothing => (none, Vec::new()),
        },
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

/// The table's profile as it is.
fn profile<'a>(
    environment: &'a Environment,
    map: &TableMap,
) -> Option<(&'a Selector, &'a Profile)> {
    let (Source::Table(table) | Source::Choices(table)) = map.source else {
        return None;
    };
    let selector = environment.selector(table)?;
    match &environment.objects[selector.profile.index()] {
        Object::Profile(profile) => Some((selector, profile)),
        _ => None,
    }
}

/// An action's arguments from cells.
fn arguments(map: &TableMap, action: u32, mut cells: &[u64]) -> Vec<Bits> {
    let Some((_, parameters)) = map.actions.get(action as usize) else {
        return Vec::new();
    };
    let arguments = parameters.iter().map(|(_, width)| {
        let (now, rest) = cells.split_at((width.div_ceil(64) as usize).min(cells.len()));
        cells = rest;
        Bits::from_limbs(*width, now)
    });
    arguments.collect()
}

/// The action of a member of the table's action profile.
fn member_of(environment: &Environment, map: &TableMap, member: u32) -> Option<(u32, Vec<Bits>)> {
    let (selector, profile) = profile(environment, map)?;
    let contents = profile.contents.get();
    let (_, member) = contents.resolve(Reference::Member(member), 0)?;
    // The profile counts by the actions of the first table that has it.
    let action = *selector.actions.get(member.action as usize)?;
    let known = (action as usize) < map.actions.len();
    known.then(|| (action, arguments(map, action, &member.arguments)))
}

/// What a group of the table's action selector is.
enum Chosen {
    /// So many choices from this one on.
    Among(u32, u32),
    Action(u32, Vec<Bits>),
    Nothing,
}

fn group_of(environment: &Environment, map: &TableMap, group: u32) -> Chosen {
    let Some((selector, profile)) = profile(environment, map) else {
        return Chosen::Nothing;
    };
    let contents = profile.contents.get();
    let mut first = 0;
    for (number, of) in &contents.groups {
        let count = of.choices().len() as u32;
        if *number == group && count > 0 && first + count <= 1 << CHOICE {
            return Chosen::Among(first, count);
        }
        first += count;
    }
    match &selector.empty_group {
        Some((action, cells)) => Chosen::Action(*action, arguments(map, *action, cells)),
        None => Chosen::Nothing,
    }
}

/// The choices of a table's groups, by their numbers.
fn choices(environment: &Environment, map: &TableMap) -> (Rows, usize) {
    let (
        Some((_, profile)),
        TableKind::Exact {
            index,
            hashes,
            spare,
        },
    ) = (profile(environment, map), &map.kind)
    else {
        return (Rows::new(), 0);
    };
    let contents = profile.contents.get();
    let (mut stand, mut left) = (BTreeMap::new(), 0);
    let all = contents.groups.values().flat_map(|group| group.choices());
    for (number, member) in all.enumerate() {
        let key = BigUint::from(number);
        if key.bits() > u64::from(map.key()) {
            left += 1;
            continue;
        }
        let bits = valid(map.key(), &key, map.result.data())
            | given(environment, map, 0, &Call::Member(*member));
        left += usize::from(!place(&mut stand, key, bits, (*index, *spare), hashes));
    }
    let rows = stand.into_iter().map(|(row, (_, bits))| (row, bits));
    (rows.collect(), left)
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

/// Puts a key in one of its four places; those that stand there may be moved to others of theirs. One that finds no place takes a spare row.
fn place(
    places: &mut BTreeMap<u32, (BigUint, BigUint)>,
    key: BigUint,
    bits: BigUint,
    (index, spare): (u32, u32),
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
    let own = (key.clone(), bits.clone());
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
    let first = 4u32 << index;
    let free = (first..first + spare).find(|row| !places.contains_key(row));
    free.is_some_and(|row| places.insert(row, own).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_without_a_place_stand_in_spare_rows_as_long_as_there_are_any() {
        // All keys have the same four places.
        let hashes = vec![vec![vec![0]]; 4];
        let mut places = BTreeMap::new();
        let mut put = |key: u32| place(&mut places, key.into(), key.into(), (1, 2), &hashes);
        assert_eq!((0..7).map(&mut put).filter(|put| *put).count(), 6);
        let rows: Vec<u32> = places.keys().copied().collect();
        assert_eq!(rows, [0, 2, 4, 6, 8, 9]);
    }

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
