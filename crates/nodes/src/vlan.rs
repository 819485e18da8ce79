//! Puts VLAN tags on, takes them off, or gives them other numbers (IEEE 802.1Q, 802.1ad).
//!
//! - **Ports:** 2. `tag`: untagged frames at port 0, tagged ones at port 1. `translate`: the numbers of
//!   the left side at port 0, those of the right side at port 1.
//! - **Parameters:** `vlan`, 1: the number of the tag. `priority`: its priority, 0 to 7; left out, that
//!   of the tag below it, or 0. `service`, false: whether the tag is 802.1ad's (type 88A8), the outer
//!   one of QinQ. `stack`, false: whether a frame may get a tag of the type that it has already.
//!   `translate`, none: pairs of numbers, `[[10, 110]]`; given, there is no tagging, and `vlan` and
//!   `stack` mean nothing. `others`, `drop`: whether frames of other VLANs, and untagged ones, `drop`
//!   or `pass` as they are.
//! - **Counters:** `packets`, `tagged`, `untagged`, `translated`, `passed`.
//! - **Drops:** `shorter than an Ethernet header`, `already tagged`, `too long for a tag`, `no tag`,
//!   `other vlan`.
//!
//! To untag, turn the node round: link its port 1 to where tagged frames come from. A translated tag
//! keeps its priority unless `priority` is given, and always keeps its drop eligible bit.

use crate::wire;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use node::ConfigError;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};

/// Bytes of the MAC addresses, and of a tag.
const ADDRESSES: usize = 12;
const TAG: usize = 4;
/// The bits of a tag's second half: priority, drop eligible, VLAN.
const PRIORITY: u16 = 0xE000;
const DROP_ELIGIBLE: u16 = 0x1000;
const VLAN: u16 = 0x0FFF;

/// What becomes of frames that are not meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Others {
    /// They are dropped.
    #[default]
    Drop,
    /// They pass as they are.
    Pass,
}

/// What a VLAN node is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Config {
    /// The number of the tag, 1 to 4094.
    pub vlan: u16,
    /// The tag's priority, 0 to 7; `None`: that of the tag below, or 0.
    pub priority: Option<u8>,
    /// Whether the tag is a service tag (88A8) rather than a customer tag (8100).
    pub service: bool,
    /// Whether a frame may get a tag of the type that it has already.
    pub stack: bool,
    /// Pairs of numbers, 1 to 4094: at port 0 and at port 1. No number twice on one side.
    pub translate: Vec<(u16, u16)>,
    /// What becomes of frames that are not meant.
    pub others: Others,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            vlan: 1,
            priority: None,
            service: false,
            stack: false,
            translate: Vec::new(),
            others: Others::default(),
        }
    }
}

#[derive(Debug)]
enum Work {
    Tag {
        vlan: u16,
        stack: bool,
    },
    /// By the number at arrival, for frames from port 0 and from port 1.
    Translate([BTreeMap<u16, u16>; 2]),
}

#[derive(Debug)]
pub struct Vlan {
    work: Work,
    tpid: u16,
    priority: Option<u16>,
    others: Others,
    packets: u64,
    tagged: u64,
    untagged: u64,
    translated: u64,
    passed: u64,
}

impl Vlan {
    /// A node that tags, or translates.
    ///
    /// # Errors
    /// For a number that is no VLAN or no priority, or that is translated twice.
    pub fn new(config: Config) -> Result<Vlan, ConfigError> {
        let is_vlan = |vlan: u16| (1..=4094).contains(&vlan);
        if config.priority.is_some_and(|priority| priority > 7) {
            return Err(ConfigError::new("priority", "a priority is 0 to 7"));
        }
        let work = if config.translate.is_empty() {
            if !is_vlan(config.vlan) {
                return Err(ConfigError::new("vlan", "a VLAN is 1 to 4094"));
            }
            Work::Tag {
                vlan: config.vlan,
                stack: config.stack,
            }
        } else {
            let mut ways = [BTreeMap::new(), BTreeMap::new()];
            for (left, right) in config.translate {
                if !is_vlan(left) || !is_vlan(right) {
                    return Err(ConfigError::new("translate", "a VLAN is 1 to 4094"));
                }
                let twice =
                    ways[0].insert(left, right).is_some() || ways[1].insert(right, left).is_some();
                if twice {
                    let reason = "a VLAN can stand only once on each side";
                    return Err(ConfigError::new("translate", reason));
                }
            }
            Work::Translate(ways)
        };
        Ok(Vlan {
            work,
            tpid: if config.service {
                wire::TPID_SERVICE
            } else {
                wire::TPID_CUSTOMER
            },
            priority: config.priority.map(|priority| u16::from(priority) << 13),
            others: config.others,
            packets: 0,
            tagged: 0,
            untagged: 0,
            translated: 0,
            passed: 0,
        })
    }

