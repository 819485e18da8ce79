//! Options of IPv4 headers (RFC 791 section 3.1), with the rules of Linux (`ip_options_compile`, `ip_options_echo`): record route
//! and timestamps are filled in by a packet's receiver and by each router on its way, and answers have them, too.

use crate::header::ETHERNET;
use core::net::Ipv4Addr;
use core::ops::Range;
use node::{Frame, Time};
use packet::checksum::checksum;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const RECORD_ROUTE: u8 = 7;
const TIMESTAMP: u8 = 68;
const LOOSE_SOURCE_ROUTE: u8 = 131;
const STRICT_SOURCE_ROUTE: u8 = 137;
const ROUTER_ALERT: u8 = 148;
/// Flags of a timestamp option: stamps of all, with their addresses, of those that are named.
const STAMPS: u8 = 0;
const STAMPS_OF_ALL: u8 = 1;
const STAMPS_OF_NAMED: u8 = 3;
/// The bit of a type that says that each fragment has the option.
const COPIED: u8 = 0x80;
/// Milliseconds of a day: timestamps count from midnight UT, simulated time from its beginning.
const DAY_MS: u64 = 86_400_000;
/// Bytes of a header without options.
const HEADER: usize = 20;
/// Maximum length of all options, bytes.
pub const MAX_OPTIONS: usize = 40;

/// Reason for which a packet goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It names its own route (Linux's `accept_source_route` 0).
    SourceRoute,
    /// The byte of the header at this offset makes no sense.
    Bad(u8),
}

/// Addresses that were written into the options of a packet on its arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Offset in the header, bytes.
    route: Option<u8>,
    /// Offset in the header, bytes.
    stamp: Option<u8>,
}

/// Length of the options of the packet in a frame, bytes; those of IPv6 are none.
pub fn length(frame: &[u8]) -> usize {
    match frame.get(ETHERNET) {
        Some(first) if first >> 4 == 4 => (usize::from(first & 15) * 4).saturating_sub(HEADER),
        _ => 0,
    }
}

/// The option at an offset in the header, as its range. `None` after the last one; an error is the place of one that is cut off.
fn option(header: &[u8], at: &mut usize) -> Result<Option<Range<usize>>, usize> {
    while header.get(*at) == Some(&NO_OPERATION) {
        *at += 1;
    }
    let start = *at;
    match header.get(start) {
        None | Some(&END) => return Ok(None),
        Some(_) => {}
    }
    let length = header
        .get(start + 1)
        .map_or(0, |length| usize::from(*length));
    if length < 2 || start + length > header.len() {
        return Err(start);
    }
    *at = start + length;
    Ok(Some(start..start + length))
}

/// Checks the options of a packet that has arrived, and writes the address `own`, towards its sender, and the time into those
/// that ask for them. The checksum stays. Options before a bad one are changed, as in Linux.
///
/// # Errors
/// When the packet goes no further.
pub fn arrive(
    now: Time,
    frame: &mut [u8],
    own: Ipv4Addr,
    is_own: impl Fn(Ipv4Addr) -> bool,
) -> Result<Recorded, Refusal> {
    let end = ETHERNET + HEADER + length(frame);
    let Some(header) = frame.get_mut(ETHERNET..end) else {
        return Ok(Recorded::default());
    };
    let (mut recorded, mut seen, mut at) = (Recorded::default(), [false; 3], HEADER);
    loop {
        let place = match option(header, &mut at) {
            Ok(Some(place)) => place,
            // Bytes after the end are cleared.
            Ok(None) => {
                header[at..].fill(END);
                break;
            }
            Err(at) => return Err(Refusal::Bad(at as u8)),
        };
        let start = place.start;
        let bad = |offset: usize| Err(Refusal::Bad((start + offset) as u8));
        let option = &mut header[place];
        // The pointer of a timestamp comes after its flags.
        let (index, first) = match option[0] {
            RECORD_ROUTE => (0, 4),
            TIMESTAMP => (1, 5),
            LOOSE_SOURCE_ROUTE | STRICT_SOURCE_ROUTE => (2, 4),
            ROUTER_ALERT if option.len() < 4 => return bad(1),
            _ => continue,
        };
        // Source routes are looked at in another order.
        let twice = core::mem::replace(&mut seen[index], true);
        if twice && index != 2 {
            return bad(0);
        }
        if option.len() < first - 1 {
            return bad(1);
        }
        let pointer = usize::from(option[2]);
        if pointer < first {
            return bad(2);
        }
        if twice {
            return bad(0);
        }
        match index {
            0 if pointer <= option.len() => {
                if pointer + 3 > option.len() {
                    return bad(2);
                }
                option[pointer - 1..pointer + 3].copy_from_slice(&own.octets());
                option[2] += 4;
                recorded.route = Some((start + pointer - 1) as u8);
            }
            1 => match stamp(now, option, own, &is_own) {
                Ok(true) => recorded.stamp = Some((start + pointer - 1) as u8),
                Ok(false) => {}
                Err(offset) => return bad(offset),
            },
            _ => {}
        }
    }
    match seen[2] {
        true => Err(Refusal::SourceRoute),
        false => Ok(recorded),
    }
}

