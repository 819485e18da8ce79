//! Routes of MPLS labels in the words of `ip -f mpls route add`.
//!
//! `LABEL [as LABELS] via [inet|inet6] ADDRESS [dev PORT]`, with several next hops `LABEL nexthop [as LABELS] via ... nexthop ...`. Without
//! `as` the label is popped. `LABEL dev lo [vrf NAME]` pops it, and the packet below is looked up in the router's tables.

use crate::mpls::{FIRST_LABEL, LABELS, LAST_LABEL};
use crate::route::{BadRoute, Hop, Words};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

/// A route of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRoute {
    /// The label of arriving packets, 0 to 1048575 without those from 1 to 15 that have meanings of their own.
    pub label: u32,
    /// Effect on its packets.
    pub action: LabelAction,
}

/// Effect of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelAction {
    /// It is replaced by the labels of one of these hops, and its packet sent there.
    Forward(Vec<Hop>),
    /// It is popped. The packet, if no label is left, is looked up in the tables of this VRF; `None`: those of the ports without one.
    Local(Option<String>),
}

impl FromStr for LabelRoute {
    type Err = BadRoute;

    fn from_str(text: &str) -> Result<LabelRoute, BadRoute> {
        let mut words = Words::new(text);
        const LABEL: &str = "a label from 16 to 1048575";
        let label = words.value("label", LABEL)?;
        if !(FIRST_LABEL..=LAST_LABEL).contains(&label) {
            return Err(BadRoute::Value("label", label.to_string(), LABEL));
        }
        let (mut hops, mut local, mut vrf) = (Vec::new(), false, None);
        let mut single = Hop::default();
        while let Some(word) = words.next() {
            let hop: &mut Hop = hops.last_mut().unwrap_or(&mut single);
            match word {
                "as" => hop.labels = words.value("as", LABELS)?,
                "via" => {
                    let mut word = words.want()?;
                    if matches!(word, "inet" | "inet6") {
                        word = words.want()?;
                    }
                    let via: Option<IpAddr> = word.parse().ok();
                    let bad = || BadRoute::Value("via", word.to_string(), "an address");
                    hop.via = Some(via.ok_or_else(bad)?);
                }
                "dev" => match words.want()? {
                    "lo" => local = true,
                    word => {
                        let port = word.parse().ok();
                        let bad = || {
                            let text = word.to_string();
                            BadRoute::Value("dev", text, "the number of a port, or lo")
                        };
                        hop.port = Some(port.ok_or_else(bad)?);
                    }
                },
                "vrf" => vrf = Some(words.want()?.to_string()),
                "nexthop" => hops.push(Hop::default()),
                other => return Err(BadRoute::Label(other.to_string())),
            }
        }
        if single != Hop::default() {
            if !hops.is_empty() {
                let reason = "a label has one next hop (`via`), or several (`nexthop`), not both";
                return Err(BadRoute::Contradiction(reason));
            }
            hops.push(single);
        }
        let action = match (local, hops.is_empty()) {
            (true, true) => LabelAction::Local(vrf),
            (false, false) if vrf.is_some() => {
                let reason = "`vrf` needs `dev lo`: a label with a next hop is in no VRF";
                return Err(BadRoute::Contradiction(reason));
            }
            (false, false) if hops.iter().all(|hop| hop.via.is_some()) => {
                LabelAction::Forward(hops)
            }
            (true, false) => {
                let reason = "`dev lo` pops the label: it has no other next hop";
                return Err(BadRoute::Contradiction(reason));
            }
            _ => {
                let reason =
                    "the label has no next hop: add `via inet ADDRESS`, or `dev lo` to pop it";
                return Err(BadRoute::Contradiction(reason));
            }
        };
        Ok(LabelRoute { label, action })
    }
}

impl fmt::Display for LabelRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.label)?;
        let hops = match &self.action {
            LabelAction::Local(None) => return f.write_str(" dev lo"),
            LabelAction::Local(Some(vrf)) => return write!(f, " dev lo vrf {vrf}"),
            LabelAction::Forward(hops) => hops,
        };
        for hop in hops {
            if hops.len() > 1 {
                f.write_str(" nexthop")?;
            }
            if !hop.labels.is_empty() {
                write!(f, " as {}", hop.labels)?;
            }
            if let Some(via) = hop.via {
                let family = if via.is_ipv4() { "inet" } else { "inet6" };
                write!(f, " via {family} {via}")?;
            }
            if let Some(port) = hop.port {
                write!(f, " dev {port}")?;
            }
        }
        Ok(())
    }
}

#[cfg(feature = "serde")]
node::deserialize_from_str!(LabelRoute: "a route of a label in the words of `ip -f mpls route add`, such as \"100 as 200 via inet 10.0.0.1\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_of_labels_are_shown_as_they_are_written() {
        for text in [
            "100 as 200/300 via inet 10.0.1.2",
            "16 via inet6 fd00::1 dev 2",
            "1048575 dev lo",
            "17 dev lo vrf red",
            "100 nexthop as 200 via inet 10.0.1.2 nexthop via inet 10.0.2.2",
        ] {
            let route: LabelRoute = text.parse().expect(text);
            assert_eq!(route.to_string(), text);
        }
    }

    #[test]
    fn a_text_that_is_no_route_of_a_label_says_why() {
        for (text, reason) in [
            ("", "nothing follows ``"),
            ("x", "`label x`: not a label"),
            ("15 dev lo", "`label 15`: not a label"),
            ("1048576 dev lo", "`label 1048576`: not a label"),
            ("100", "the label has no next hop"),
            ("100 dev 3", "the label has no next hop"),
            ("100 as 3 via inet 10.0.0.1", "`as 3`: not labels"),
            ("100 via inet", "nothing follows `inet`"),
            ("100 via inet x", "`via x`: not an address"),
            ("100 dev lo via inet 10.0.0.1", "`dev lo` pops"),
            ("100 via inet 10.0.0.1 vrf red", "`vrf` needs"),
            ("100 swap 200", "`swap` is not understood"),
        ] {
            let error = text.parse::<LabelRoute>().expect_err(text).to_string();
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }
}
