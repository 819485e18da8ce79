//! Routes in the words of iproute2's `ip route add`.
//!
//! `[TYPE] PREFIX [encap mpls LABELS [ttl N]] [via ADDRESS] [dev PORT] [metric N] [table N] [vrf NAME] [onlink] [nexthop ...]...`, where
//! `nexthop` has `encap`, `via`, `dev`, `onlink` and `weight N`
//!
//! A type is one of `unicast` (the default), `blackhole`, `unreachable`, `prohibit` and `throw`. A port is its number in the
//! router. `default` is the prefix of all addresses, of the version of its next hop; `-6` before the rest says so where there is
//! none.

use crate::mpls::Labels;
use crate::prefix::{BadPrefix, Prefix};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;
use core::num::NonZeroU8;
use core::str::{FromStr, SplitWhitespace};

/// The table of routes that name no other, as in Linux.
pub const MAIN: u32 = 254;
/// Maximum weight of a next hop, as in iproute2.
pub const MAX_WEIGHT: u16 = 256;

/// A route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The destinations.
    pub to: Prefix,
    /// Effect on their packets.
    pub action: Action,
    /// Of several routes of one prefix in one table the one with the lowest metric counts. Default 0; of IPv6 1024, as in
    /// Linux.
    pub metric: u32,
    /// Its table. Default [`MAIN`].
    pub table: u32,
    /// Its VRF; `None`: that of the router's ports without one.
    pub vrf: Option<String>,
}

/// Effect of a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Packets go to one of these hops; at least one.
    Forward(Vec<Hop>),
    /// Packets are dropped.
    Blackhole,
    /// Packets are dropped, and the sender gets an error: host unreachable.
    Unreachable,
    /// Packets are dropped, and the sender gets an error: communication prohibited.
    Prohibit,
    /// The next rule decides.
    Throw,
}

/// A next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// The address of the next router; `None`: the destinations are on the link.
    pub via: Option<IpAddr>,
    /// The port; `None`: the one whose network `via` is in.
    pub port: Option<u16>,
    /// Share of the flows, 1 to [`MAX_WEIGHT`].
    pub weight: u16,
    /// Whether `via` need not be in a network of the port.
    pub onlink: bool,
    /// MPLS labels that its packets get.
    pub labels: Labels,
}

/// Text that is no route, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRoute {
    /// No prefix at its place, or a wrong one.
    #[error(transparent)]
    Prefix(#[from] BadPrefix),
    /// The text ends too early.
    #[error("nothing follows `{0}`; write for example `192.0.2.0/24 via 10.0.0.1`")]
    End(String),
    /// A word that is not understood.
    #[error(
        "`{0}` is not understood here; a route is [TYPE] PREFIX [encap mpls LABELS] [via ADDRESS] [dev PORT] [metric N] [table N] [vrf NAME] [onlink] [nexthop ...]"
    )]
    Word(String),
    /// A word of a rule that is not understood.
    #[error(
        "`{0}` is not understood here; a rule is [not] [from PREFIX] [to PREFIX] [iif PORT] [tos N] [ipproto P] [sport N] [dport N] [priority N] lookup TABLE"
    )]
    Rule(String),
    /// A word of a label's route that is not understood.
    #[error(
        "`{0}` is not understood here; a route of a label is LABEL [as LABELS] via [inet|inet6] ADDRESS [dev PORT], or LABEL dev lo [vrf NAME]"
    )]
    Label(String),
    /// A value out of its range.
    #[error("`{0} {1}`: not {2}")]
    Value(&'static str, String, &'static str),
    /// A route without a next hop.
    #[error(
        "the route has no next hop: add `via ADDRESS`, or `dev PORT` for a network on the link"
    )]
    NoHop,
    /// Next hops where there can be none, or both forms of them.
    #[error("{0}")]
    Contradiction(&'static str),
}

/// Words of a text, one after the other.
pub(crate) struct Words<'a> {
    words: SplitWhitespace<'a>,
    last: &'a str,
}

impl<'a> Words<'a> {
    pub(crate) fn new(text: &'a str) -> Words<'a> {
        Words {
            words: text.split_whitespace(),
            last: "",
        }
    }

    pub(crate) fn next(&mut self) -> Option<&'a str> {
        let word = self.words.next()?;
        self.last = word;
        Some(word)
    }

    pub(crate) fn want(&mut self) -> Result<&'a str, BadRoute> {
        let last = self.last;
        self.next().ok_or_else(|| BadRoute::End(last.to_string()))
    }

    pub(crate) fn value<T: FromStr>(
        &mut self,
        key: &'static str,
        what: &'static str,
    ) -> Result<T, BadRoute> {
        let word = self.want()?;
        word.parse()
            .map_err(|_| BadRoute::Value(key, word.to_string(), what))
    }
}

