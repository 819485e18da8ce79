//! Playing a scenario.

use super::file::{Entry, Scenario};
use crate::forwarder::client;
use dns::exchange::Via;
use dns::forwarder::{self, Forwarder};
use dns::front::Output;
use dns::message::{OwnedRecord, Query, Question, record_at, records};
use dns::policy::PermitAll;
use dns::recursive::Recursive;
use dns::resolver::{self, Resolver};
use domain::base::iana::{Class, Rcode, Rtype};
use domain::base::message::Section;
use domain::base::{Message, MessageBuilder, StaticCompressor};
use node::Time;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

#[derive(Debug)]
pub enum Stop {
    /// The scenario needs a feature that there is not.
    Unsupported(String),
    Failed(String),
}

/// Keys of configurations that change nothing here, or are read below.
const HARMLESS: &[&str] = &[
    "server",
    "name",
    "stub-zone",
    "stub-addr",
    "forward-zone",
    "forward-addr",
    "target-fetch-policy",
    "qname-minimisation",
    "query-minimization",
    "minimal-responses",
    "iter-scrub-promiscuous",
    "trust-anchor-signaling",
    "rrset-roundrobin",
    "log-servfail",
    "verbosity",
    "do-ip6",
    "do-ip4",
    "access-control",
    "harden-referral-path",
    "module-config",
    "ede",
    "log-time-ascii",
    "val-override-date",
    "val-override-timestamp",
    "test from testbound",
    "hide-identity",
    "hide-version",
    "outbound-msg-retry",
    "msg-cache-slabs",
    "serve-expired-client-timeout",
    "fake-sha1",
    "harden-glue",
];

enum Core {
    Forwarder(Box<Forwarder<PermitAll>>),
    Resolver(Box<Resolver<PermitAll>>),
}

fn core(scenario: &Scenario) -> Result<Core, Stop> {
    let unsupported = |reason: &str| Err(Stop::Unsupported(reason.into()));
    let values = |key: &str| {
        let found = scenario
            .config
            .iter()
            .filter(|(other, _)| other == key)
            .map(|(_, value)| value.as_str());
        found
            .map(|value| {
                value
                    .split_whitespace()
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect::<Vec<_>>()
    };
    let says = |key: &str, value: &str| {
        values(key)
            .iter()
            .any(|other| other.trim_matches('"') == value)
    };
    if !values("trust-anchor").is_empty()
        || !values("trust-anchor-file").is_empty()
        || !values("auto-trust-anchor-file").is_empty()
    {
        return unsupported("validates DNSSEC");
    }
    let modules = scenario
        .config
        .iter()
        .find(|(key, _)| key == "module-config")
        .map(|(_, value)| value.as_str());
    if modules.is_some_and(|modules| {
        modules
            .split_whitespace()
            .any(|module| !matches!(module, "iterator" | "validator"))
    }) {
        return unsupported("modules: DNS64, RPZ, subnets, cache databases");
    }
    if !values("features").is_empty() || !values("feature-list").is_empty() {
        return unsupported("features of the Knot Resolver");
    }
    if says("prefetch", "yes") {
        return unsupported("prefetching");
    }
    for (key, _) in &scenario.config {
        let key = key.as_str();
        if !HARMLESS.contains(&key)
            && key.chars().all(|letter| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-'
            })
            && key.contains('-')
        {
            return Err(Stop::Unsupported(format!("key {key}")));
        }
    }
    let servers = |key: &str| {
        let addresses = values(key).into_iter().filter_map(|address| {
            let address = address
                .split(['@', '#'])
                .next()
                .unwrap_or_default()
                .parse::<IpAddr>()
                .ok()?;
            Some(SocketAddr::new(address, 53))
        });
        addresses.collect::<Vec<_>>()
    };
    let (stubs, forwards) = (servers("stub-addr"), servers("forward-addr"));
    let names: BTreeSet<String> = values("name")
        .into_iter()
        .map(|name| name.trim_matches('"').to_owned())
        .collect();
    if names.len() > 1 || names.iter().any(|name| name != ".") {
        return unsupported("several zones of stubs or forwards");
    }
    match (stubs.is_empty(), forwards.is_empty()) {
        (true, false) => {
            let config = forwarder::Config {
                servers: forwards,
                ..forwarder::Config::default()
            };
            Ok(Core::Forwarder(Box::new(Forwarder::new(
                config, PermitAll, 1,
            ))))
        }
        (false, true) => {
            let config = resolver::Config {
                roots: stubs,
                minimise: !says("qname-minimisation", "no") && !says("query-minimization", "off"),
                ipv6: !says("do-ip6", "no"),
                // Retries of a scenario take no time.
                max_time: Time::from_secs(120),
                ..resolver::Config::default()
            };
            Ok(Core::Resolver(Box::new(Resolver::new(
                config, PermitAll, 1,
            ))))
        }
        _ => unsupported("neither a root stub nor a root forward"),
    }
}

struct Player<'a> {
    scenario: &'a Scenario,
    core: Core,
    now: Time,
    step: u32,
    /// Queries to servers without a response.
    pending: Vec<(SocketAddr, Via, Vec<u8>)>,
    responses: Vec<Vec<u8>>,
}

