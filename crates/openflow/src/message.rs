//! The messages of both versions as one model.
//!
//! Reading borrows: payloads and lists are slices of the message. Everything in a message is checked once, in [`decode`];
//! after that no iteration fails.
//!
//! ```
//! use openflow::message::{Message, decode};
//! use openflow::version::Version;
//!
//! let mut bytes = Vec::new();
//! Message::EchoRequest(b"are you there?").encode(Version::V13, 7, &mut bytes)?;
//! let (header, message) = decode(&bytes).unwrap();
//! assert_eq!((header.xid, message), (7, Message::EchoRequest(b"are you there?")));
//! # Ok::<(), openflow::version::Unsupported>(())
//! ```

mod bundle;
mod code;
mod flow;
mod group;
mod multipart;
mod packet;
mod port;
mod queue;
mod role;
mod switch;

pub use bundle::{BundleAdd, BundleControl, BundleControlKind, BundleFault, ONF, bundle_flags};
pub use flow::{
    ALL_TABLES, ANY_GROUP, FlowCommand, FlowMod, FlowRemoved, FlowRemovedReason, flow_flags,
};
pub use group::{
    ALL_GROUPS, ALL_METERS, Band, BandKind, Bucket, CONTROLLER_METER, Change, GroupKind, GroupMod,
    MAX_GROUP, MAX_METER, MeterMod, SLOWPATH_METER, meter_flags,
};
pub use multipart::{
    Aggregate, Answer, Counters, Description, ExperimenterPart, FeatureId, FlowQuery, FlowStats,
    GroupDescription, GroupFeatures, GroupStats, MeterConfig, MeterFeatures, MeterStats,
    MultipartReply, MultipartRequest, OxmId, PortStats, Query, QueueStats, TableFeatures,
    TableProperty, TableStats, Text,
};
pub use packet::{PacketIn, PacketInReason, PacketOut};
pub use port::{PortMod, PortReason, PortStatus};
pub use queue::{ALL_QUEUES, Queue, QueueConfig, QueueProperty};
pub use role::{Async, Role, RoleMessage};
pub use switch::{Config, ErrorMessage, Experimenter, Features, Hello, TableMod, capabilities};

pub use crate::version::{Unsupported, Version};

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::port::PortNo;
use alloc::vec::Vec;

/// The bytes of a header.
pub const HEADER: usize = 8;

/// The bytes of a request that an error quotes, at most.
pub const QUOTED: usize = 64;

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version's number: of a hello, any.
    pub version: u8,
    /// The number of the type.
    pub kind: u8,
    /// The length with the header, in bytes: at least 8.
    pub length: u16,
    /// What pairs a reply with its request.
    pub xid: u32,
}

impl Header {
    /// The header at the front of these bytes; `None` if they are fewer than 8.
    pub fn peek(bytes: &[u8]) -> Option<Header> {
        let bytes: &[u8; HEADER] = bytes.first_chunk()?;
        let [version, kind, high, low, xid @ ..] = *bytes;
        let length = u16::from_be_bytes([high, low]);
        Some(Header {
            version,
            kind,
            length,
            xid: u32::from_be_bytes(xid),
        })
    }

    /// The version, if it is one spoken here.
    pub fn version(&self) -> Option<Version> {
        Version::from_wire(self.version)
    }
}

/// A header whose length is below its own: the stream behind it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of {0} bytes by its header; a header alone has 8: close the connection")]
pub struct BadFrame(pub u16);

/// The length of the first message in the buffer, once it is there as a whole.
///
/// # Errors
/// When its length is below 8.
pub fn frame(buffer: &[u8]) -> Result<Option<usize>, BadFrame> {
    let Some(header) = Header::peek(buffer) else {
        return Ok(None);
    };
    let length = usize::from(header.length);
    if length < HEADER {
        return Err(BadFrame(header.length));
    }
    Ok((length <= buffer.len()).then_some(length))
}

/// A message that cannot be, and what to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct DecodeError<'a> {
    pub fault: Fault,
    /// The header, if there was a whole one.
    pub header: Option<Header>,
    /// The front of the message, to be quoted in the answer: at most [`QUOTED`] bytes.
    pub quoted: &'a [u8],
}

