//! Rehearsal of a decision: the flows of the last hour go through a second switch and control program with the new policy.
//!
//! The replica is the router's own code ([`HomeNode`](crate::HomeNode) and the OpenFlow switch) in simulated time, with a
//! [copy](crate::Home::copy) of the home. It starts with the names that are known now, so it answers: if the decision was made
//! now, and the device sent the same flows again, which ones would no longer pass? A replica with the present policy shows
//! which ones pass today.
//!
//! Flows keep their distances in time, so that as many of them are open at the same time as there were. Limits:
//!
//! - A flow whose address needs a reverse lookup first has no verdict: the answer of the DNS is unknown.
//! - One entry for all flows of a device hides the single ones. Only a decision about the whole device has a verdict there.
//! - Flows that were refused are not recorded. A decision that permits more has no list of the flows that it would permit.

mod replica;

use crate::flows::FlowKey;
use crate::gateway::Settings;
use crate::home::{Change, Home, Refused};
use node::Time;
use packet::ethernet::Mac;
use packet::ipv4::protocol;
pub use replica::Fate;
use replica::Replica;
use std::collections::BTreeMap;

/// Maximum number of flows that a rehearsal replays; the latest ones.
pub const MAX_FLOWS: usize = 10_000;
/// Age of the oldest flow that is replayed.
pub const WINDOW: Time = Time::from_secs(3600);

/// A recorded flow, of both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    /// The direction that began it. Protocol 0: all flows of a device.
    pub key: FlowKey,
    /// Devices at its ends; `None` outside the home.
    pub ends: (Option<Mac>, Option<Mac>),
    /// Times of the first and the last row, in any unit of nanoseconds from a common zero.
    pub first: u64,
    /// The last one.
    pub last: u64,
    /// Bytes in both directions.
    pub bytes: u64,
}

/// Flows that have the same end and use.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Group {
    /// Name of the other end: a domain, the label of a device, or an address.
    pub name: String,
    /// Use, by the well-known port.
    pub app: String,
    /// Number of flows.
    pub flows: u64,
    /// Bytes in both directions.
    pub bytes: u64,
    /// Time of the last row, in the unit of [`Past::last`].
    pub last: u64,
}

/// Result of a rehearsal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsal {
    /// Number of flows replayed.
    pub flows: u64,
    /// Flows that pass today and would break, most bytes first.
    pub breaks: Vec<Group>,
    /// Flows without a verdict.
    pub unknown: Vec<Group>,
    /// Whether the decision permits more than before: flows may begin to pass that are not recorded.
    pub may_begin: bool,
}

/// Joins both directions of flows, each of which is given as a flow of its own. Keeps the latest [`MAX_FLOWS`].
#[must_use]
pub fn join_directions(mut rows: Vec<Past>) -> Vec<Past> {
    // Of two directions that were recorded at the same time, the client's began: the one to the lower port, or to the Internet.
    let is_reply = |row: &Past| match row.key.ports {
        _ if row.ends.0.is_none() != row.ends.1.is_none() => row.ends.0.is_none(),
        Some((from, to)) => from < to,
        None => false,
    };
    rows.sort_by_key(|row| (row.first, is_reply(row)));
    let mut joined: BTreeMap<FlowKey, Past> = BTreeMap::new();
    for row in rows {
        let key = match joined.contains_key(&row.key.reverse()) {
            true => row.key.reverse(),
            false => row.key,
        };
        let past = joined.entry(key).or_insert(Past { bytes: 0, ..row });
        past.bytes += row.bytes;
        past.last = past.last.max(row.last);
    }
    let mut joined: Vec<Past> = joined.into_values().collect();
    joined.sort_by_key(|past| core::cmp::Reverse(past.last));
    joined.truncate(MAX_FLOWS);
    joined
}

/// Whether a flow breaks. `None`: no verdict.
type Verdict = Option<bool>;

/// Outcomes of flows with the policy of a [copy](Home::copy) of a home, in the order of `flows`.
pub fn fates(copy: Home, settings: &Settings, now: Time, flows: &[Past]) -> Vec<Fate> {
    Replica::new(copy, settings, now).replay(flows)
}

