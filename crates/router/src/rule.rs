//! Rules of policy routing in the words of iproute2's `ip rule add`.
//!
//! `[-6] [not] [from PREFIX] [to PREFIX] [iif PORT] [tos N] [ipproto PROTOCOL] [sport PORT[-PORT]] [dport PORT[-PORT]]
//! [priority N] [vrf NAME] lookup TABLE | blackhole | unreachable | prohibit`

use crate::prefix::Prefix;
use crate::route::{BadRoute, Words, table};
use alloc::string::{String, ToString};
use core::fmt;
use core::net::IpAddr;
use core::ops::RangeInclusive;
use core::str::FromStr;
use packet::ipv4::protocol;

/// Priority of the rule that looks into the table `main`, as in Linux. The default of others: each is asked after those before
/// it in the list.
pub const MAIN_PRIORITY: u32 = 32_766;

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The packets that it is about.
    pub selector: Selector,
    /// Effect on those.
    pub verdict: Verdict,
    /// Rules with a lower number are asked first; `None`: in the order of the list, before the table `main`.
    pub priority: Option<u32>,
    /// Whether it is about IPv4; a rule is about one version, as in Linux.
    pub is_v4: bool,
    /// Its VRF; `None`: that of the router's ports without one.
    pub vrf: Option<String>,
}

/// Effect of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A table decides, or, if it has no route, the next rule.
    Lookup(u32),
    /// Packets are dropped.
    Blackhole,
    /// Packets are dropped, and the sender gets an error: network unreachable.
    Unreachable,
    /// Packets are dropped, and the sender gets an error: communication prohibited.
    Prohibit,
}

/// Packets that a rule is about: those with all of this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// All others instead.
    pub not: bool,
    /// Source.
    pub from: Option<Prefix>,
    /// Destination.
    pub to: Option<Prefix>,
    /// Port by which they have arrived.
    pub iif: Option<u16>,
    /// Type of service; DSCP in the upper six bits.
    pub tos: Option<u8>,
    /// Protocol.
    pub protocol: Option<u8>,
    /// Source ports of TCP, UDP, DCCP and SCTP.
    pub sport: Option<RangeInclusive<u16>>,
    /// Destination ports.
    pub dport: Option<RangeInclusive<u16>>,
}

/// Properties of a packet by which its route is found.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Port of arrival; `None` for the router's own packets.
    pub iif: Option<u16>,
    /// Type of service, or traffic class.
    pub tos: u8,
    /// Protocol after all extension headers.
    pub protocol: u8,
    /// Source and destination port; `None` where there are none, or in a later fragment.
    pub ports: Option<[u16; 2]>,
}

impl Selector {
    /// Whether a packet is meant.
    pub fn selects(&self, key: &Key) -> bool {
        let port = |index: usize, range: &Option<RangeInclusive<u16>>| {
            let own = key.ports.map(|ports| ports[index]);
            range
                .as_ref()
                .is_none_or(|range| own.is_some_and(|port| range.contains(&port)))
        };
        let all = self.from.is_none_or(|from| from.contains(key.source))
            && self.to.is_none_or(|to| to.contains(key.destination))
            && self.iif.is_none_or(|iif| key.iif == Some(iif))
            // The bits of ECN are no part of it.
            && self.tos.is_none_or(|tos| (key.tos ^ tos) & !3 == 0)
            && self.protocol.is_none_or(|protocol| key.protocol == protocol)
            && port(0, &self.sport)
            && port(1, &self.dport);
        all != self.not
    }
}

fn ports(words: &mut Words<'_>, key: &'static str) -> Result<RangeInclusive<u16>, BadRoute> {
    let word = words.want()?;
    let bad = || {
        BadRoute::Value(
            key,
            word.to_string(),
            "a port or two, such as 53 or 1024-2047",
        )
    };
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    let range = first.parse().ok().zip(last.parse().ok());
    let (first, last) = range
        .filter(|(first, last)| first <= last)
        .ok_or_else(bad)?;
    Ok(first..=last)
}

/// Names of protocols, as in `/etc/protocols`.
const PROTOCOLS: [(&str, u8); 8] = [
    ("icmp", protocol::ICMP),
    ("tcp", protocol::TCP),
    ("udp", protocol::UDP),
    ("gre", protocol::GRE),
    ("esp", protocol::ESP),
    ("ah", protocol::AUTHENTICATION),
    ("ipv6-icmp", protocol::ICMPV6),
    ("sctp", protocol::SCTP),
];

fn protocol(words: &mut Words<'_>) -> Result<u8, BadRoute> {
    let word = words.want()?;
    let named = PROTOCOLS.iter().find(|(name, _)| *name == word);
    let number = named.map(|(_, number)| *number).or(word.parse().ok());
    let what = "a protocol such as tcp, udp or 89";
    number.ok_or_else(|| BadRoute::Value("ipproto", word.to_string(), what))
}

fn tos(words: &mut Words<'_>) -> Result<u8, BadRoute> {
    let word = words.want()?;
    let number = match word.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    let what = "a type of service without bits of ECN, such as 0x10";
    let number = number.filter(|tos| tos & 3 == 0);
    number.ok_or_else(|| BadRoute::Value("tos", word.to_string(), what))
}

fn prefix(words: &mut Words<'_>) -> Result<Option<Prefix>, BadRoute> {
    match words.want()? {
        "all" | "any" | "default" => Ok(None),
        text => Ok(Some(text.parse()?)),
    }
}

impl FromStr for Rule {
    type Err = BadRoute;

