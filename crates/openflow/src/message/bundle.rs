//! Bundles for 1.3: the ONF's extension EXT-230, in experimenter messages.

use super::{ErrorMessage, Experimenter};
use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use alloc::vec::Vec;

/// The experimenter id of the ONF's extensions.
pub const ONF: u32 = 0x4f4e_4600;

pub(super) const CONTROL: u32 = 2300;
pub(super) const ADD: u32 = 2301;

/// Bits of a bundle's flags.
pub mod bundle_flags {
    /// All or nothing, and no packet sees a part.
    pub const ATOMIC: u16 = 1;
    /// In the order of the messages.
    pub const ORDERED: u16 = 1 << 1;
}

/// What a bundle control message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum BundleControlKind {
    /// Opens a bundle.
    OpenRequest = 0,
    OpenReply = 1,
    /// Closes a bundle: no more messages.
    CloseRequest = 2,
    /// It is closed.
    CloseReply = 3,
    /// Applies it.
    CommitRequest = 4,
    /// It is applied.
    CommitReply = 5,
    /// Throws it away.
    DiscardRequest = 6,
    /// It is thrown away.
    DiscardReply = 7,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleControl<'a> {
    /// The bundle, on this connection.
    pub bundle: u32,
    /// What to do, or what was done.
    pub kind: BundleControlKind,
    /// Bits of [`bundle_flags`].
    pub flags: u16,
    /// Properties, as they stand.
    pub properties: &'a [u8],
}

impl<'a> BundleControl<'a> {
    /// Reads the data of the experimenter's message; `None` for an unknown kind.
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Option<BundleControl<'a>>, Fault> {
        use BundleControlKind::*;
        let kinds = [
            OpenRequest,
            OpenReply,
            CloseRequest,
            CloseReply,
            CommitRequest,
            CommitReply,
            DiscardRequest,
            DiscardReply,
        ];
        let (bundle, kind, flags) = (reader.u32()?, reader.u16()?, reader.u16()?);
        let properties = reader.take_rest();
        let kind = kinds.get(usize::from(kind));
        Ok(kind.map(|kind| BundleControl {
            bundle,
            kind: *kind,
            flags,
            properties,
        }))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u32(ONF);
        out.u32(CONTROL);
        out.u32(self.bundle);
        out.u16(self.kind as u16);
        out.u16(self.flags);
        out.extend_from_slice(self.properties);
    }
}

/// Adds a message to a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleAdd<'a> {
    /// The bundle, on this connection.
    pub bundle: u32,
    /// Bits of [`bundle_flags`], the same as when it was opened.
    pub flags: u16,
    /// The message, with its header and the xid of the message that carries it; properties may be behind it.
    pub message: &'a [u8],
}

impl<'a> BundleAdd<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<BundleAdd<'a>, Fault> {
        let bundle = reader.u32()?;
        reader.skip(2)?;
        Ok(BundleAdd {
            bundle,
            flags: reader.u16()?,
            message: reader.take_rest(),
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u32(ONF);
        out.u32(ADD);
        out.u32(self.bundle);
        out.zeros(2);
        out.u16(self.flags);
        out.extend_from_slice(self.message);
    }
}

/// What is wrong with a bundle; the number is the type of the ONF's experimenter error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum BundleFault {
    Unknown = 2300,
    /// Not permitted.
    Eperm = 2301,
    /// No bundle of this number.
    BadId = 2302,
    /// There is one already.
    Exists = 2303,
    Closed = 2304,
    /// Too many bundles.
    OutOfBundles = 2305,
    /// An unknown kind of control.
    BadType = 2306,
    /// Flags that are unknown, not supported, or not those it was opened with.
    BadFlags = 2307,
    /// A message whose length does not fit.
    MessageBadLen = 2308,
    /// A message of another xid.
    MessageBadXid = 2309,
    /// A message that no bundle can have.
    MessageUnsupported = 2310,
    /// Messages that cannot go together.
    MessageConflict = 2311,
    /// Too many messages.
    MessageTooMany = 2312,
    MessageFailed = 2313,
    /// It took too long.
    Timeout = 2314,
    /// Something else is being done with it.
    InProgress = 2315,
}

impl BundleFault {
    /// The error message; `data` is the ONF's id in four bytes, [`ONF`], and what is quoted behind it.
    pub fn message(self, data: &[u8]) -> ErrorMessage<'_> {
        ErrorMessage {
            kind: 0xffff,
            code: self as u16,
            data,
        }
    }
}

/// Tells bundles from other experimenter messages of 1.3.
pub(super) fn is_bundle(experimenter: &Experimenter<'_>) -> bool {
    experimenter.experimenter == ONF && matches!(experimenter.kind, CONTROL | ADD)
}