/// Writes the time, and the address if it is asked for, into a timestamp option; `true` when the address was. An error is the
/// offset of a byte that makes no sense.
fn stamp(
    now: Time,
    option: &mut [u8],
    own: Ipv4Addr,
    is_own: impl Fn(Ipv4Addr) -> bool,
) -> Result<bool, usize> {
    let (pointer, flag) = (usize::from(option[2]), option[3] & 15);
    let at = pointer - 1;
    if pointer > option.len() {
        // The number of those without room.
        return match option[3] >> 4 {
            _ if flag == STAMPS_OF_NAMED => Ok(false),
            15 => Err(3),
            count => {
                option[3] = flag | (count + 1) << 4;
                Ok(false)
            }
        };
    }
    let size = match flag {
        STAMPS_OF_ALL | STAMPS_OF_NAMED => 8,
        _ => 4,
    };
    // Three bytes for any kind, all of them for the kind itself.
    if pointer + 3 > option.len() || pointer + size - 1 > option.len() {
        return Err(2);
    }
    let time = time(now);
    match flag {
        STAMPS => option[at..at + 4].copy_from_slice(&time),
        STAMPS_OF_ALL => {
            option[at..at + 4].copy_from_slice(&own.octets());
            option[at + 4..at + 8].copy_from_slice(&time);
        }
        STAMPS_OF_NAMED => {
            let named = option[at..].first_chunk::<4>().copied().unwrap_or_default();
            let named = Ipv4Addr::from(named);
            let special = named.is_unspecified() || named.is_multicast() || named.is_broadcast();
            if !special && !is_own(named) {
                return Ok(false);
            }
            option[at + 4..at + 8].copy_from_slice(&time);
        }
        _ => return Ok(false),
    }
    option[2] += size as u8;
    Ok(flag == STAMPS_OF_ALL)
}

/// Milliseconds of the day, as options and messages have it.
pub(crate) fn time(now: Time) -> [u8; 4] {
    ((now.as_ps() / 1_000_000_000 % DAY_MS) as u32).to_be_bytes()
}

/// Writes the address `own`, by which a packet leaves a router, over the one of its arrival, and the checksum.
pub fn depart(frame: &mut [u8], recorded: Recorded, own: Ipv4Addr) {
    let end = ETHERNET + HEADER + length(frame);
    let Some(header) = frame.get_mut(ETHERNET..end) else {
        return;
    };
    for at in [recorded.route, recorded.stamp].into_iter().flatten() {
        let at = usize::from(at);
        if let Some(place) = header.get_mut(at..at + 4) {
            place.copy_from_slice(&own.octets());
        }
    }
    header[10..12].fill(0);
    let sum = checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Options of an answer from `own`: those that record, as far as they end before `limit` in the header. The number of bytes, or `None` when there is no answer.
pub fn echo(
    now: Time,
    frame: &[u8],
    limit: usize,
    own: Ipv4Addr,
    is_own: impl Fn(Ipv4Addr) -> bool,
    out: &mut [u8; MAX_OPTIONS],
) -> Option<usize> {
    let header = frame.get(ETHERNET..ETHERNET + HEADER + length(frame))?;
    let mut count = 0;
    for kind in [RECORD_ROUTE, TIMESTAMP] {
        let mut at = HEADER;
        let place = loop {
            match option(header, &mut at) {
                Ok(Some(place)) if place.end > limit => break None,
                Ok(Some(place)) if header[place.start] == kind => break Some(place),
                Ok(Some(_)) => {}
                _ => break None,
            }
        };
        let Some(place) = place else {
            continue;
        };
        let copy = &mut out[count..count + place.len()];
        copy.copy_from_slice(&header[place]);
        count += copy.len();
        let pointer = usize::from(copy[2]);
        if pointer > copy.len() {
            continue;
        }
        if kind == RECORD_ROUTE {
            if pointer + 3 > copy.len() {
                return None;
            }
            copy[pointer - 1..pointer + 3].copy_from_slice(&own.octets());
            copy[2] += 4;
            continue;
        }
        match (copy[3] & 15, pointer + 7 <= copy.len()) {
            (STAMPS_OF_ALL, false) => return None,
            (STAMPS_OF_NAMED, false) => {}
            _ => {
                stamp(now, copy, own, &is_own).ok()?;
            }
        }
    }
    let padded = count.next_multiple_of(4);
    out[count..padded].fill(END);
    Some(padded)
}

/// Replaces the options that only the first fragment of a packet has, as Linux does: the length of the header stays.
pub fn keep_copied(header: &mut [u8]) {
    let mut at = HEADER;
    while let Ok(Some(place)) = option(header, &mut at) {
        if header[place.start] & COPIED == 0 {
            header[place].fill(NO_OPERATION);
        }
    }
}

/// Replaces the options of the packet in a frame, and writes its lengths and its checksum.
pub fn replace(frame: &mut Frame, options: &[u8]) {
    let at = ETHERNET + HEADER;
    let old = length(frame);
    frame.remove(at, old);
    frame.insert(at, options.len()).copy_from_slice(options);
    let end = at + options.len();
    let total = (frame.len() - ETHERNET) as u16;
    let header = &mut frame[ETHERNET..end];
    header[0] = 0x40 | ((HEADER + options.len()) / 4) as u8;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    header[10..12].fill(0);
    let sum = checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}