    /// The second half of the outermost tag, if it is of this node's type and all there.
    fn tag(&self, frame: &[u8]) -> Option<u16> {
        let ours = wire::u16_at(frame, ADDRESSES) == Some(self.tpid);
        // The type of what follows belongs to the tag: without it the rest is no frame.
        (ours && frame.len() >= wire::ETHERNET + TAG)
            .then(|| wire::u16_at(frame, ADDRESSES + 2))
            .flatten()
    }

    /// Does the node's work on a frame that came by `port`.
    fn work(&mut self, port: Port, frame: &mut Frame) -> Result<(), &'static str> {
        match self.work {
            Work::Tag { vlan, stack } if port.0 == 0 => self.put_on(vlan, stack, frame),
            Work::Tag { vlan, .. } => match self.tag(frame) {
                None => Err("no tag"),
                Some(tag) if tag & VLAN != vlan => Err("other vlan"),
                Some(_) => {
                    frame.remove(ADDRESSES, TAG);
                    self.untagged += 1;
                    Ok(())
                }
            },
            Work::Translate(ref ways) => {
                let tag = self.tag(frame).ok_or("no tag")?;
                let vlan = ways[port.index()].get(&(tag & VLAN)).ok_or("other vlan")?;
                let priority = self.priority.unwrap_or(tag & PRIORITY);
                let tag = priority | tag & DROP_ELIGIBLE | vlan;
                frame[ADDRESSES + 2..ADDRESSES + TAG].copy_from_slice(&tag.to_be_bytes());
                self.translated += 1;
                Ok(())
            }
        }
    }

    fn put_on(&mut self, vlan: u16, stack: bool, frame: &mut Frame) -> Result<(), &'static str> {
        if frame.len() + TAG > packet::MAX_FRAME_LEN {
            return Err("too long for a tag");
        }
        let below = match wire::u16_at(frame, ADDRESSES) {
            Some(tpid) if tpid == self.tpid && !stack => return Err("already tagged"),
            Some(wire::TPID_CUSTOMER | wire::TPID_SERVICE) => wire::u16_at(frame, ADDRESSES + 2),
            _ => None,
        };
        let priority = self.priority.or(below.map(|tag| tag & PRIORITY));
        let tag = priority.unwrap_or(0) | vlan;
        let gap = frame.insert(ADDRESSES, TAG);
        gap[..2].copy_from_slice(&self.tpid.to_be_bytes());
        gap[2..].copy_from_slice(&tag.to_be_bytes());
        self.tagged += 1;
        Ok(())
    }

    fn frame(&mut self, _now: Time, port: Port, mut frame: Frame, out: &mut Out) {
        if frame.len() < wire::ETHERNET {
            out.drop(frame, "shorter than an Ethernet header");
            return;
        }
        self.packets += 1;
        match self.work(port, &mut frame) {
            Ok(()) => {}
            // What cannot be tagged for its length cannot pass as something else either.
            Err(reason) if self.others == Others::Drop || reason == "too long for a tag" => {
                out.drop(frame, reason);
                return;
            }
            Err(_) => self.passed += 1,
        }
        out.send(Port(port.0 ^ 1), frame);
    }
}

impl Node for Vlan {
    fn properties(&self) -> Properties {
        Properties::of(2)
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.frame(now, port, frame, out);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics::from([
            ("packets", self.packets),
            ("tagged", self.tagged),
            ("untagged", self.untagged),
            ("translated", self.translated),
            ("passed", self.passed),
        ])
    }
}

#[cfg(test)]
mod tests;
