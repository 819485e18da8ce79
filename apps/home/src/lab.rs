//! The kind `home` for lab files: the control program of a home, with devices and decisions at given times.
//!
//! ```toml
//! [node.home]
//! kind = "home"
//! network = "10.2.0.0/16"     # of the devices, /16 to /28; each has a /30 of it
//! mac = "02:00:00:00:00:01"   # of the gateways
//! uplink = 1                  # port of the switch that leads to the router
//! authenticator = 2           # port of the switch to which EAPOL goes; default: it is dropped
//! dns = ["203.0.113.53"]      # recursive servers
//! denied = "nxdomain"         # or "refused": response to queries for denied domains
//! exact = true                # whether each flow has entries of its own
//! refuge = 1000               # flows of a device from which on one entry stands for all
//! idle = 30                   # seconds without a packet after which an entry goes
//! poll = "1 s"                # interval between two polls of the counters of entries; 0 s: none
//! ipv6 = true                 # whether the home has IPv6, with a prefix that its router delegates by DHCPv6
//! local = "fd12:3456:789a::/48" # local IPv6 network (RFC 4193), next to the delegated one; default: none
//! date = "2026-03-28 20:59"   # local time at the start of the simulation; default: 2026-01-05 00:00, a Monday
//! zone = "CET-1CEST,M3.5.0,M10.5.0/3" # time zone in the form of POSIX; default: UTC0
//!
//! [[node.home.device]]
//! mac = "02:00:00:00:01:01"
//! admission = "permitted"     # or waiting, denied
//! name = "printer"
//! deny = ["example.com"]
//! person = "Anna"
//! bedtime = ["mon-fri 21:00-07:00"] # times in which it is paused
//! quota = { bytes = 1000000000, reset = "04:00" } # bytes a day to and from the Internet
//!
//! [[node.home.person]]        # limits of all devices of a person together
//! name = "Anna"
//! bedtime = ["daily 22:00-06:00"]
//!
//! [[node.home.story]]
//! at = "5 s"
//! mac = "02:00:00:00:01:02"
//! do = "permit"               # deny, wait, pause, resume, blacklist, whitelist, permit-dns, deny-dns, default-dns, forget
//! ```
//!
//! The home's switch connects to port 0. The router has the address of slot 0's gateway, such as 10.2.0.1/16.

use crate::bedtime::Bedtime;
use crate::calendar::{Calendar, Which};
use crate::device::Admission;
use crate::dns::Denied;
use crate::domains;
use crate::gateway::Settings;
use crate::home::{Change, Home, NoJournal, Refused, Shared};
use crate::limits::{Limits, Quota};
use crate::networks::Network;
use crate::node::HomeNode;
use crate::people::Person;
use crate::plan::Plan;
use crate::record::{NoRecord, Record};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use lab::{Context, Kind, Registry};
use node::{ConfigError, Time};
use openflow::controller::{App, Handle};
use packet::ethernet::Mac;

/// Description of the kind, for `wire nodes`.
const DESCRIPTION: &str = include_str!("lab/home.toml");

/// Configuration of a device.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// Its MAC address.
    pub mac: Mac,
    /// Whether it may use the network. Default: waiting.
    #[serde(default)]
    pub admission: Admission,
    /// Whether it may not associate. Default: it may.
    #[serde(default)]
    pub blacklisted: bool,
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its owner.
    #[serde(default)]
    pub person: Option<String>,
    /// Domains that it may reach.
    #[serde(default)]
    pub permit: Vec<String>,
    /// Domains that it may not reach.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Whether it may reach no other domains than those of `permit`. Default: it may.
    #[serde(default)]
    pub others_denied: bool,
    /// Times of the week in which it is paused. Default: none.
    #[serde(default)]
    pub bedtime: Bedtime,
    /// Bytes a day to and from the Internet. Default: no limit.
    #[serde(default)]
    pub quota: Option<Quota>,
}

/// Limits of all devices of a person together.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonConfig {
    /// The person, as devices name their owner.
    pub name: String,
    /// Whether all devices are paused. Default: they are not.
    #[serde(default)]
    pub paused: bool,
    /// Times of the week in which they are paused. Default: none.
    #[serde(default)]
    pub bedtime: Bedtime,
    /// Bytes a day to and from the Internet. Default: no limit.
    #[serde(default)]
    pub quota: Option<Quota>,
}

