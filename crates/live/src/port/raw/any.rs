//! All interfaces of a namespace at once, those that come later too: what tcpdump calls `any`; or one, in both directions.
//!
//! One socket that is bound to no interface hears what each of them receives and sends. Nothing can be sent by it: a packet
//! leaves by an interface.

use super::deliver::Delivery;
use super::messages::{BATCH, Buffers, CALLS};
use super::socket::Socket;
use crate::kernel::interface::{self, Ask, Interface};
use crate::port::{Options, PortError, Received, RxCounters};
use ::capture::clock::{self, Converter};
use packet::capture::{self, Cooked, Flags, LINUX_SLL2};
use std::time::Duration;

/// Maximum number of interfaces of one port, the same as in a capture.
const MAX_INTERFACES: usize = capture::MAX_INTERFACES;
/// Minimum interval between two queries for the names of interfaces, ns.
const NAME_REFRESH_INTERVAL_NS: u64 = 100_000_000;
/// Flags of pcapng for the kernel's packet types, from PACKET_HOST on: the direction, and from bit
/// 2 on whether the packet went to one host, several, all, or was overheard.
const FLAGS: [u32; 5] = [0x05, 0x0D, 0x09, 0x11, 0x02];

/// The receiving port.
pub struct Any {
    socket: Socket,
    clock: Converter,
    buffers: Box<Buffers>,
    delivery: Delivery,
    interfaces: Vec<Known>,
    /// When names were asked for, ns.
    looked: u64,
    /// Of the packet before, as packets come in rows.
    last: usize,
}

/// An interface that packets came by.
struct Known {
    index: i32,
    kind: u16,
    name: String,
}

/// What the kernel says of a packet: where and when it was seen.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'a> {
    /// The interface, as they are counted here from 0. One that is removed and made again, or renamed, is another.
    pub interface: usize,
    /// Its name.
    pub name: &'a str,
    /// Its number in its namespace.
    pub index: u32,
    /// When the packet came, as the kernel stamped it, ns since 1970; `None` where it did not.
    pub wall_ns: Option<u64>,
    /// For an interface without Ethernet, what a capture says in place of its header.
    pub cooked: Option<Cooked>,
    /// The direction, and whom the packet was for, as pcapng has them.
    pub flags: Flags,
}