/// The flows that would break with a change, in the order of `flows`.
///
/// # Errors
/// When there is no such device, or the change is refused.
pub fn verdicts(
    home: &Home,
    settings: &Settings,
    now: Time,
    (mac, change): (Mac, &Change),
    flows: &[Past],
) -> Result<Vec<Verdict>, Refused> {
    let present = home.copy(now, mac);
    let mut candidate = home.copy(now, mac);
    candidate.change(now, mac, change.clone())?;
    let today = fates(present, settings, now, flows);
    let then = fates(candidate, settings, now, flows);
    let verdict = |(today, then): (Fate, Fate)| match (today, then) {
        (Fate::Dropped, _) | (_, Fate::Passed) | (Fate::Unknown, Fate::Unknown) => Some(false),
        (_, Fate::Dropped) => Some(true),
        (Fate::Passed, Fate::Unknown) => None,
    };
    Ok(today.into_iter().zip(then).map(verdict).collect())
}

/// Tries a change on recorded flows.
///
/// # Errors
/// Those of [`verdicts`].
pub fn rehearse(
    home: &Home,
    settings: &Settings,
    now: Time,
    (mac, change): (Mac, &Change),
    flows: &[Past],
) -> Result<Rehearsal, Refused> {
    let verdicts = verdicts(home, settings, now, (mac, change), flows)?;
    let mut groups: [BTreeMap<(String, String), Group>; 2] = Default::default();
    for (past, verdict) in flows.iter().zip(verdicts) {
        let groups = match verdict {
            Some(false) => continue,
            Some(true) => &mut groups[0],
            None => &mut groups[1],
        };
        let (name, app) = (name(home, mac, past), app(&past.key));
        let group = groups.entry((name.clone(), app.clone()));
        let group = group.or_insert_with(|| Group {
            name,
            app,
            flows: 0,
            bytes: 0,
            last: 0,
        });
        group.flows += 1;
        group.bytes += past.bytes;
        group.last = group.last.max(past.last);
    }
    let [breaks, unknown] = groups.map(|groups| {
        let mut groups: Vec<Group> = groups.into_values().collect();
        groups.sort_by_key(|group| core::cmp::Reverse(group.bytes));
        groups
    });
    Ok(Rehearsal {
        flows: flows.len() as u64,
        breaks,
        unknown,
        may_begin: change.is_kept_first(),
    })
}

/// Name of the other end of a flow of a device.
fn name(home: &Home, mac: Mac, past: &Past) -> String {
    let is_sender = past.ends.0 == Some(mac);
    let (other, address) = match is_sender {
        true => (past.ends.1, past.key.destination),
        false => (past.ends.0, past.key.source),
    };
    if past.key.protocol == 0 && address.is_unspecified() {
        return "the Internet".into();
    }
    let device = other.and_then(|other| home.device(other));
    let known = || home.names.name(mac, address).map(|name| name.to_string());
    device
        .map(crate::Device::label)
        .or_else(known)
        .unwrap_or_else(|| address.to_string())
}

/// Use of a flow, by the port of the server (IANA service names).
fn app(key: &FlowKey) -> String {
    let (kind, Some((from, to))) = (key.protocol, key.ports) else {
        return match key.protocol {
            0 => "all".into(),
            other => format!("protocol {other}"),
        };
    };
    let known = |port: u16| {
        Some(match (port, kind) {
            (22, _) => "SSH",
            (25 | 465 | 587, _) => "mail",
            (53 | 853, _) => "DNS",
            (80 | 8080, _) => "web",
            (110 | 143 | 993 | 995, _) => "mail",
            (123, _) => "time",
            (443, _) => "web (HTTPS)",
            (445 | 2049, _) => "files",
            (554 | 1935, _) => "video",
            (631 | 9100, _) => "printing",
            (1883 | 8883, _) => "MQTT",
            (3478 | 5349, _) => "calls",
            (5060 | 5061, _) => "telephone",
            (5222 | 5223 | 5228, _) => "messages",
            _ => return None,
        })
    };
    match kind {
        protocol::ICMP | protocol::ICMPV6 => "ping".into(),
        _ => {
            let transport = match kind {
                protocol::TCP => "TCP",
                protocol::UDP => "UDP",
                _ => "protocol",
            };
            let named = known(to).or_else(|| known(from));
            named.map_or_else(
                || format!("{transport} port {}", to.min(from)),
                String::from,
            )
        }
    }
}