/// A number of a table, or one of its two usual names.
pub(crate) fn table(words: &mut Words<'_>, key: &'static str) -> Result<u32, BadRoute> {
    match words.want()? {
        "main" => Ok(MAIN),
        "default" => Ok(MAIN - 1),
        word => match word.parse() {
            // Linux keeps 255 for local addresses, and 0 for none.
            Ok(number) if number != 0 && number != 255 => Ok(number),
            _ => Err(BadRoute::Value(
                key,
                word.to_string(),
                "a table: 1 to 4294967295 except 255, or main",
            )),
        },
    }
}

impl FromStr for Route {
    type Err = BadRoute;

    fn from_str(text: &str) -> Result<Route, BadRoute> {
        let mut words = Words::new(text);
        let mut word = words.want()?;
        let v6 = word == "-6";
        if v6 {
            word = words.want()?;
        }
        let mut action = match word {
            "blackhole" => Action::Blackhole,
            "unreachable" => Action::Unreachable,
            "prohibit" => Action::Prohibit,
            "throw" => Action::Throw,
            _ => Action::Forward(Vec::new()),
        };
        if word == "unicast" || !matches!(action, Action::Forward(_)) {
            word = words.want()?;
        }
        // The version of `default` shows with the first next hop.
        let mut to = match word {
            "default" => None,
            text => Some(text.parse::<Prefix>()?),
        };
        let (mut metric, mut number, mut vrf) = (None, MAIN, None);
        let mut single = Hop::default();
        let mut hops: Vec<Hop> = Vec::new();
        while let Some(word) = words.next() {
            let hop = hops.last_mut().unwrap_or(&mut single);
            match word {
                "via" => hop.via = Some(words.value("via", "an address")?),
                "dev" => hop.port = Some(words.value("dev", "the number of a port")?),
                "onlink" => hop.onlink = true,
                "encap" => hop.labels = encapsulation(&mut words)?,
                "ttl" if !hop.labels.is_empty() => {
                    let ttl: NonZeroU8 = words.value("ttl", TTL)?;
                    hop.labels.ttl = Some(ttl.get());
                }
                "weight" if !hops.is_empty() => {
                    let weight = words.value("weight", "a number from 1 to 256")?;
                    if !(1..=MAX_WEIGHT).contains(&weight) {
                        let text = weight.to_string();
                        return Err(BadRoute::Value("weight", text, "a number from 1 to 256"));
                    }
                    hops.last_mut().unwrap_or(&mut single).weight = weight;
                }
                "nexthop" => hops.push(Hop::default()),
                "metric" => metric = Some(words.value("metric", "a number")?),
                "table" => number = table(&mut words, "table")?,
                "vrf" => vrf = Some(words.want()?.to_string()),
                other => return Err(BadRoute::Word(other.to_string())),
            }
        }
        if single != Hop::default() {
            if !hops.is_empty() {
                let reason =
                    "a route has one next hop (`via`), or several (`nexthop via`), not both";
                return Err(BadRoute::Contradiction(reason));
            }
            hops.push(single);
        }
        // A weight among one hop means nothing.
        if let [hop] = &mut hops[..] {
            hop.weight = 1;
        }
        let via = hops.iter().find_map(|hop| hop.via);
        let to = *to.get_or_insert_with(|| Prefix::all(!v6 && via.is_none_or(|via| via.is_ipv4())));
        if hops
            .iter()
            .any(|hop| hop.via.is_none() && hop.port.is_none())
        {
            return Err(BadRoute::NoHop);
        }
        let is_v4 = to.address().is_ipv4();
        if hops
            .iter()
            .filter_map(|hop| hop.via)
            .any(|via| via.is_ipv4() && !is_v4)
        {
            let reason = "the next hop of an IPv6 route is an IPv6 address";
            return Err(BadRoute::Contradiction(reason));
        }
        match &mut action {
            Action::Forward(own) if !hops.is_empty() => *own = hops,
            Action::Forward(_) => return Err(BadRoute::NoHop),
            _ if hops.is_empty() => {}
            _ => {
                let reason = "a route that drops packets has no next hop";
                return Err(BadRoute::Contradiction(reason));
            }
        }
        Ok(Route {
            to,
            action,
            metric: metric.unwrap_or(if is_v4 { 0 } else { 1024 }),
            table: number,
            vrf,
        })
    }
}

/// Range of the TTL of a label.
const TTL: &str = "a number from 1 to 255";

/// Labels after `encap`.
fn encapsulation(words: &mut Words<'_>) -> Result<Labels, BadRoute> {
    match words.want()? {
        "mpls" => words.value("mpls", crate::mpls::LABELS),
        other => Err(BadRoute::Value("encap", other.to_string(), "mpls")),
    }
}