impl Any {
    /// Hears of all interfaces of this thread's network namespace, or of one, of which frames for others are heard too, if they
    /// are wanted.
    ///
    /// # Errors
    /// When there is no such interface, or when the process lacks CAP_NET_RAW.
    pub fn open(interface: Option<&str>, options: &Options) -> Result<Any, PortError> {
        let mut socket = match interface {
            Some(name) => Socket::new(&super::usable(name)?)?,
            None => Socket::of_all()?,
        };
        socket.set_buffer(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, options.buffer);
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_AUXDATA);
        socket.set(level, option, 1i32, "asking for tags")?;
        socket.ask_for_both_ways()?;
        if interface.is_some() {
            socket.hear_others(options)?;
        }
        socket.bind(libc::ETH_P_ALL as u16)?;
        Ok(Any {
            socket,
            clock: Converter::new(),
            buffers: Buffers::new(true),
            delivery: Delivery::default(),
            interfaces: Vec::new(),
            looked: clock::now_ns(),
            last: 0,
        })
    }

    /// Gives every frame that is there to `sink`, waiting at most `wait` for the first one; returns how many. Frames begin with an
    /// Ethernet header: that of a packet that has none is of zeros.
    ///
    /// # Errors
    /// What the system says.
    pub fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Metadata<'_>, Received<'_>),
    ) -> Result<usize, PortError> {
        let mut got = self.take()?;
        if got == 0 && !wait.is_zero() {
            self.socket.wait(libc::POLLIN, wait)?;
            got = self.take()?;
        }
        if clock::now_ns() - self.looked > NAME_REFRESH_INTERVAL_NS {
            self.looked = clock::now_ns();
            self.look();
        }
        let mut given = 0;
        for call in 1..=CALLS {
            if got == 0 {
                break;
            }
            self.clock.refresh();
            for index in 0..got {
                given += self.deliver(index, sink)?;
            }
            if got < BATCH || call == CALLS {
                break;
            }
            got = self.take()?;
        }
        Ok(given)
    }

    /// What happened so far.
    pub fn counters(&self) -> RxCounters {
        RxCounters {
            dropped: self.socket.dropped(),
            ..self.delivery.counters
        }
    }

    fn take(&mut self) -> Result<usize, PortError> {
        let refused = &mut self.delivery.counters.refused;
        let taken = self.buffers.take(self.socket.raw(), refused);
        taken.map_err(|error| self.socket.error("receiving", error))
    }

    fn deliver(
        &mut self,
        index: usize,
        sink: &mut dyn FnMut(Metadata<'_>, Received<'_>),
    ) -> Result<usize, PortError> {
        let Some(&address) = self.buffers.address(index) else {
            return Ok(0);
        };
        // What the loopback sends it receives as well, as the same packet.
        let outgoing = address.sll_pkttype == libc::PACKET_OUTGOING;
        if outgoing && address.sll_hatype == libc::ARPHRD_LOOPBACK {
            return Ok(0);
        }
        let interface = self.known(&address)?;
        let ethernet = matches!(
            address.sll_hatype,
            libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK
        );
        let protocol = u16::from_be(address.sll_protocol);
        let metadata = Metadata {
            interface,
            name: &self.interfaces[interface].name,
            index: address.sll_ifindex.unsigned_abs(),
            wall_ns: self.buffers.wall_ns(index),
            cooked: (!ethernet).then(|| cooked(&address)),
            flags: Flags::new(
                FLAGS
                    .get(usize::from(address.sll_pkttype))
                    .map_or(0, |flags| *flags),
            ),
        };
        let raw = match ethernet {
            true => self.buffers.received(index, &mut self.clock),
            false => self.buffers.received_bare(index, &mut self.clock, protocol),
        };
        Ok(self
            .delivery
            .deliver(raw, &mut |frame| sink(metadata, frame)))
    }

    /// The interface of a packet.
    fn known(&mut self, address: &libc::sockaddr_ll) -> Result<usize, PortError> {
        let is =
            |known: &Known| known.index == address.sll_ifindex && known.kind == address.sll_hatype;
        if !self.interfaces.get(self.last).is_some_and(is) {
            // From the end: what was renamed is there twice.
            self.last = match self.interfaces.iter().rposition(is) {
                Some(known) => known,
                None => {
                    let (index, kind) = (address.sll_ifindex, address.sll_hatype);
                    // One that has gone since has no name left.
                    let name = self.name(index).unwrap_or_else(|| format!("#{index}"));
                    self.add(Known { index, kind, name })?
                }
            };
        }
        Ok(self.last)
    }

    fn add(&mut self, known: Known) -> Result<usize, PortError> {
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(PortError::Unsupported {
                name: "any".into(),
                why: "more than 65,536 interfaces have come and gone; a new capture can have as many again",
            });
        }
        self.interfaces.push(known);
        Ok(self.interfaces.len() - 1)
    }

    fn name(&self, index: i32) -> Option<String> {
        let ask = Ask::by_index(self.socket.as_fd(), u32::try_from(index).ok()?).ok()?;
        Some(ask.name())
    }

    /// Looks whether interfaces have other names now.
    fn look(&mut self) {
        for at in 0..self.interfaces.len() {
            let Known { index, kind, .. } = self.interfaces[at];
            let newer = |known: &Known| known.index == index && known.kind == kind;
            if self.interfaces[at + 1..].iter().any(newer) {
                continue;
            }
            if let Some(name) = self.name(index).filter(|name| *name != self.interfaces[at].name)
                // A table that is full keeps the old name.
                && self.add(Known { index, kind, name }).is_ok()
            {
                self.last = self.interfaces.len();
            }
        }
    }
}

/// What a capture says in place of a header.
fn cooked(address: &libc::sockaddr_ll) -> Cooked {
    Cooked {
        protocol: u16::from_be(address.sll_protocol),
        interface: address.sll_ifindex.unsigned_abs(),
        kind: address.sll_hatype,
        direction: address.sll_pkttype,
        address_len: address.sll_halen,
        address: address.sll_addr,
    }
}

impl Metadata<'_> {
    /// How a capture describes the interface.
    #[must_use]
    pub fn described(&self) -> capture::Interface {
        let found: Option<Interface> = interface::find(self.name).ok().flatten();
        capture::Interface {
            link_type: match self.cooked {
                Some(_) => LINUX_SLL2,
                None => capture::ETHERNET,
            },
            name: self.name.into(),
            mac: found.and_then(|found| found.mac),
            ..capture::Interface::default()
        }
    }
}
