//! Writing messages.

use super::{COOKIE, FIXED, Kind, MIN_SIZE, option};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use packet::ethernet::Mac;

/// Fields of a message before its options.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// 1 from a client, 2 from a server.
    pub op: u8,
    /// Transaction.
    pub xid: u32,
    /// Time since the client began, seconds.
    pub secs: u16,
    /// Whether the reply is broadcast.
    pub broadcast: bool,
    /// Address that the client has.
    pub ciaddr: Ipv4Addr,
    /// Address that the client gets.
    pub yiaddr: Ipv4Addr,
    /// Next server of a boot process.
    pub siaddr: Ipv4Addr,
    /// Address of the first relay.
    pub giaddr: Ipv4Addr,
    /// MAC address of the client.
    pub chaddr: Mac,
}

/// Writes a message.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Bytes for options that are left.
    room: usize,
    left_out: usize,
}

impl<'a> Writer<'a> {
    /// Begins a message of at most `size` bytes in `out`, whose content is lost.
    pub fn new(out: &'a mut Vec<u8>, header: &Header, kind: Kind, size: usize) -> Writer<'a> {
        out.clear();
        out.extend([header.op, 1, 6, 0]);
        out.extend(header.xid.to_be_bytes());
        out.extend(header.secs.to_be_bytes());
        out.extend([u8::from(header.broadcast) << 7, 0]);
        for address in [header.ciaddr, header.yiaddr, header.siaddr, header.giaddr] {
            out.extend(address.octets());
        }
        out.extend(header.chaddr.0);
        out.resize(236, 0);
        out.extend(COOKIE);
        // The end mark takes one.
        let room = size.saturating_sub(FIXED + 1);
        let mut writer = Writer {
            out,
            room,
            left_out: 0,
        };
        writer.option(option::MESSAGE_TYPE, &[kind as u8]);
        writer
    }

    /// Adds an option, in parts if it is longer than 255 bytes (RFC 3396). One that does not fit is left out.
    pub fn option(&mut self, number: u8, value: &[u8]) {
        let parts = value.len().div_ceil(255).max(1);
        let length = value.len() + 2 * parts;
        if length > self.room {
            self.left_out += 1;
            return;
        }
        self.room -= length;
        if value.is_empty() {
            self.out.extend([number, 0]);
        }
        for part in value.chunks(255) {
            self.out.extend([number, part.len() as u8]);
            self.out.extend(part);
        }
    }

    /// Gives the rest of the options more room, bytes.
    pub fn grow(&mut self, room: usize) {
        self.room += room;
    }

    /// Ends the message; returns the number of options that were left out.
    pub fn end(self) -> usize {
        self.out.push(255);
        let length = self.out.len().max(MIN_SIZE);
        self.out.resize(length, 0);
        self.left_out
    }
}
