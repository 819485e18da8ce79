//! Packets from header words: `eth(dst=02:00:00:00:00:02)/ip(dst=10.0.0.2,ttl=3)/tcp(dport=80,flags=S)/"payload"`.
//!
//! Layers stand from the outermost to the innermost with `/` between them; what is not stated has a default, and lengths,
//! checksums and the types of what follows are filled in. A value may be a range (`dport=1-1024`, `dst=10.0.0.1-10.0.0.9`), a
//! prefix (`dst=10.0.0.0/30`) or a list of these (`ttl=[1,2,64]`): the template then gives every combination, the last one in the
//! text varying fastest.
//!
//! ```
//! use packet::craft::{Defaults, Template};
//!
//! let template = Template::parse("ip(dst=10.0.0.1-10.0.0.2)/udp(dport=[53,123])/\"hi\"")?;
//! assert_eq!(template.count(), 4);
//! let mut frame = Vec::new();
//! template.build(3, &Defaults::default(), &mut frame)?;
//! let told = packet::describe::Description(&frame).to_string();
//! assert_eq!(told, "10.0.0.1:49152 > 10.0.0.2:123 UDP, 2 bytes");
//! # Ok::<(), packet::craft::CraftError>(())
//! ```

mod build;
mod layer;
mod parse;
mod value;

use crate::ethernet::Mac;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::Range;
use layer::Kind;
use value::{Choices, Value};

/// What is wrong with a template, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CraftError {
    /// The bytes of the text that are meant.
    pub at: Range<usize>,
    /// What is wrong, and the mend.
    pub message: String,
}

/// What packets have where the template states nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// The sender's MAC address.
    pub source: Mac,
    /// The receiver's MAC address, where the packet is for one.
    pub destination: Mac,
    /// The sender's IPv4 address.
    pub ipv4: Ipv4Addr,
    /// The sender's IPv6 address.
    pub ipv6: Ipv6Addr,
}

impl Default for Defaults {
    /// 02:00:00:00:00:01 to 02:00:00:00:00:02, from 10.0.0.1 and fd00::1.
    fn default() -> Defaults {
        Defaults {
            source: Mac([2, 0, 0, 0, 0, 1]),
            destination: Mac([2, 0, 0, 0, 0, 2]),
            ipv4: Ipv4Addr::new(10, 0, 0, 1),
            ipv6: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1),
        }
    }
}

/// A template for packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    layers: Vec<Layer>,
    length: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Layer {
    kind: Kind,
    at: Range<usize>,
    fields: Vec<Stated>,
    /// The payload that it is, if it is one.
    bytes: Vec<u8>,
}

/// A field that the template states.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stated {
    name: &'static str,
    choices: Choices,
    at: Range<usize>,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// The first place that is wrong, with the mend.
    pub fn parse(text: &str) -> Result<Template, CraftError> {
        parse::template(text)
    }

    /// How many packets it gives; as many as a number holds where there are more.
    pub fn count(&self) -> u128 {
        let fields = self.layers.iter().flat_map(|layer| &layer.fields);
        fields.fold(1, |product: u128, field| {
            product.saturating_mul(field.choices.count())
        })
    }

    /// Builds the packet of this number into `frame`, whose former content is lost. Behind the last they begin again.
    ///
    /// # Errors
    /// When it is longer than its headers can say, or than a frame can be.
    pub fn build(
        &self,
        number: u128,
        defaults: &Defaults,
        frame: &mut Vec<u8>,
    ) -> Result<(), CraftError> {
        build::build(self, number, defaults, frame)
    }

    /// The first destination of IP that is stated, and whether the frame's own destination is.
    pub fn destination(&self) -> (Option<core::net::IpAddr>, bool) {
        let eth = self.layers.iter().find(|layer| layer.kind == Kind::Eth);
        let stated = eth.is_some_and(|layer| layer.fields.iter().any(|field| field.name == "dst"));
        let ip = self
            .layers
            .iter()
            .find(|layer| matches!(layer.kind, Kind::Ip | Kind::Ipv6));
        let field = ip.and_then(|layer| layer.fields.iter().find(|field| field.name == "dst"));
        let address = field.and_then(|field| match field.choices.get(0) {
            Value::Ipv4(address) => Some(address.into()),
            Value::Ipv6(address) => Some(address.into()),
            _ => None,
        });
        (address, stated)
    }
}

#[cfg(test)]
mod tests;