impl Default for Hop {
    fn default() -> Hop {
        Hop {
            via: None,
            port: None,
            weight: 1,
            onlink: false,
            labels: Labels::default(),
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.action {
            Action::Forward(_) => "",
            Action::Blackhole => "blackhole ",
            Action::Unreachable => "unreachable ",
            Action::Prohibit => "prohibit ",
            Action::Throw => "throw ",
        };
        let all = Prefix::all(false);
        let hops = match &self.action {
            Action::Forward(hops) => &hops[..],
            _ => &[],
        };
        // A default route of IPv6 is known by its next hop, if it has one.
        let six = self.to == all && !hops.iter().any(|hop| hop.via.is_some());
        let via = hops.iter().find_map(|hop| hop.via);
        match self.to == Prefix::all(true) && via.is_some_and(|via| via.is_ipv6()) {
            true => write!(f, "{kind}{:#}", self.to)?,
            false => write!(f, "{}{kind}{}", if six { "-6 " } else { "" }, self.to)?,
        }
        match hops {
            [hop] => write!(f, "{hop}")?,
            hops => {
                for hop in hops {
                    write!(f, " nexthop{hop} weight {}", hop.weight)?;
                }
            }
        }
        if self.metric != if self.to.address().is_ipv4() { 0 } else { 1024 } {
            write!(f, " metric {}", self.metric)?;
        }
        if self.table != MAIN {
            write!(f, " table {}", self.table)?;
        }
        match &self.vrf {
            Some(vrf) => write!(f, " vrf {vrf}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.labels.is_empty() {
            write!(f, " encap mpls {}", self.labels)?;
            if let Some(ttl) = self.labels.ttl {
                write!(f, " ttl {ttl}")?;
            }
        }
        if let Some(via) = self.via {
            write!(f, " via {via}")?;
        }
        if let Some(port) = self.port {
            write!(f, " dev {port}")?;
        }
        if self.onlink {
            f.write_str(" onlink")?;
        }
        Ok(())
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(Route: "a route in the words of `ip route add`, such as \"192.0.2.0/24 via 10.0.0.1\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_shown_as_they_are_written() {
        for text in [
            "192.0.2.0/24 via 10.0.0.1",
            "default via 10.0.0.1",
            "default via fd00::1",
            "-6 default dev 3",
            "0.0.0.0/0 via fd00::1 dev 2",
            "-6 blackhole default",
            "192.0.2.0/24 via fd00::1 dev 1 onlink metric 20 table 100 vrf red",
            "192.0.2.1 dev 2",
            "blackhole 10.0.0.0/8 metric 5",
            "throw fd00::/16 table 7",
            "192.0.2.0/24 encap mpls 100/1048575 ttl 7 via 10.0.0.1",
            "10.0.0.0/8 nexthop encap mpls 16 via 10.1.0.1 weight 1 nexthop dev 3 weight 4",
            "10.0.0.0/8 nexthop via 10.1.0.1 weight 1 nexthop via 10.2.0.1 dev 1 weight 256",
        ] {
            let route: Route = text.parse().expect(text);
            assert_eq!(route.to_string(), text);
        }
        let route: Route = "unicast 10.0.0.0/8 via 10.1.0.1 table main"
            .parse()
            .unwrap();
        assert_eq!(route.to_string(), "10.0.0.0/8 via 10.1.0.1");
        let route: Route = "10.0.0.0/8 nexthop via 10.1.0.1 weight 256"
            .parse()
            .unwrap();
        assert_eq!(route.to_string(), "10.0.0.0/8 via 10.1.0.1");
        assert_eq!(route.to_string().parse(), Ok(route));
    }

    #[test]
    fn a_text_that_is_no_route_says_why() {
        for (text, reason) in [
            ("", "nothing follows ``"),
            ("10.0.0.0/8", "the route has no next hop"),
            ("default", "the route has no next hop"),
            ("10.0.0.0/8 via", "nothing follows `via`"),
            ("10.0.0.0/8 via x", "`via x`: not an address"),
            (
                "10.0.0.1/8 via 10.0.0.1",
                "`10.0.0.1/8` has bits after its prefix",
            ),
            ("10.0.0.0/8 gateway 10.0.0.1", "`gateway` is not understood"),
            (
                "10.0.0.0/8 via 10.0.0.1 weight 2",
                "`weight` is not understood",
            ),
            ("10.0.0.0/8 nexthop via 10.0.0.1 weight 0", "`weight 0`"),
            ("10.0.0.0/8 via 10.0.0.1 table 255", "`table 255`"),
            (
                "blackhole 10.0.0.0/8 via 10.0.0.1",
                "a route that drops packets",
            ),
            (
                "10.0.0.0/8 dev 1 nexthop via 10.0.0.1",
                "a route has one next hop",
            ),
            ("fd00::/8 via 10.0.0.1", "the next hop of an IPv6 route"),
            ("10.0.0.0/8 encap ip via 10.0.0.1", "`encap ip`: not mpls"),
            (
                "10.0.0.0/8 encap mpls 15 via 10.0.0.1",
                "`mpls 15`: not labels",
            ),
            (
                "10.0.0.0/8 encap mpls 16/17/18/19/20 via 10.0.0.1",
                "`mpls 16/17/18/19/20`: not labels",
            ),
            ("10.0.0.0/8 via 10.0.0.1 ttl 3", "`ttl` is not understood"),
        ] {
            let error = text.parse::<Route>().expect_err(text).to_string();
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }
}
