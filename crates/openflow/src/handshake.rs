//! The exchange of hellos that picks a version (1.3.5 section 6.3.1).

use crate::fault::Fault;
use crate::message::{BadFrame, ErrorMessage, Header, Hello, Message, decode, frame};
use crate::version::Version;
use alloc::vec::Vec;
use core::fmt;

/// Picks the version with a peer: send [`Handshake::hello`], hand the peer's first message to [`Handshake::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    ours: u32,
    highest: Version,
}

/// Why no version was picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// None in common: send [`Handshake::refusal`], then close.
    Incompatible {
        /// The versions that the peer speaks, as a bitmap.
        theirs: u32,
    },
    /// The first message is no hello, but of this type: close.
    NoHello(u8),
    /// The peer refused, with this type and code: close.
    Refused(u16, u16),
    /// The first bytes are no message: close.
    BadFrame(BadFrame),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Incompatible { theirs } => {
                f.write_str("no version in common: the peer supports")?;
                let known = [
                    (1, "1.0"),
                    (2, "1.1"),
                    (3, "1.2"),
                    (4, "1.3"),
                    (5, "1.4"),
                    (6, "1.5"),
                ];
                known
                    .iter()
                    .filter(|(bit, _)| theirs & 1 << bit != 0)
                    .try_for_each(|(_, name)| write!(f, " {name}"))
            }
            Failure::NoHello(kind) => {
                write!(f, "the peer's first message is of type {kind}, not a hello")
            }
            Failure::Refused(0, 0) => f.write_str("the peer supports none of these versions"),
            Failure::Refused(kind, code) => {
                write!(f, "the peer refused with error type {kind}, code {code}")
            }
            Failure::BadFrame(bad) => bad.fmt(f),
        }
    }
}

impl core::error::Error for Failure {}

impl Handshake {
    /// Of these versions; without any, all.
    pub fn new(versions: &[Version]) -> Handshake {
        let versions = if versions.is_empty() {
            &Version::ALL
        } else {
            versions
        };
        Handshake {
            ours: Hello::of(versions).versions.unwrap_or(0),
            highest: versions.iter().copied().max().unwrap_or(Version::V13),
        }
    }

    /// Appends our hello: the highest version in the header, and the bitmap.
    pub fn hello(&self, xid: u32, out: &mut Vec<u8>) {
        // A hello of either version has a form.
        let _ = Message::Hello(Hello {
            versions: Some(self.ours),
        })
        .encode(self.highest, xid, out);
    }

    /// Takes the peer's first message off the front of the buffer. `None`: it is not there yet. Otherwise the version,
    /// and the bytes to drop from the buffer.
    ///
    /// # Errors
    /// When no version can be picked.
    pub fn receive(&self, buffer: &[u8]) -> Result<Option<(Version, usize)>, Failure> {
        // What is no OpenFlow at all need not arrive as a whole to be told.
        if let Some(&kind) = buffer.get(1)
            && kind > 1
        {
            return Err(Failure::NoHello(kind));
        }
        let Some(length) = frame(buffer).map_err(Failure::BadFrame)? else {
            return Ok(None);
        };
        match decode(&buffer[..length]) {
            Ok((header, Message::Hello(hello))) => self
                .pick(&header, &hello)
                .map(|version| Some((version, length))),
            Ok((_, Message::Error(error))) => Err(Failure::Refused(error.kind, error.code)),
            _ => Err(Failure::NoHello(buffer[1])),
        }
    }

    /// The version for this hello: with bitmaps on both sides the highest in common, otherwise the lower of the two
    /// headers', if both speak it.
    ///
    /// # Errors
    /// [`Failure::Incompatible`].
    pub fn pick(&self, header: &Header, hello: &Hello) -> Result<Version, Failure> {
        let theirs = hello.versions.unwrap_or_else(|| {
            let below = 1_u32
                .checked_shl(u32::from(header.version) + 1)
                .unwrap_or(0);
            below.wrapping_sub(1) & !1
        });
        let common = theirs & self.ours;
        let picked = match hello.versions {
            Some(_) => Version::ALL
                .into_iter()
                .rev()
                .find(|version| common & 1 << version.wire() != 0),
            None => {
                let lower = header.version.min(self.highest.wire());
                Version::from_wire(lower).filter(|version| common & 1 << version.wire() != 0)
            }
        };
        picked.ok_or(Failure::Incompatible { theirs })
    }

    /// Appends the error that answers a hello without a version in common.
    pub fn refusal(&self, xid: u32, out: &mut Vec<u8>) {
        let text = match (self.ours >> 1 & 1, self.ours >> 4 & 1) {
            (1, 1) => "OpenFlow 1.0 and 1.3 are spoken here",
            (1, 0) => "OpenFlow 1.0 is spoken here",
            _ => "OpenFlow 1.3 is spoken here",
        };
        let fault = Fault::HelloIncompatible;
        let error = ErrorMessage::new(self.highest, fault, text.as_bytes());
        let _ = Message::Error(error).encode(self.highest, xid, out);
    }
}