/// A decision of a story, named as the calls of the paper (table 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The device may use the network.
    Permit,
    /// It may not.
    Deny,
    /// The device waits for a decision.
    Wait,
    /// The device is paused.
    Pause,
    /// The device is no longer paused.
    Resume,
    /// It may not associate.
    Blacklist,
    /// It may associate.
    Whitelist,
    /// It may reach a domain.
    PermitDns,
    /// It may not reach a domain.
    DenyDns,
    /// The rule for a domain is removed.
    DefaultDns,
    /// The device is forgotten.
    Forget,
}

/// A decision at a time.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoryConfig {
    /// Its time.
    pub at: Time,
    /// The device.
    pub mac: Mac,
    /// The decision.
    #[serde(rename = "do")]
    pub step: Step,
    /// The domain, for decisions about domains.
    #[serde(default)]
    pub domain: Option<String>,
}

impl StoryConfig {
    fn change(&self) -> Result<Change, ConfigError> {
        let misplaced = "`domain` belongs to permit-dns, deny-dns and default-dns, which need it";
        let bad = |reason: String| ConfigError::new("story", reason);
        let rule = |permitted| {
            let text = self.domain.as_ref().ok_or_else(|| bad(misplaced.into()))?;
            let domain = domains::domain(text).map_err(|error| bad(error.to_string()))?;
            Ok(Change::Domain(domain, permitted))
        };
        let plain = match self.step {
            Step::PermitDns => return rule(Some(true)),
            Step::DenyDns => return rule(Some(false)),
            Step::DefaultDns => return rule(None),
            Step::Permit => Change::Admission(Admission::Permitted),
            Step::Deny => Change::Admission(Admission::Denied),
            Step::Wait => Change::Admission(Admission::Waiting),
            Step::Pause => Change::Paused(true),
            Step::Resume => Change::Paused(false),
            Step::Blacklist => Change::Blacklisted(true),
            Step::Whitelist => Change::Blacklisted(false),
            Step::Forget => Change::Forgotten,
        };
        match self.domain {
            None => Ok(plain),
            Some(_) => Err(bad(misplaced.into())),
        }
    }
}

/// Configuration of the kind. See the [module](self).
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Network of the devices.
    pub network: String,
    /// MAC address of the gateways.
    pub mac: Mac,
    /// Port of the switch that leads to the router.
    pub uplink: u32,
    /// Port of the switch to which EAPOL goes.
    pub authenticator: Option<u32>,
    /// Recursive servers.
    pub dns: Vec<String>,
    /// Response to queries for denied domains.
    pub denied: Denied,
    /// Whether each flow has entries of its own.
    pub exact: bool,
    /// Flows of a device from which on one entry stands for all.
    pub refuge: u32,
    /// Seconds without a packet after which an entry goes.
    pub idle: u16,
    /// Interval between two polls of the counters of entries.
    pub poll: Time,
    /// Whether the home has IPv6.
    pub ipv6: bool,
    /// Local IPv6 network.
    pub local: Option<String>,
    /// Local time at the start of the simulation.
    pub date: String,
    /// Time zone in the form of POSIX.
    pub zone: String,
    /// People with limits.
    pub person: Vec<PersonConfig>,
    /// Devices that are known from the start.
    pub device: Vec<DeviceConfig>,
    /// Decisions at given times.
    pub story: Vec<StoryConfig>,
    /// Seed of random numbers. Default: the lab's.
    pub seed: Option<u64>,
}

impl Default for Config {
    fn default() -> Config {
        let settings = Settings::default();
        Config {
            network: "10.2.0.0/16".into(),
            mac: settings.mac,
            uplink: settings.uplink,
            authenticator: None,
            dns: Vec::new(),
            denied: settings.denied,
            exact: settings.exact,
            refuge: settings.refuge,
            idle: settings.idle,
            poll: settings.poll,
            ipv6: settings.ipv6,
            local: None,
            date: "2026-01-05 00:00".into(),
            zone: "UTC0".into(),
            person: Vec::new(),
            device: Vec::new(),
            story: Vec::new(),
            seed: None,
        }
    }
}

