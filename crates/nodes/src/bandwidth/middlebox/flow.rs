//! The flow table: which packets are probes, by their five-tuple (paper 002 section 4.4.3).

use alloc::string::{String, ToString};
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;
use packet::flow::{FiveTuple, five_tuple};

/// Maximum number of flows.
const MAX_FLOWS: usize = 1024;

/// A flow: what is `None` may be anything.
///
/// As a text: source and destination, then protocol and both ports as far as they are wanted, `*` for any: `10.0.0.1 10.0.0.2 tcp * 80`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Source address.
    pub source: Option<IpAddr>,
    /// Destination address.
    pub destination: Option<IpAddr>,
    /// The IP protocol number.
    pub protocol: Option<u8>,
    /// Source port.
    pub source_port: Option<u16>,
    /// Destination port.
    pub destination_port: Option<u16>,
}

impl Flow {
    /// Whether a packet is of the flow.
    pub fn matches(&self, tuple: &FiveTuple) -> bool {
        fn is<T: PartialEq>(wanted: Option<T>, found: T) -> bool {
            wanted.is_none_or(|wanted| wanted == found)
        }
        is(self.source, tuple.source)
            && is(self.destination, tuple.destination)
            && is(self.protocol, tuple.protocol)
            && is(self.source_port, tuple.source_port)
            && is(self.destination_port, tuple.destination_port)
    }
}

/// What is wrong with the text of a flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no flow: SOURCE DESTINATION [PROTOCOL [SOURCE-PORT [DESTINATION-PORT]]], with * for any, such as 10.0.0.1 10.0.0.2 tcp * 80"
)]
pub struct FlowError(String);

impl FromStr for Flow {
    type Err = FlowError;

    /// Blanks or commas part the words.
    fn from_str(text: &str) -> Result<Flow, FlowError> {
        let wrong = || FlowError(text.trim().into());
        let mut words = text
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter(|word| !word.is_empty());
        fn read<T: FromStr>(word: Option<&str>) -> Result<Option<T>, T::Err> {
            word.filter(|word| *word != "*").map(str::parse).transpose()
        }
        let source = words.next().ok_or_else(wrong)?;
        let destination = words.next().ok_or_else(wrong)?;
        let protocol = match words.next() {
            Some("icmp") => Some(1),
            Some("tcp") => Some(6),
            Some("udp") => Some(17),
            word => read(word).map_err(|_| wrong())?,
        };
        let flow = Flow {
            source: read(Some(source)).map_err(|_| wrong())?,
            destination: read(Some(destination)).map_err(|_| wrong())?,
            protocol,
            source_port: read(words.next()).map_err(|_| wrong())?,
            destination_port: read(words.next()).map_err(|_| wrong())?,
        };
        match words.next() {
            None => Ok(flow),
            Some(_) => Err(wrong()),
        }
    }
}

impl fmt::Display for Flow {
    /// As it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn text<T: ToString>(value: Option<T>) -> String {
            value.map_or_else(|| "*".into(), |value| value.to_string())
        }
        let protocol = match self.protocol {
            Some(6) => "tcp".into(),
            Some(17) => "udp".into(),
            other => text(other),
        };
        let (from, to) = (text(self.source), text(self.destination));
        let ports = (text(self.source_port), text(self.destination_port));
        write!(f, "{from} {to} {protocol} {} {}", ports.0, ports.1)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Flow {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Flow, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(input)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The flows whose packets are probes.
#[derive(Clone, Debug, Default)]
pub struct FlowTable(alloc::vec::Vec<Flow>);

impl FlowTable {
    /// Adds a flow; false if there is no room. One that is there stays once.
    pub fn add(&mut self, flow: Flow) -> bool {
        if self.0.contains(&flow) {
            return true;
        }
        let room = self.0.len() < MAX_FLOWS;
        self.0.extend(room.then_some(flow));
        room
    }

    /// Removes a flow; false if it is not there.
    pub fn remove(&mut self, flow: &Flow) -> bool {
        let before = self.0.len();
        self.0.retain(|known| known != flow);
        self.0.len() < before
    }

    /// Whether a frame is of one of them.
    pub fn matches(&self, frame: &[u8]) -> bool {
        // Without flows nothing is read.
        !self.0.is_empty()
            && five_tuple(frame).is_some_and(|tuple| self.0.iter().any(|flow| flow.matches(&tuple)))
    }

    /// All flows.
    pub fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(text: &str) -> FiveTuple {
        let flow: Flow = text.parse().unwrap();
        FiveTuple {
            source: flow.source.unwrap(),
            destination: flow.destination.unwrap(),
            protocol: flow.protocol.unwrap(),
            source_port: flow.source_port.unwrap(),
            destination_port: flow.destination_port.unwrap(),
        }
    }

    #[test]
    fn a_flow_matches_what_it_names_and_anything_where_it_does_not() {
        let packet = tuple("10.0.0.1 10.0.0.2 tcp 4000 80");
        for (text, matches) in [
            ("10.0.0.1 10.0.0.2", true),
            ("10.0.0.1,10.0.0.2,6", true),
            ("* * tcp * 80", true),
            ("* *", true),
            ("* * udp", false),
            ("10.0.0.2 10.0.0.1", false),
            ("* * * * 4000", false),
        ] {
            let flow: Flow = text.parse().unwrap();
            assert_eq!(flow.matches(&packet), matches, "{text}");
            assert_eq!(flow.to_string().parse(), Ok(flow));
        }
        for text in [
            "",
            "10.0.0.1",
            "a b",
            "* * tcp x",
            "* * tcp 1 2 3",
            "* * 256",
        ] {
            assert!(text.parse::<Flow>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_table_has_each_flow_once_and_no_more_than_it_has_room_for() {
        let mut table = FlowTable::default();
        let flow: Flow = "::1 ::2".parse().unwrap();
        assert!(table.add(flow) && table.add(flow));
        assert_eq!(table.iter().count(), 1);
        assert!(table.remove(&flow) && !table.remove(&flow));
        for port in 0..=MAX_FLOWS as u16 {
            let flow = Flow {
                source_port: Some(port),
                ..Flow::default()
            };
            assert_eq!(table.add(flow), usize::from(port) < MAX_FLOWS);
        }
    }
}
