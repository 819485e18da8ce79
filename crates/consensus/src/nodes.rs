//! The participants as nodes: every message goes to one multicast group, over UDP and IPv4, and each takes what is for it.
//!
//! A member with a [`Key`] accepts only messages with its group's tag. All members refuse rounds and
//! instances far above the highest ones received.
//!
//! One with several ports is where several switches are, as in figure 3.12 of paper 002: what it has to say it says at all of them, and what it answers
//! leaves where the question came in.

pub mod acceptor;
pub mod client;
pub mod coordinator;
mod horizon;
pub mod learner;
mod patience;
pub mod proposer;
pub mod replica;
mod waiting;

use crate::command::Command;
use crate::journal::{Owner, Role};
use crate::key::{Key, TAG};
use crate::message::{ACCEPTORS, LENGTH, Message, PORT};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use horizon::Horizon;
use node::ConfigError;
use node::{Frame, Out, Port};
use packet::ethernet::{Ethernet, Mac, ethertype};
use packet::ipv4::{Ipv4, Ipv4View, protocol};
use packet::udp::{Udp, UdpView};

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Why a member goes on without end.
const ENDLESS: &str = "goes on reporting to its group";

/// Checks what every participant is told of its group.
fn check(acceptors: usize, window: usize) -> Result<(), ConfigError> {
    if !(1..=ACCEPTORS).contains(&acceptors) {
        return Err(ConfigError::new("acceptors", "1 to 5"));
    }
    if !(1..=1 << 20).contains(&window) {
        return Err(ConfigError::new("window", "1 to 1,048,576 instances"));
    }
    Ok(())
}

/// One of a group.
#[derive(Debug)]
struct Member {
    mac: Mac,
    address: Ipv4Addr,
    group: Ipv4Addr,
    ports: u16,
    /// By which it knows messages of its group; `None`: it takes all.
    key: Option<Key>,
    /// Highest accepted round and instance.
    horizon: Horizon,
    scratch: Vec<u8>,
    /// Messages that it was sent.
    received: u64,
    /// Messages that it sent.
    sent: u64,
}

impl Member {
    /// One with these addresses.
    ///
    /// # Errors
    /// When the group is no multicast group, or the node's own address is one, or there are no ports or too many.
    fn new(
        mac: Mac,
        address: Ipv4Addr,
        group: Ipv4Addr,
        ports: u16,
        key: Option<Key>,
    ) -> Result<Member, ConfigError> {
        if !(1..=16).contains(&ports) {
            return Err(ConfigError::new("ports", "1 to 16"));
        }
        if !group.is_multicast() {
            return Err(ConfigError::new(
                "group",
                "a multicast address, such as 239.0.0.1",
            ));
        }
        if mac.is_group() {
            return Err(ConfigError::new(
                "mac",
                "a node's own address is no group's",
            ));
        }
        if address.is_multicast() {
            return Err(ConfigError::new(
                "address",
                "a node's own address is no group's",
            ));
        }
        Ok(Member {
            mac,
            address,
            group,
            ports,
            key,
            horizon: Horizon::NEW,
            scratch: Vec::new(),
            received: 0,
            sent: 0,
        })
    }

    /// Owner of its journal.
    fn owner(&self, role: Role, id: u16, window: usize) -> Owner {
        Owner {
            role,
            group: self.group,
            id,
            // At most 2^20.
            window: window as u32,
        }
    }

    /// The message in a frame that is for the group; else the frame is dropped.
    fn receive(&mut self, frame: Frame, out: &mut Out) -> Option<Message<Command>> {
        match self.read(&frame) {
            Ok(message) if !self.horizon.admits(&message) => {
                out.drop(frame, "beyond the window");
                None
            }
            Ok(message) => {
                self.received += 1;
                out.done(frame);
                Some(message)
            }
            Err(reason) => {
                out.drop(frame, reason);
                None
            }
        }
    }

    fn read(&self, frame: &Frame) -> Result<Message<Command>, &'static str> {
        const OTHER: &str = "no Paxos message";
        let packet = frame.get(ETHERNET..).ok_or(OTHER)?;
        if frame[12..ETHERNET] != ethertype::IPV4.to_be_bytes() {
            return Err(OTHER);
        }
        let ip = Ipv4View::new(packet).map_err(|_| OTHER)?;
        if ip.destination() != self.group || ip.protocol() != protocol::UDP || ip.is_fragment() {
            return Err(OTHER);
        }
        let udp = UdpView::new(ip.payload()).map_err(|_| OTHER)?;
        if udp.destination_port() != PORT {
            return Err(OTHER);
        }
        let intact = udp.checksum() == 0 || udp.is_checksum_valid(ip.pseudo());
        if !ip.is_checksum_valid() || !intact {
            return Err("checksum");
        }
        let message = udp.payload();
        if let Some(key) = &self.key {
            let tagged = message.split_at_checked(LENGTH);
            let is_own = tagged.is_some_and(|(message, behind)| {
                let tag = behind.first_chunk::<TAG>();
                tag.is_some_and(|tag| key.verifies(self.group, message, tag))
            });
            if !is_own {
                return Err("not authentic");
            }
        }
        Message::parse(message).map_err(|_| "bad Paxos message")
    }

    /// Sends a message to the group, by all ports.
    fn send(&mut self, message: &Message<Command>, out: &mut Out) {
        self.build(message);
        for port in 0..self.ports {
            self.leave(Port(port), out);
        }
    }

    /// Sends a message to the group, by one port.
    fn send_by(&mut self, port: Port, message: &Message<Command>, out: &mut Out) {
        self.build(message);
        self.leave(port, out);
    }

    fn leave(&mut self, port: Port, out: &mut Out) {
        let mut frame = out.frame();
        frame.extend(&self.scratch);
        out.send(port, frame);
        self.sent += 1;
    }

    /// Puts the frame of a message into the scratch.
    fn build(&mut self, message: &Message<Command>) {
        let [_, b, c, d] = self.group.octets();
        self.scratch.clear();
        let ethernet = Ethernet {
            // RFC 1112, section 6.4.
            destination: Mac([1, 0, 0x5E, b & 0x7F, c, d]),
            source: self.mac,
            tags: &[],
            ethertype: ethertype::IPV4,
        };
        let ip = Ipv4::new(self.address, self.group, protocol::UDP);
        let udp = Udp {
            source_port: PORT,
            destination_port: PORT,
        };
        ethernet.build(&mut self.scratch, |out| {
            ip.build(out, |out| {
                udp.build(ip.pseudo(), out, |out| {
                    let begin = out.len();
                    message.build(out);
                    if let Some(key) = &self.key {
                        let tag = key.tag(self.group, &out[begin..]);
                        out.extend(tag);
                    }
                });
            });
        });
    }
}

#[cfg(test)]
mod tests;
