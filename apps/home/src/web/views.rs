//! Devices as the API shows them.

use crate::bedtime::Bedtime;
use crate::clock::Clock;
use crate::device::{Admission, Device};
use crate::home::{Change, Home, News, Notice};
use crate::identity::Reason;
use crate::limits::{Held, Quota};
use crate::networks::DEVICE_LENGTH;
use crate::people::PersonChange;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use serde::Serialize;

/// A device.
#[derive(Debug, Serialize)]
pub struct DeviceView {
    mac: String,
    address: Ipv4Addr,
    gateway: Ipv4Addr,
    /// Its IPv6 prefixes: `ADDRESS/63` in each network, of which the lower /64 is its link and the upper one is delegated on demand.
    prefixes: Vec<String>,
    /// IPv6 addresses that it used last.
    addresses: Vec<Ipv6Addr>,
    label: String,
    name: Option<String>,
    person: Option<String>,
    host_name: Option<String>,
    admission: Admission,
    blacklisted: bool,
    paused: bool,
    /// Whether a limit is in force, its own or its owner's.
    held: Option<Held>,
    bedtime: Bedtime,
    quota: Option<Quota>,
    others_denied: bool,
    rules: usize,
    #[serde(flatten)]
    figures: Figures,
    #[serde(skip_serializing_if = "Option::is_none")]
    domains: Option<Vec<Rule>>,
}

/// A rule for a domain.
#[derive(Debug, Serialize)]
struct Rule {
    domain: String,
    permitted: bool,
}

/// State that changes without a decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Whether it waits for a decision now.
    asking: bool,
    /// Unix times of the first and the last sighting, seconds.
    first_seen: Option<u64>,
    last_seen: Option<u64>,
    /// Unix time of the end of its lease, seconds.
    lease_end: Option<u64>,
    /// Bytes since the start.
    pub sent: u64,
    pub received: u64,
    not_looked_up: u64,
    refused: u64,
    /// Bytes that count against its quota since the reset.
    used: u64,
    /// Bytes a second.
    pub rate: u64,
    /// Whether it lacks a required authentication, and the identity with which it is authenticated.
    unauthenticated: bool,
    identity: Option<String>,
    /// Wi-Fi signal, dBm, and the share of frames that were retransmitted.
    signal: Option<i8>,
    retransmitted: Option<f32>,
    /// Question whether it is an earlier device under another MAC address.
    again: Option<AgainView>,
}

/// A question about a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainView {
    /// The earlier device.
    mac: String,
    label: String,
    person: Option<String>,
    reasons: Vec<Reason>,
}

impl AgainView {
    fn new(home: &Home, device: &Device) -> Option<AgainView> {
        let question = home.question(device)?;
        let earlier = home.device(question.earlier)?;
        Some(AgainView {
            mac: earlier.mac.to_string(),
            label: earlier.label(),
            person: earlier.person.clone(),
            reasons: question.reasons.clone(),
        })
    }
}

impl Figures {
    /// State of a device.
    pub fn new(home: &Home, device: &Device, clock: &Clock, rate: u64) -> Figures {
        let now = clock.now();
        Figures {
            asking: device.is_asking(now),
            first_seen: device.seen.map(|(first, _)| clock.unix_of(first)),
            last_seen: device.seen.map(|(_, last)| clock.unix_of(last)),
            lease_end: device
                .lease_end
                .filter(|end| *end > now)
                .map(|end| clock.unix_of(end)),
            sent: device.traffic.sent.1,
            received: device.traffic.received.1,
            not_looked_up: device.traffic.not_looked_up,
            refused: device.traffic.refused,
            used: device.limits.used.bytes,
            rate,
            unauthenticated: device.authentication.is_missing(device.port),
            identity: device
                .authentication
                .identity
                .clone()
                .filter(|_| device.authentication.at.is_some()),
            signal: device.wifi.map(|wifi| wifi.signal),
            retransmitted: device.wifi.and_then(|wifi| wifi.retransmitted),
            again: AgainView::new(home, device),
        }
    }
}

impl DeviceView {
    /// A device of a home, without its rules.
    pub fn new(home: &Home, device: &Device, clock: &Clock, rate: u64) -> DeviceView {
        DeviceView {
            mac: device.mac.to_string(),
            address: home.plan.device(device.slot),
            gateway: home.plan.gateway(device.slot),
            prefixes: prefixes(home, device),
            addresses: device.addresses.clone(),
            label: device.label(),
            name: device.name.clone(),
            person: device.person.clone(),
            host_name: device.host_name.clone(),
            admission: device.admission,
            blacklisted: device.blacklisted,
            paused: device.paused,
            held: device.held,
            bedtime: device.limits.bedtime.clone(),
            quota: device.limits.quota,
            others_denied: device.domains.others_denied,
            rules: device.domains.rules().count(),
            figures: Figures::new(home, device, clock, rate),
            domains: None,
        }
    }

    /// With its rules: at most [`crate::domains::MAX_RULES`].
    pub fn with_rules(mut self, device: &Device) -> DeviceView {
        let rules = device.domains.rules().map(|(domain, permitted)| Rule {
            domain: domain.into(),
            permitted,
        });
        self.domains = Some(rules.collect());
        self
    }
}

/// IPv6 prefixes of a device: none unless it may use the network.
fn prefixes(home: &Home, device: &Device) -> Vec<String> {
    let usable = home.networks.usable().filter(|_| device.is_admitted());
    let prefixes = usable.filter_map(|network| network.device(device.slot));
    prefixes
        .map(|prefix| format!("{prefix}/{DEVICE_LENGTH}"))
        .collect()
}

/// A notice.
#[derive(Debug, Serialize)]
pub struct NoticeView {
    number: u64,
    at: u64,
    mac: String,
    news: NewsView,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum NewsView {
    Changed(Change),
    Lease(u64),
    LeaseEnded,
    DomainDenied(String),
    Refuge(u32),
    Spoofed(IpAddr),
    Held(Held),
    Released,
    Owner(PersonChange),
    MaybeAgain(String),
    Authenticated(bool),
}

impl NoticeView {
    /// A notice with Unix times.
    pub fn new(notice: &Notice, clock: &Clock) -> NoticeView {
        NoticeView {
            number: notice.number,
            at: clock.unix_of(notice.at),
            mac: notice.mac.to_string(),
            news: match &notice.news {
                News::Changed(change) => NewsView::Changed(change.clone()),
                News::Lease(end) => NewsView::Lease(clock.unix_of(*end)),
                News::LeaseEnded => NewsView::LeaseEnded,
                News::DomainDenied(name) => NewsView::DomainDenied(name.clone()),
                News::Refuge(flows) => NewsView::Refuge(*flows),
                News::Spoofed(address) => NewsView::Spoofed(*address),
                News::Held(held) => NewsView::Held(*held),
                News::Released => NewsView::Released,
                News::Owner(change) => NewsView::Owner(change.clone()),
                News::Again(earlier) => NewsView::MaybeAgain(earlier.to_string()),
                News::Authenticated(is_now) => NewsView::Authenticated(*is_now),
            },
        }
    }
}