impl<'a> DecodeError<'a> {
    /// The error message that answers it, on a connection of this version; its xid is the request's.
    pub fn message(&self, version: Version) -> Message<'a> {
        let (kind, code) = self.fault.wire(version);
        Message::Error(ErrorMessage {
            kind,
            code,
            data: self.quoted,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// The first message of each side.
    Hello(Hello),
    /// Something went wrong.
    Error(ErrorMessage<'a>),
    /// Asks for an echo of this data.
    EchoRequest(&'a [u8]),
    EchoReply(&'a [u8]),
    /// An experimenter's (vendor's) message.
    Experimenter(Experimenter<'a>),
    /// Asks what the switch is.
    FeaturesRequest,
    /// What the switch is.
    FeaturesReply(Features<'a>),
    /// Asks for the configuration.
    GetConfigRequest,
    /// The configuration.
    GetConfigReply(Config),
    /// Sets the configuration.
    SetConfig(Config),
    /// A packet for the controller.
    PacketIn(PacketIn<'a>),
    /// An entry is gone.
    FlowRemoved(FlowRemoved<'a>),
    /// A port came, went, or changed.
    PortStatus(PortStatus),
    /// A packet to send.
    PacketOut(PacketOut<'a>),
    /// Changes entries.
    FlowMod(FlowMod<'a>),
    /// Asks for all before it to be done.
    BarrierRequest,
    /// All before the request is done.
    BarrierReply,
    /// Changes a group; 1.3 only.
    GroupMod(GroupMod<'a>),
    /// Changes a port.
    PortMod(PortMod),
    /// Changes a table; 1.3 only.
    TableMod(TableMod),
    /// Changes a meter; 1.3 only.
    MeterMod(MeterMod<'a>),
    /// Asks for statistics and descriptions.
    MultipartRequest(MultipartRequest<'a>),
    /// Statistics and descriptions.
    MultipartReply(MultipartReply<'a>),
    /// Asks for the queues of a port.
    QueueConfigRequest(PortNo),
    /// The queues of a port.
    QueueConfigReply(QueueConfig<'a>),
    /// Asks for a role; 1.3 only.
    RoleRequest(RoleMessage),
    /// The role given; 1.3 only.
    RoleReply(RoleMessage),
    /// Asks which asynchronous messages this controller gets; 1.3 only.
    GetAsyncRequest,
    /// Which asynchronous messages this controller gets; 1.3 only.
    GetAsyncReply(Async),
    /// Sets which asynchronous messages this controller gets; 1.3 only.
    SetAsync(Async),
    /// Controls a bundle; 1.3 only, as an experimenter's message.
    BundleControl(BundleControl<'a>),
    /// Adds a message to a bundle; 1.3 only, as an experimenter's message.
    BundleAdd(BundleAdd<'a>),
}

impl<'a> Message<'a> {
    /// Appends the message with its header. After an error nothing is appended.
    ///
    /// # Errors
    /// When the version has no form for it, or it is longer than 65,535 bytes.
    pub fn encode(&self, version: Version, xid: u32, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        let result = self.append(version, xid, out).and_then(|()| {
            let length = out.len() - start;
            u16::try_from(length)
                .map_err(|_| Unsupported::new(version, "a message longer than 65,535 bytes"))
        });
        match result {
            Ok(length) => {
                out[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
                Ok(())
            }
            Err(unsupported) => {
                out.truncate(start);
                Err(unsupported)
            }
        }
    }

    fn append(&self, version: Version, xid: u32, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u8(version.wire());
        out.u8(code::of(self, version)?);
        out.u16(0);
        out.u32(xid);
        match self {
            Message::Hello(hello) => hello.write(out),
            Message::Error(error) => error.write(out),
            Message::EchoRequest(data) | Message::EchoReply(data) => out.extend_from_slice(data),
            Message::Experimenter(experimenter) => experimenter.write(version, out)?,
            Message::FeaturesReply(features) => features.write(version, out)?,
            Message::GetConfigReply(config) | Message::SetConfig(config) => config.write(out),
            Message::PacketIn(packet) => packet.write(version, out)?,
            Message::FlowRemoved(removed) => removed.write(version, out)?,
            Message::PortStatus(status) => status.write(version, out)?,
            Message::PacketOut(packet) => packet.write(version, out)?,
            Message::FlowMod(flow) => flow.write(version, out)?,
            Message::GroupMod(group) => group.write(version, out)?,
            Message::PortMod(port) => port.write(version, out)?,
            Message::TableMod(table) => table.write(out),
            Message::MeterMod(meter) => meter.write(version, out)?,
            Message::MultipartRequest(request) => request.write(version, out)?,
            Message::MultipartReply(reply) => reply.write(version, out)?,
            Message::QueueConfigRequest(port) => queue::write_request(*port, version, out)?,
            Message::QueueConfigReply(queues) => queues.write(version, out)?,
            Message::RoleRequest(role) | Message::RoleReply(role) => role.write(out),
            Message::GetAsyncReply(masks) | Message::SetAsync(masks) => masks.write(out),
            Message::BundleControl(control) => control.write(out),
            Message::BundleAdd(add) => add.write(out),
            Message::FeaturesRequest
            | Message::GetConfigRequest
            | Message::BarrierRequest
            | Message::BarrierReply
            | Message::GetAsyncRequest => {}
        }
        Ok(())
    }
}

/// Reads the message at the front of these bytes, as long as its header says. A hello or an error may be of any version.
///
/// # Errors
/// The fault that the specification names, with what an answer quotes.
pub fn decode(bytes: &[u8]) -> Result<(Header, Message<'_>), DecodeError<'_>> {
    let error = |fault, header: Option<Header>| {
        let length = header.map_or(bytes.len(), |header| usize::from(header.length));
        DecodeError {
            fault,
            header,
            quoted: &bytes[..length.min(QUOTED).min(bytes.len())],
        }
    };
    let header = Header::peek(bytes).ok_or_else(|| error(Fault::BadLen, None))?;
    let whole = bytes.get(HEADER..usize::from(header.length));
    let body = whole.ok_or_else(|| error(Fault::BadLen, Some(header)))?;
    let message = read(header, body).map_err(|fault| error(fault, Some(header)))?;
    Ok((header, message))
}

fn read(header: Header, body: &[u8]) -> Result<Message<'_>, Fault> {
    let mut reader = Reader::new(body, Fault::BadLen);
    match header.kind {
        0 => return Ok(Message::Hello(Hello::read(body))),
        1 => return ErrorMessage::read(&mut reader).map(Message::Error),
        _ => {}
    }
    let version = header.version().ok_or(Fault::BadVersion)?;
    let kind = code::kind(version, header.kind).ok_or(Fault::BadType)?;
    let message = code::read(kind, version, &mut reader)?;
    reader.end()?;
    Ok(message)
}