impl Player<'_> {
    fn call(&mut self, act: impl FnOnce(&mut Core, Time, &mut dns::front::Send<'_>)) {
        let (mut queries, mut responses) = (Vec::new(), Vec::new());
        act(&mut self.core, self.now, &mut |output| match output {
            Output::Response { message, .. } => responses.push(message.to_vec()),
            Output::Query {
                server,
                via,
                message,
            } => queries.push((server, via, message.to_vec())),
        });
        self.responses.extend(responses);
        self.pending.extend(queries);
    }

    /// Delivers responses of the ranges until there are no more.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            let step = self.step;
            let ranges = &self.scenario.ranges;
            let found = self
                .pending
                .iter()
                .enumerate()
                .find_map(|(index, (server, _, query))| {
                    // Of two ranges the last one counts.
                    let mut ranges = ranges.iter().rev().filter(|range| {
                        (range.from..=range.to).contains(&step)
                            && (range.addresses.is_empty()
                                || range.addresses.contains(&server.ip()))
                    });
                    let entry = ranges.find_map(|range| {
                        range.entries.iter().find(|entry| is_match(entry, query))
                    })?;
                    Some((index, entry))
                });
            let Some((index, entry)) = found else { return };
            let (server, via, query) = self.pending.remove(index);
            self.reply(entry, server, via, &query);
        }
    }

    fn reply(&mut self, entry: &Entry, server: SocketAddr, via: Via, query: &[u8]) {
        let response = response(entry, query);
        self.call(|core, now, send| {
            match core {
                Core::Forwarder(core) => core.handle_response(now, server, via, &response, send),
                Core::Resolver(core) => core.handle_response(now, server, via, &response, send),
            };
        });
    }

    fn next_wake(&self) -> Option<Time> {
        match &self.core {
            Core::Forwarder(core) => core.next_wake(),
            Core::Resolver(core) => core.next_wake(),
        }
    }

    /// Goes to the next timeout.
    fn wake(&mut self) -> bool {
        let Some(at) = self.next_wake() else {
            return false;
        };
        self.now = self.now.max(at);
        self.call(|core, now, send| match core {
            Core::Forwarder(core) => core.wake(now, send),
            Core::Resolver(core) => core.wake(now, send),
        });
        let core = &self.core;
        self.pending.retain(|(_, via, _)| match (core, *via) {
            (_, Via::Tcp) => true,
            (Core::Forwarder(core), Via::Udp(port)) => core.has_port(port),
            (Core::Resolver(core), Via::Udp(port)) => core.has_port(port),
        });
        self.settle();
        true
    }

    fn query(&mut self, entry: &Entry, number: u16) {
        let mut builder = MessageBuilder::new_vec().question();
        builder.header_mut().set_id(number);
        builder.header_mut().set_rd(entry.flag("RD"));
        builder.header_mut().set_cd(entry.flag("CD"));
        builder.header_mut().set_ad(entry.flag("AD"));
        let (name, rtype) = entry.question.clone().expect("a question");
        builder.push((&name, rtype, Class::IN)).expect("room");
        let mut builder = builder.additional();
        if entry.flag("DO") {
            builder
                .opt(|opt| {
                    opt.set_udp_payload_size(4096);
                    opt.set_dnssec_ok(true);
                    Ok(())
                })
                .expect("room");
        } else {
            // As of a client with a larger buffer, so that nothing is cut off.
            builder
                .opt(|opt| {
                    opt.set_udp_payload_size(4096);
                    Ok(())
                })
                .expect("room");
        }
        let bytes = builder.finish();
        self.call(|core, now, send| match core {
            Core::Forwarder(core) => {
                core.handle_query(now, client(9, 4_000 + number), &bytes, send)
            }
            Core::Resolver(core) => core.handle_query(now, client(9, 4_000 + number), &bytes, send),
        });
        self.settle();
    }
}