    fn from_str(text: &str) -> Result<Rule, BadRoute> {
        let mut words = Words::new(text);
        let mut selector = Selector::default();
        let (mut verdict, mut priority, mut vrf, mut six) = (None, None, None, false);
        while let Some(word) = words.next() {
            match word {
                "-6" => six = true,
                "not" => selector.not = true,
                "from" => selector.from = prefix(&mut words)?,
                "to" => selector.to = prefix(&mut words)?,
                "iif" => selector.iif = Some(words.value("iif", "the number of a port")?),
                "tos" | "dsfield" => selector.tos = Some(tos(&mut words)?),
                "ipproto" => selector.protocol = Some(protocol(&mut words)?),
                "sport" => selector.sport = Some(ports(&mut words, "sport")?),
                "dport" => selector.dport = Some(ports(&mut words, "dport")?),
                "priority" | "pref" | "preference" | "order" => {
                    let what = "a number from 1 to 32765";
                    let number: u32 = words.value("priority", what)?;
                    if !(1..MAIN_PRIORITY).contains(&number) {
                        return Err(BadRoute::Value("priority", number.to_string(), what));
                    }
                    priority = Some(number);
                }
                "vrf" => vrf = Some(words.want()?.to_string()),
                "lookup" | "table" => verdict = Some(Verdict::Lookup(table(&mut words, "lookup")?)),
                "blackhole" => verdict = Some(Verdict::Blackhole),
                "unreachable" => verdict = Some(Verdict::Unreachable),
                "prohibit" => verdict = Some(Verdict::Prohibit),
                other => return Err(BadRoute::Rule(other.to_string())),
            }
        }
        let versions = [selector.from, selector.to];
        let mut versions = versions
            .into_iter()
            .flatten()
            .map(|one| one.address().is_ipv4());
        let is_v4 = versions.next().unwrap_or(!six);
        if versions.any(|other| other != is_v4) || (six && is_v4) {
            let reason = "a rule is about IPv4 or about IPv6, not both";
            return Err(BadRoute::Contradiction(reason));
        }
        let missing =
            "the rule does nothing: add `lookup TABLE`, `blackhole`, `unreachable` or `prohibit`";
        Ok(Rule {
            selector,
            verdict: verdict.ok_or(BadRoute::Contradiction(missing))?,
            priority,
            is_v4,
            vrf,
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Selector {
            not,
            from,
            to,
            iif,
            tos,
            protocol,
            sport,
            dport,
        } = &self.selector;
        if !self.is_v4 && from.is_none() && to.is_none() {
            f.write_str("-6 ")?;
        }
        f.write_str(if *not { "not from " } else { "from " })?;
        match from {
            Some(from) => write!(f, "{from:#}")?,
            None => f.write_str("all")?,
        }
        if let Some(to) = to {
            write!(f, " to {to:#}")?;
        }
        if let Some(tos) = tos {
            write!(f, " tos {tos:#04x}")?;
        }
        if let Some(iif) = iif {
            write!(f, " iif {iif}")?;
        }
        if let Some(number) = protocol {
            match PROTOCOLS.iter().find(|(_, known)| known == number) {
                Some((name, _)) => write!(f, " ipproto {name}")?,
                None => write!(f, " ipproto {number}")?,
            }
        }
        for (name, range) in [("sport", sport), ("dport", dport)] {
            match range {
                Some(range) if range.start() == range.end() => {
                    write!(f, " {name} {}", range.start())?;
                }
                Some(range) => write!(f, " {name} {}-{}", range.start(), range.end())?,
                None => {}
            }
        }
        if let Some(priority) = self.priority {
            write!(f, " priority {priority}")?;
        }
        if let Some(vrf) = &self.vrf {
            write!(f, " vrf {vrf}")?;
        }
        match self.verdict {
            Verdict::Lookup(table) if table == crate::route::MAIN => f.write_str(" lookup main"),
            Verdict::Lookup(table) => write!(f, " lookup {table}"),
            Verdict::Blackhole => f.write_str(" blackhole"),
            Verdict::Unreachable => f.write_str(" unreachable"),
            Verdict::Prohibit => f.write_str(" prohibit"),
        }
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(Rule: "a rule in the words of `ip rule add`, such as \"from 10.1.0.0/16 lookup 100\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_shown_as_they_are_written() {
        for text in [
            "from 10.1.0.0/16 lookup 100",
            "from all to 10.1.0.0/16 tos 0x10 iif 2 ipproto tcp sport 53 dport 1024-2047 priority 7 vrf red prohibit",
            "not from 10.0.0.1 ipproto 89 blackhole",
            "from ::/0 to fd00::/8 lookup 5",
            "-6 from all unreachable",
            "from fd00::/16 lookup main",
        ] {
            let rule: Rule = text.parse().expect(text);
            assert_eq!(rule.to_string(), text);
        }
    }

    #[test]
    fn a_text_that_is_no_rule_says_why() {
        for (text, reason) in [
            ("", "the rule does nothing"),
            ("from 10.0.0.0/8", "the rule does nothing"),
            ("from", "nothing follows `from`"),
            ("from 10.0.0.1/8 lookup 1", "`10.0.0.1/8` has bits"),
            (
                "from 10.0.0.0/8 to fd00::/8 lookup 1",
                "a rule is about IPv4",
            ),
            ("-6 from 10.0.0.0/8 lookup 1", "a rule is about IPv4"),
            ("dport 5-4 lookup 1", "`dport 5-4`"),
            ("tos 3 lookup 1", "`tos 3`"),
            ("priority 0 lookup 1", "`priority 0`"),
            ("ipproto nothing lookup 1", "`ipproto nothing`"),
            ("fwmark 1 lookup 1", "`fwmark` is not understood"),
            ("lookup 0", "`lookup 0`"),
        ] {
            let error = text.parse::<Rule>().expect_err(text).to_string();
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }
}