impl Config {
    fn plan(&self) -> Result<Plan, ConfigError> {
        let bad = || ConfigError::new("network", "a network of /16 to /28, such as 10.2.0.0/16");
        let (network, prefix) = self.network.split_once('/').ok_or_else(bad)?;
        let network: Ipv4Addr = network.parse().map_err(|_| bad())?;
        let prefix = prefix.parse().map_err(|_| bad())?;
        Plan::new(network, prefix).map_err(|_| bad())
    }

    fn settings(&self, seed: u64) -> Result<Settings, ConfigError> {
        let server = |text: &String| {
            let address = text
                .parse()
                .map(|address: IpAddr| SocketAddr::new(address, 53));
            let address = address.ok().or_else(|| text.parse().ok());
            address.filter(SocketAddr::is_ipv4).ok_or_else(|| {
                ConfigError::new(
                    "dns",
                    "an IPv4 address, with a port other than 53 as 192.0.2.1:5353",
                )
            })
        };
        if self.idle == 0 {
            return Err(ConfigError::new(
                "idle",
                "at least 1 s, or entries would stay forever",
            ));
        }
        if self.refuge == 0 {
            return Err(ConfigError::new("refuge", "at least 1 flow"));
        }
        if self.mac.is_group() || self.mac == Mac::default() {
            return Err(ConfigError::new("mac", "the address of one host"));
        }
        Ok(Settings {
            mac: self.mac,
            uplink: self.uplink,
            authenticator: self.authenticator,
            dns: self.dns.iter().map(server).collect::<Result<_, _>>()?,
            denied: self.denied,
            exact: self.exact,
            refuge: self.refuge,
            idle: self.idle,
            poll: self.poll,
            ipv6: self.ipv6,
            guests: None,
            seed: self.seed.unwrap_or(seed),
        })
    }

    fn local(&self) -> Result<Option<Network>, ConfigError> {
        let bad = || {
            let reason =
                "with `ipv6`, a local network of at most 62 bits, such as fd12:3456:789a::/48";
            ConfigError::new("local", reason)
        };
        let Some(text) = &self.local else {
            return Ok(None);
        };
        let (address, length) = text.split_once('/').ok_or_else(bad)?;
        let (address, length) = (address.parse().ok(), length.parse().ok());
        let (address, length) = address.zip(length).ok_or_else(bad)?;
        let network = Network::new(address, length, Time::MAX, Time::MAX);
        let network = network
            .ok()
            .filter(|network| network.is_local() && self.ipv6);
        network.map(Some).ok_or_else(bad)
    }

    fn calendar(&self) -> Result<Calendar, ConfigError> {
        let zone = jiff::tz::TimeZone::posix(&self.zone).map_err(|_| {
            let reason = "a time zone in the form of POSIX, such as CET-1CEST,M3.5.0,M10.5.0/3";
            ConfigError::new("zone", reason)
        })?;
        let date = self.date.parse().map_err(|_| {
            ConfigError::new("date", "a local date and time, such as 2026-03-28 20:59")
        })?;
        let start = Calendar::simulated(zone.clone(), 0).instant(date, Which::First);
        Ok(Calendar::simulated(zone, start))
    }

    /// The node, with a home of its own.
    ///
    /// # Errors
    /// When a key is out of its range.
    pub fn make(&self, seed: u64) -> Result<HomeNode, ConfigError> {
        let mut home = Home::new(self.plan()?, Box::new(NoJournal));
        home.calendar = self.calendar()?;
        self.make_for(home.shared(), Box::new(NoRecord), seed)
    }

