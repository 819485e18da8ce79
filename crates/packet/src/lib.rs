//! Packets in all their forms: frames and their headers, text lines, records, pcap and pcapng.
//!
//! No I/O, no clock, no operating system: every codec works on slices that the caller owns.
//!
//! | module | what is in it |
//! |---|---|
//! | [`ethernet`], [`vlan`], [`arp`], [`mpls`], [`pppoe`] | headers below and next to IP: views, and builders into a `Vec` |
//! | [`ipv4`], [`ipv6`], [`ip`], [`icmp`], [`icmpv6`] | IP with its options and extension headers; both versions alike |
//! | [`udp`], [`tcp`], [`vxlan`], [`geneve`], [`gre`] | what IP carries |
//! | [`layers`](mod@layers) | all headers of a frame, from the outside in |
//! | [`bpf`] | packet filter programs: verified and run |
//! | [`checksum`] | the Internet checksum, its incremental update, pseudo headers |
//! | [`crc32c`] | CRC-32C: the five-tuple hash, SCTP |
//! | [`craft`] | packets from header words |
//! | [`date`] | what stands before a packet: a date, or a word (FORMATS section 3) |
//! | [`ntp`] | headers of the Network Time Protocol |
//! | [`huygens`] | coded probes, for clocks |
//! | [`ptp`] | messages of the Precision Time Protocol |
//! | [`dns`], [`dhcp`], [`http`], [`tls`] | applications, as far as one packet shows them |
//! | [`dissect`] | fields of all layers by name, as text |
//! | [`describe`] | a frame in one line, for people |
//! | [`capture`] | pcap and pcapng files, read and written (FORMATS section 6) |
//! | [`flow`] | five-tuples and their 32-bit hash (FORMATS section 4) |
//! | [`hexdump`] | packets as hex dumps |
//! | [`line`](mod@line) | one packet as one text line (FORMATS section 1) |
//! | [`pause`] | PAUSE and PFC frames |
//! | [`printable`] | text from outside as it may be shown |
//! | [`record`] | one packet as a binary record (FORMATS section 2) |
//! | [`repair`] | checksums and lengths set right |
//! | [`segment`] | a piece of a byte stream in a frame: control channels on links |
//! | [`sniff`] | tells what a file of packets is by its first bytes |
//! | [`udpstp`] | messages of the UDP Speed Test Protocol |
//! | [`word`] | the 64-bit timestamp word: received stamps and departures (FORMATS section 3) |
//!
//! A view (`Ipv4View`) borrows bytes whose header it has checked; then no method panics. A builder
//! (`Ipv4`) appends a header and whatever a closure appends behind it, and fills in lengths and
//! checksums:
//!
//! ```
//! use packet::ethernet::{Ethernet, Mac, ethertype};
//! use packet::ipv4::{Ipv4, Ipv4View, protocol};
//! use packet::udp::{Udp, UdpView};
//!
//! let (destination, source) = (Mac([2, 0, 0, 0, 0, 2]), Mac([2, 0, 0, 0, 0, 1]));
//! let eth = Ethernet { destination, source, tags: &[], ethertype: ethertype::IPV4 };
//! let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::UDP);
//! let udp = Udp { source_port: 4000, destination_port: 53 };
//!
//! let mut frame = Vec::new();
//! eth.build(&mut frame, |out| {
//!     ip.build(out, |out| udp.build(ip.pseudo(), out, |out| out.extend(b"a question")))
//! });
//!
//! let ip = Ipv4View::new(&frame[14..])?;
//! let udp = UdpView::new(ip.payload())?;
//! assert!(ip.is_checksum_valid() && udp.is_checksum_valid(ip.pseudo()));
//! assert_eq!(udp.payload(), b"a question");
//! let told = packet::describe::Description(&frame).to_string();
//! assert_eq!(told, "10.0.0.1:4000 > 10.0.0.2:53 UDP, 10 bytes");
//! # Ok::<(), packet::BadHeader>(())
//! ```
#![no_std]
#![deny(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod arp;
pub mod bpf;
pub mod capture;
pub mod checksum;
pub mod craft;
pub mod crc32c;
pub mod date;
pub mod describe;
pub mod dhcp;
pub mod dissect;
pub mod dns;
pub mod ecn;
pub mod ethernet;
mod field;
pub mod flow;
pub mod geneve;
pub mod gre;
pub mod hexdump;
pub mod http;
pub mod huygens;
pub mod icmp;
pub mod icmpv6;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod json;
pub mod layers;
pub mod line;
pub mod mpls;
pub mod ntp;
pub mod pause;
pub mod pppoe;
pub mod printable;
pub mod ptp;
pub mod record;
pub mod repair;
pub mod segment;
pub mod sniff;
pub mod tcp;
pub mod tls;
pub mod udp;
pub mod udpstp;
pub mod vlan;
pub mod vxlan;
pub mod word;

pub use date::{Date, Stamp};
pub use layers::layers;
pub use word::{BadWord, Departure, Tick};

/// Minimum frame length of all formats, bytes: an Ethernet header.
pub const MIN_FRAME_LEN: usize = 14;
/// Maximum frame length of all formats without FCS, bytes (FORMATS section 2). Captures hold frames
/// of this length: super-frames that have not been cut into segments yet.
pub const MAX_FRAME_LEN: usize = 262_144;
/// Maximum length of a frame that is built, or that a port without an MTU of its own accepts,
/// without FCS, bytes. No wire carries super-frames, and buffers of ports have this size.
pub const MAX_WIRE_FRAME_LEN: usize = 16_000;

/// A packet as a line, a record or a capture gives it: the bytes, and what stood before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Date or word, if there was one.
    pub stamp: Option<Stamp>,
    /// The five-tuple hash, if there was one.
    pub hash: Option<u32>,
    /// The frame, without FCS.
    pub bytes: &'a [u8],
}

impl Packet<'_> {
    /// Whether a line or a record can carry this frame.
    ///
    /// # Errors
    /// When it is not 14 to 262,144 bytes long.
    pub fn check(&self) -> Result<(), BadLength> {
        match self.bytes.len() {
            MIN_FRAME_LEN..=MAX_FRAME_LEN => Ok(()),
            length => Err(BadLength(length)),
        }
    }
}

/// A frame too short or too long for lines and records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {0} bytes: lines and records carry {MIN_FRAME_LEN} to {MAX_FRAME_LEN} bytes")]
pub struct BadLength(pub usize);

/// A header that is cut off or makes no sense, and why: a short phrase, fit for counting drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadHeader(pub &'static str);