fn is_match(entry: &Entry, query: &[u8]) -> bool {
    let Ok(read) = Query::read(query) else {
        return false;
    };
    let Some((name, rtype)) = &entry.question else {
        return true;
    };
    let question = read.question;
    let same_name = question.name == name.for_slice();
    let all = entry.has("question");
    (!(entry.has("qname") || all) || same_name)
        && (!(entry.has("qtype") || all) || question.rtype == *rtype)
        && (!entry.has("subdomain") || question.name.ends_with(name))
        && (!entry.has("DO") || read.dnssec_ok())
        && (!entry.has("noedns") || read.edns.is_none())
        && !entry.has("TCP")
}

fn response(entry: &Entry, query: &[u8]) -> Vec<u8> {
    let asked = Question::read(query).expect("a question");
    let builder = MessageBuilder::from_target(StaticCompressor::new(Vec::new())).expect("a vector");
    let mut builder = builder.question();
    let header = builder.header_mut();
    // Unbound's player does not compare identifiers.
    header.set_id(u16::from_be_bytes([query[0], query[1]]));
    header.set_qr(entry.flag("QR"));
    header.set_aa(entry.flag("AA"));
    header.set_tc(entry.flag("TC"));
    header.set_rd(entry.flag("RD"));
    header.set_ra(entry.flag("RA"));
    header.set_ad(entry.flag("AD"));
    header.set_cd(entry.flag("CD"));
    header.set_rcode(entry.code());
    let copies = entry.adjust.iter().any(|word| word == "copy_query");
    match &entry.question {
        Some((name, rtype)) if !copies => builder.push((name, *rtype, Class::IN)).expect("room"),
        None if !copies => {}
        _ => builder
            .push((asked.name, asked.rtype, asked.class))
            .expect("room"),
    }
    let mut builder = builder.answer();
    entry.sections[0]
        .iter()
        .for_each(|record| builder.push(record).expect("room"));
    let mut builder = builder.authority();
    entry.sections[1]
        .iter()
        .for_each(|record| builder.push(record).expect("room"));
    let mut builder = builder.additional();
    entry.sections[2]
        .iter()
        .for_each(|record| builder.push(record).expect("room"));
    builder.finish().into_target()
}

fn texts<'a>(all: impl Iterator<Item = &'a OwnedRecord>, with_ttl: bool) -> BTreeSet<String> {
    let text = |record: &OwnedRecord| {
        let ttl = if with_ttl {
            record.ttl().as_secs().to_string()
        } else {
            String::new()
        };
        format!(
            "{} {ttl} {} {}",
            record.owner(),
            record.rtype(),
            record.data()
        )
        .to_lowercase()
    };
    all.map(text).collect()
}

