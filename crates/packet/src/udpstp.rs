//! UDPSTP, the UDP Speed Test Protocol (RFC 9946): the messages by which RFC 9097 measures the capacity of a path one way.
//!
//! Version 20, that of the RFC. A client asks for a test at the server's control port ([`Setup`]), is told a port for it, says there what the test is
//! ([`Activation`]); then one side sends [`Load`], and the other tells every trial interval what came of it ([`Status`]).
//!
//! Checksums of the messages' own are looked at where there is one, and not made: UDP has its own.

mod control;
mod fields;
mod load;

pub use control::{Activation, Algorithm, Direction, Integrity, Null, Setup, SetupAnswer};
pub use load::{Action, LOAD, Load, SendingRate, Stamp, Status, SubInterval};

use crate::BadHeader;
use crate::checksum;
use alloc::vec::Vec;
use control::{ACTIVATION, ACTIVATION_ID, NULL, NULL_ID, SETUP, SETUP_ID};
use fields::Fields;
use load::{LOAD_ID, STATUS, STATUS_ID};

/// UDP port of servers, for [`Setup`].
pub const PORT: u16 = 24601;
/// The version of the protocol.
pub const VERSION: u16 = 20;
/// Bytes of UDP and IPv4 in front of each message; a rate at the IP layer counts them.
pub const IPV4_OVERHEAD: u32 = 28;
/// Bytes that IPv6 has more: payloads are made shorter by as much.
pub const IPV6_MORE: u32 = 20;
/// Minimum payload length of a load message over IPv4, bytes: over IPv6 it is still a header.
pub const MIN_LOAD_LEN: u32 = LOAD as u32 + IPV6_MORE;
/// In a field of a [`Status`]: not measured.
pub const NO_VALUE: u32 = u32::MAX;
/// In [`Activation::row`]: the server searches.
pub const SEARCH: u16 = u16::MAX;
/// In a size of a [`SendingRate`]: sizes are drawn up to what the other bits say.
pub const RANDOM_SIZE: u32 = 1 << 31;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is what its type says")]
pub enum Message {
    Setup(Setup),
    Null(Null),
    Activation(Activation),
    Load(Load),
    Status(Status),
}

impl Message {
    /// Reads a message: the payload of a UDP datagram. What is behind a load message's header is not looked at.
    ///
    /// # Errors
    /// When it is none, has another length, a wrong checksum, or a field without sense.
    pub fn parse(bytes: &[u8]) -> Result<Message, BadHeader> {
        let Some(id) = bytes.first_chunk() else {
            return Err(BadHeader("UDPSTP message cut off"));
        };
        let (length, checked) = match u16::from_be_bytes(*id) {
            SETUP_ID => (SETUP, SETUP),
            NULL_ID => (NULL, NULL),
            ACTIVATION_ID => (ACTIVATION, ACTIVATION),
            LOAD_ID if bytes.len() >= LOAD => (bytes.len(), LOAD),
            LOAD_ID => return Err(BadHeader("UDPSTP load message cut off")),
            STATUS_ID => (STATUS, STATUS),
            _ => return Err(BadHeader("no UDPSTP message")),
        };
        if bytes.len() != length {
            return Err(BadHeader("UDPSTP message of another length"));
        }
        let header = &bytes[..checked];
        // No checksum is zeros.
        let has_checksum = header[checked - 2..] != [0, 0];
        if has_checksum && checksum::checksum(header) != 0 {
            return Err(BadHeader("UDPSTP message with a wrong checksum"));
        }
        let mut fields = Fields(&header[2..]);
        Ok(match u16::from_be_bytes(*id) {
            SETUP_ID => Message::Setup(fields.setup()?),
            NULL_ID => Message::Null(fields.null()?),
            ACTIVATION_ID => Message::Activation(fields.activation()?),
            LOAD_ID => Message::Load(fields.load()?),
            _ => Message::Status(fields.status()?),
        })
    }

    /// Appends the message: of a load message the header.
    pub fn build(&self, out: &mut Vec<u8>) {
        match self {
            Message::Setup(setup) => setup.build(out),
            Message::Null(null) => null.build(out),
            Message::Activation(activation) => activation.build(out),
            Message::Load(load) => load.build(out),
            Message::Status(status) => status.build(out),
        }
    }
}

#[cfg(test)]
mod tests;
