//! Users at a shell over SSH, as traffic: the login, every key and its echo, commands and their output.
//!
//! Messages have the order and the framing of RFC 4253 and 4254, and the sizes that OpenSSH's usual cipher
//! (chacha20-poly1305) gives them: a key is a packet of 36 bytes, and so is its echo. Nothing is encrypted, so that only these programs
//! understand each other.
//!
//! Client: `to`, port 22; `start`, 0; `duration` and `count`, none: the time, and the commands of each user; `users`, 1; `interval`,
//! 200 ms: from one key to the next; `keys`, 12: keys of a command, with the enter key; `output`, 1,000: bytes that a command
//! prints; `think`, 1 s: from the prompt to the next key; `buffer`, 64 KiB.
//!
//! Server: `port`, 22; `think`, 0: from the enter key to the output; `buffer`, 64 KiB.
//!
//! A command ends in the number of bytes that it prints. Keys are sent at their times, whether or not echoes have come; the
//! round trip of each key is measured.

mod client;
mod server;

pub use client::Config;
pub use server::ServerConfig;

pub(crate) use client::Client;
pub(crate) use server::Server;

use crate::endpoint::Endpoint;
use alloc::vec::Vec;

/// The usual port.
pub const PORT: u16 = 22;
/// Bytes of a connection's buffer in each direction, if a key does not say otherwise.
const BUFFER: usize = 1 << 16;
/// The first line of both sides.
const VERSION: &[u8] = b"SSH-2.0-wireline\r\n";
/// The longest version line, bytes (RFC 4253 section 4.2).
const MAX_VERSION: usize = 255;
/// The longest packet, bytes (RFC 4253 section 6.1).
const MAX_PACKET: usize = 35_000;
/// Data of one message at most: OpenSSH's channels.
const MAX_DATA: usize = 32_768;
/// The tag of an encrypted packet.
const TAG: usize = 16;
/// The server's prompt.
const PROMPT: &[u8] = b"$ ";

/// Message numbers (RFC 4250).
mod number {
    pub const DISCONNECT: u8 = 1;
    pub const SERVICE_REQUEST: u8 = 5;
    pub const SERVICE_ACCEPT: u8 = 6;
    pub const KEXINIT: u8 = 20;
    pub const NEWKEYS: u8 = 21;
    pub const ECDH_INIT: u8 = 30;
    pub const ECDH_REPLY: u8 = 31;
    pub const USERAUTH_REQUEST: u8 = 50;
    pub const USERAUTH_FAILURE: u8 = 51;
    pub const USERAUTH_SUCCESS: u8 = 52;
    pub const USERAUTH_PK_OK: u8 = 60;
    pub const CHANNEL_OPEN: u8 = 90;
    pub const CHANNEL_OPEN_CONFIRMATION: u8 = 91;
    pub const CHANNEL_DATA: u8 = 94;
    pub const CHANNEL_CLOSE: u8 = 97;
    pub const CHANNEL_REQUEST: u8 = 98;
    pub const CHANNEL_SUCCESS: u8 = 99;
}

/// Messages by number and length of the payload.
type Messages = &'static [(u8, usize)];

/// A login by public key, in round trips: requests of the client, and the server's answers. Lengths are those of
/// OpenSSH with curve25519 and Ed25519 keys.
const LOGIN: [(Messages, Messages); 8] = {
    use number::*;
    [
        (&[(KEXINIT, 1_527)], &[(KEXINIT, 1_071)]),
        (&[(ECDH_INIT, 37)], &[(ECDH_REPLY, 188), (NEWKEYS, 1)]),
        (
            &[(NEWKEYS, 1), (SERVICE_REQUEST, 17)],
            &[(SERVICE_ACCEPT, 17)],
        ),
        (&[(USERAUTH_REQUEST, 41)], &[(USERAUTH_FAILURE, 24)]),
        (&[(USERAUTH_REQUEST, 118)], &[(USERAUTH_PK_OK, 75)]),
        (&[(USERAUTH_REQUEST, 205)], &[(USERAUTH_SUCCESS, 1)]),
        (&[(CHANNEL_OPEN, 24)], &[(CHANNEL_OPEN_CONFIRMATION, 17)]),
        (
            &[(CHANNEL_REQUEST, 336), (CHANNEL_REQUEST, 15)],
            &[(CHANNEL_SUCCESS, 5), (CHANNEL_SUCCESS, 5)],
        ),
    ]
};