fn check(entry: &Entry, response: &[u8]) -> Result<(), String> {
    let header = Message::from_slice(response).expect("a header").header();
    let section = |wanted: Section| -> Vec<OwnedRecord> {
        let places = records(response)
            .map_while(Result::ok)
            .filter(|place| place.section == wanted);
        places
            .filter_map(|place| record_at(response, place.start))
            .collect()
    };
    if header.rcode() != entry.code() {
        return Err(format!("{} and not {}", header.rcode(), entry.code()));
    }
    if header.rcode() == Rcode::SERVFAIL {
        return Ok(());
    }
    if header.tc() != entry.flag("TC") {
        return Err(format!("TC {}", header.tc()));
    }
    let with_ttl = entry.has("ttl");
    let (ours, theirs) = (section(Section::Answer), &entry.sections[0]);
    let (ours, theirs) = (texts(ours.iter(), with_ttl), texts(theirs.iter(), with_ttl));
    if (entry.has("all") || entry.has("answer")) && ours != theirs {
        return Err(format!("answer {ours:?} and not {theirs:?}"));
    }
    let has_soa = |all: &[OwnedRecord]| all.iter().any(|record| record.rtype() == Rtype::SOA);
    if entry.has("all") && has_soa(&entry.sections[1]) && !has_soa(&section(Section::Authority)) {
        return Err("no SOA record".into());
    }
    Ok(())
}

pub fn play(scenario: &Scenario) -> Result<(), Stop> {
    let core = core(scenario)?;
    let is_resolver = matches!(core, Core::Resolver(_));
    let mut player = Player {
        scenario,
        core,
        now: Time::from_secs(1),
        step: 0,
        pending: Vec::new(),
        responses: Vec::new(),
    };
    for step in &scenario.steps {
        player.step = step.number;
        let failed = |reason: String| Err(Stop::Failed(format!("step {}: {reason}", step.number)));
        match (step.action.as_str(), &step.entry) {
            ("QUERY", Some(entry)) => {
                if entry.question.is_none() {
                    return Err(Stop::Unsupported("a query without a question".into()));
                }
                if entry.has("TCP") {
                    return Err(Stop::Unsupported("TCP".into()));
                }
                player.query(entry, step.number as u16);
            }
            ("CHECK_ANSWER", Some(entry)) => {
                player.settle();
                while player.responses.is_empty() && player.wake() {}
                if player.responses.is_empty() {
                    return failed("no response".into());
                }
                let response = player.responses.remove(0);
                if let Err(reason) = check(entry, &response) {
                    return failed(reason);
                }
            }
            ("REPLY", Some(entry)) if !is_resolver => {
                let mut pending = player.pending.iter();
                let Some(index) = pending.position(|(_, _, query)| is_match(entry, query)) else {
                    return failed("no query to reply to".into());
                };
                let (server, port, query) = player.pending.remove(index);
                player.reply(entry, server, port, &query);
            }
            ("CHECK_OUT_QUERY", Some(entry)) if !is_resolver => {
                if !player
                    .pending
                    .iter()
                    .any(|(_, _, query)| is_match(entry, query))
                {
                    return failed("no such query to a server".into());
                }
            }
            ("TIMEOUT", _) if !is_resolver => {
                player.wake();
            }
            ("NOTHING", _) => {}
            ("TRAFFIC", _) => player.settle(),
            ("TIME_PASSES", _) if step.argument.starts_with("ELAPSE") => {
                let seconds = step
                    .argument
                    .split_whitespace()
                    .nth(1)
                    .and_then(|number| number.parse::<f64>().ok());
                let end = player.now + Time::from_us((seconds.unwrap_or(0.0) * 1e6) as u64);
                while player.next_wake().is_some_and(|at| at <= end) {
                    player.wake();
                }
                player.now = end;
            }
            ("REPLY" | "CHECK_OUT_QUERY" | "TIMEOUT", _) => {
                return Err(Stop::Unsupported(
                    "steps for each query that Unbound sends".into(),
                ));
            }
            (action, _) => return Err(Stop::Unsupported(format!("step {action}"))),
        }
    }
    Ok(())
}
