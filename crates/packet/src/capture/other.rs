//! Blocks of pcapng other than interfaces, packets and counters, and whether another file may hold
//! them.
//!
//! Names, secrets, journal entries and custom blocks mean the same in a copy of their file. Custom
//! blocks whose type forbids copies, and blocks of unknown types, which may refer to what a copy
//! does not have, do not.

use super::Order;
use super::options::{List, interface_number, little_endian, padded, put, put_end};
use alloc::vec::Vec;

/// Name resolution.
const NAMES: u32 = 4;
/// An entry of the systemd journal.
const JOURNAL: u32 = 9;
/// Secrets with which packets are decrypted.
const SECRETS: u32 = 10;
/// Custom blocks, which may be copied, and which must not.
const CUSTOM: u32 = 0x0BAD;
const CUSTOM_NO_COPY: u32 = 0x4000_0BAD;
/// A field that every entry of the journal has; other tools refuse a file with one that does not.
const JOURNAL_TIME: &[u8] = b"__REALTIME_TIMESTAMP=";

/// A block in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherBlock<'a> {
    kind: u32,
    body: &'a [u8],
    order: Order,
}

/// A block that any file may hold, little-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortableBlock {
    kind: u32,
    body: Vec<u8>,
}

impl<'a> OtherBlock<'a> {
    pub(super) fn of(kind: u32, body: &'a [u8], order: Order) -> OtherBlock<'a> {
        OtherBlock { kind, body, order }
    }

    /// The block's type.
    pub fn kind(&self) -> u32 {
        self.kind
    }

    /// The block for another file; `None` where it must not be copied, has an unknown type, or is
    /// damaged. Custom data of a big-endian section is in an unknown byte order, and stays.
    pub fn portable(&self) -> Option<PortableBlock> {
        let body = match (self.kind, self.order) {
            (JOURNAL, _) => {
                let mut fields = self.body.windows(JOURNAL_TIME.len());
                fields.any(|field| field == JOURNAL_TIME).then_some(())?;
                self.body.to_vec()
            }
            (NAMES | SECRETS | CUSTOM, Order::Little) => self.body.to_vec(),
            (NAMES, Order::Big) => self.names()?,
            (SECRETS, Order::Big) => self.secrets()?,
            _ => return None,
        };
        let kind = self.kind;
        Some(PortableBlock { kind, body })
    }

    /// Records, which are lists as options are, and options.
    fn names(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut at = 0;
        loop {
            let head = self.body.get(at..at + 4)?;
            let (code, length) = (self.order.u16(head, 0), self.order.u16(head, 2));
            at += 4;
            if code == 0 {
                break;
            }
            let value = self.body.get(at..at + usize::from(length))?;
            put(code, value, &mut out);
            at += padded(value.len());
        }
        put_end(&mut out);
        self.options(at, &mut out);
        Some(out)
    }

    /// A type, a length, as many bytes as it says, and options.
    fn secrets(&self) -> Option<Vec<u8>> {
        let (kind, length) = (self.order.u32(self.body, 0), self.order.u32(self.body, 4));
        let end = 8usize.checked_add(length as usize)?;
        let secrets = self.body.get(8..end)?;
        let mut out = Vec::new();
        out.extend(kind.to_le_bytes());
        out.extend(length.to_le_bytes());
        out.extend_from_slice(secrets);
        out.resize(8 + padded(secrets.len()), 0);
        self.options(padded(end), &mut out);
        Some(out)
    }

    /// Appends the options that begin at `at`; of comments, names and addresses only a custom one
    /// begins with a number.
    fn options(&self, at: usize, out: &mut Vec<u8>) {
        let before = out.len();
        for (code, value) in List::new(self.body.get(at..).unwrap_or_default(), self.order) {
            let number = if code > 100 {
                interface_number(code)
            } else {
                0
            };
            put(code, &little_endian(value, number, self.order), out);
        }
        if out.len() > before {
            put_end(out);
        }
    }
}

impl PortableBlock {
    /// The block's type.
    pub fn kind(&self) -> u32 {
        self.kind
    }

    /// Bytes between the block's two lengths.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Whether packets need it wherever they are: of several files that one is split into, each
    /// has the names and the secrets.
    pub fn is_shared(&self) -> bool {
        matches!(self.kind, NAMES | SECRETS)
    }
}

/// The name of a type of blocks, for messages; `None` of an unknown one.
pub fn block_name(kind: u32) -> Option<&'static str> {
    Some(match kind {
        NAMES => "name resolution",
        JOURNAL => "systemd journal",
        SECRETS => "decryption secrets",
        CUSTOM => "custom",
        CUSTOM_NO_COPY => "custom, not to be copied",
        7 => "IRIG time stamp",
        8 => "ARINC 429",
        0x0000_0201..=0x0000_021F => "Sysdig",
        _ => return None,
    })
}