/// One direction's writer.
#[derive(Default)]
struct Writer {
    /// Bytes to send.
    leaves: Vec<u8>,
    /// Whether packets have the sizes of encrypted ones.
    sealed: bool,
}

impl Writer {
    fn version(&mut self) {
        self.leaves.extend_from_slice(VERSION);
    }

    /// A message of a login: its number, and zeros.
    fn message(&mut self, (number, length): (u8, usize)) {
        self.packet(&[number], length - 1, &[]);
        self.sealed |= number == number::NEWKEYS;
    }

    /// Data of a channel: `zeros`, then `text`.
    fn data(&mut self, zeros: usize, text: &[u8]) {
        let mut head = [0; 9];
        head[0] = number::CHANNEL_DATA;
        head[5..].copy_from_slice(&((zeros + text.len()) as u32).to_be_bytes());
        self.packet(&head, zeros, text);
    }

    /// A packet: its length, the length of its padding, the payload, at least four bytes of padding, the tag.
    fn packet(&mut self, head: &[u8], zeros: usize, text: &[u8]) {
        let payload = head.len() + zeros + text.len();
        // The length of an encrypted packet is not padded with the rest.
        let aligned = 1 + payload + if self.sealed { 0 } else { 4 };
        let padding = 4 + (8 - (aligned + 4) % 8) % 8;
        let out = &mut self.leaves;
        out.extend(((1 + payload + padding) as u32).to_be_bytes());
        out.push(padding as u8);
        out.extend_from_slice(head);
        out.resize(out.len() + zeros, 0);
        out.extend_from_slice(text);
        let tag = if self.sealed { TAG } else { 0 };
        out.resize(out.len() + padding + tag, 0);
    }
}

/// A piece that a reader has found.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    /// The far end's version.
    Version,
    /// A message: its number, and its data if it is channel data.
    Message(u8, Vec<u8>),
}

/// The far end does not speak SSH.
#[derive(Debug, PartialEq, Eq)]
struct NotSsh;

/// One direction's reader.
#[derive(Default)]
struct Reader {
    bytes: Vec<u8>,
    version: bool,
    sealed: bool,
}

impl Reader {
    /// Takes bytes that came.
    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next piece of those that a connection has; `None` until more arrives.
    fn receive(&mut self, socket: &mut Endpoint) -> Result<Option<Piece>, NotSsh> {
        loop {
            if let Some(piece) = self.next()? {
                return Ok(Some(piece));
            }
            if !socket.can_recv() {
                return Ok(None);
            }
            let taken = socket.recv(|bytes| {
                self.take(bytes);
                (bytes.len(), ())
            });
            if taken.is_err() {
                return Ok(None);
            }
        }
    }

    /// The next whole piece, if there is one.
    fn next(&mut self) -> Result<Option<Piece>, NotSsh> {
        if !self.version {
            let end = self.bytes.iter().position(|&byte| byte == b'\n');
            return match end {
                Some(end) if end < MAX_VERSION && self.bytes.starts_with(b"SSH-2.0-") => {
                    self.bytes.drain(..=end);
                    self.version = true;
                    Ok(Some(Piece::Version))
                }
                None if self.bytes.len() < MAX_VERSION => Ok(None),
                _ => Err(NotSsh),
            };
        }
        let Some(&length) = self.bytes.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(length) as usize;
        if !(6..=MAX_PACKET).contains(&length) {
            return Err(NotSsh);
        }
        let whole = 4 + length + if self.sealed { TAG } else { 0 };
        if self.bytes.len() < whole {
            return Ok(None);
        }
        let padding = usize::from(self.bytes[4]);
        let end = (4 + length).checked_sub(padding).filter(|&end| end > 5);
        let payload = &self.bytes[5..end.ok_or(NotSsh)?];
        let number = payload[0];
        let data = match (number, payload.get(9..)) {
            (number::CHANNEL_DATA, Some(data)) => data.to_vec(),
            (number::CHANNEL_DATA, None) => return Err(NotSsh),
            _ => Vec::new(),
        };
        self.bytes.drain(..whole);
        self.sealed |= number == number::NEWKEYS;
        Ok(Some(Piece::Message(number, data)))
    }
}

#[cfg(test)]
mod tests;