    /// The node for a home, to which the devices that are known from the start are added. `network` is not used.
    ///
    /// # Errors
    /// When a key is out of its range.
    pub fn make_for(
        &self,
        home: Shared,
        record: Box<dyn Record>,
        seed: u64,
    ) -> Result<HomeNode, ConfigError> {
        let settings = self.settings(seed)?;
        if let Some(local) = self.local()? {
            home.lock().networks.set(local);
        }
        for person in &self.person {
            let mut limits = Limits::default();
            limits.set_bedtime(person.bedtime.clone());
            limits.set_quota(person.quota);
            if !crate::home::is_name(&person.name) {
                return Err(ConfigError::new("person", Refused::Name.to_string()));
            }
            let paused = person.paused;
            home.lock()
                .restore_person(person.name.clone(), Person { paused, limits });
        }
        for device in &self.device {
            enter(&mut home.lock(), device)
                .map_err(|refused| ConfigError::new("device", refused.to_string()))?;
        }
        let story = Story::new(home.clone(), &self.story)?;
        let others: Vec<Box<dyn App>> = match self.story.is_empty() {
            true => Vec::new(),
            false => vec![Box::new(story)],
        };
        Ok(HomeNode::new(home, settings, record, others))
    }
}

fn enter(home: &mut Home, config: &DeviceConfig) -> Result<(), Refused> {
    let (now, mac) = (Time::ZERO, config.mac);
    home.seen(now, mac)?;
    let rules = config.permit.iter().map(|domain| (domain, true));
    for (domain, permitted) in rules.chain(config.deny.iter().map(|domain| (domain, false))) {
        home.change(now, mac, Change::Domain(domain.clone(), Some(permitted)))?;
    }
    if config.name.is_some() {
        home.change(now, mac, Change::Name(config.name.clone()))?;
    }
    if config.person.is_some() {
        home.change(now, mac, Change::Person(config.person.clone()))?;
    }
    home.change(now, mac, Change::Bedtime(config.bedtime.clone()))?;
    home.change(now, mac, Change::Quota(config.quota))?;
    home.change(now, mac, Change::OthersDenied(config.others_denied))?;
    home.change(now, mac, Change::Blacklisted(config.blacklisted))?;
    home.change(now, mac, Change::Admission(config.admission))
}

/// A program that makes decisions at given times.
///
/// - **Counters:** `decisions`; `decisions_refused`.
pub struct Story {
    home: Shared,
    /// Pending decisions, the last one first.
    left: Vec<(Time, Mac, Change)>,
    made: u64,
    refused: u64,
}

impl Story {
    /// A program with these decisions.
    ///
    /// # Errors
    /// When a domain is missing, misplaced or invalid.
    pub fn new(home: Shared, story: &[StoryConfig]) -> Result<Story, ConfigError> {
        let read = |step: &StoryConfig| Ok((step.at, step.mac, step.change()?));
        let mut left = story.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        left.sort_by_key(|(at, ..)| core::cmp::Reverse(*at));
        Ok(Story {
            home,
            left,
            made: 0,
            refused: 0,
        })
    }
}

impl App for Story {
    fn name(&self) -> &'static str {
        "story"
    }

    fn next_wake(&self) -> Option<Time> {
        self.left.last().map(|(at, ..)| *at)
    }

    fn wake(&mut self, handle: &mut Handle<'_>) {
        let now = handle.now();
        let mut home = self.home.lock();
        while let Some((_, mac, change)) = self.left.pop_if(|(at, ..)| *at <= now) {
            // A decision may be about a device that has not been seen yet.
            if home.device(mac).is_none() && home.seen(now, mac).is_err() {
                self.refused += 1;
                continue;
            }
            match home.change(now, mac, change) {
                Ok(()) => self.made += 1,
                Err(_) => self.refused += 1,
            }
        }
    }

    fn counters(&self, visit: &mut dyn FnMut(&str, u64)) {
        visit("decisions", self.made);
        visit("decisions_refused", self.refused);
    }
}

/// The kind.
pub fn kind() -> Kind {
    let make = |config: Config, context: &Context<'_>| config.make(context.seed());
    Kind::of("home", make).described(DESCRIPTION)
}

/// The kinds that come with Wireline, and `home`.
pub fn registry() -> Registry {
    Registry::standard().with_kind(kind())
}

/// As [`registry`], for labs whose control program serves this home, whose calendar stays. `record` makes the receiver of its rows.
pub fn registry_for(
    home: Shared,
    record: impl Fn() -> Box<dyn Record> + Clone + Send + Sync + 'static,
) -> Registry {
    let make = move |config: Config, context: &Context<'_>| {
        config.make_for(home.clone(), record(), context.seed())
    };
    Registry::standard().with_kind(Kind::of("home", make).described(DESCRIPTION))
}
