//! The numbers of the messages, which differ between the versions.

use super::*;

/// The messages behind hello and error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    EchoRequest,
    EchoReply,
    Experimenter,
    FeaturesRequest,
    FeaturesReply,
    GetConfigRequest,
    GetConfigReply,
    SetConfig,
    PacketIn,
    FlowRemoved,
    PortStatus,
    PacketOut,
    FlowMod,
    BarrierRequest,
    BarrierReply,
    GroupMod,
    PortMod,
    TableMod,
    MeterMod,
    MultipartRequest,
    MultipartReply,
    QueueConfigRequest,
    QueueConfigReply,
    RoleRequest,
    RoleReply,
    GetAsyncRequest,
    GetAsyncReply,
    SetAsync,
}

/// Number in 1.0, number in 1.3.
const NUMBERS: [(Kind, Option<u8>, Option<u8>); 28] = [
    (Kind::EchoRequest, Some(2), Some(2)),
    (Kind::EchoReply, Some(3), Some(3)),
    (Kind::Experimenter, Some(4), Some(4)),
    (Kind::FeaturesRequest, Some(5), Some(5)),
    (Kind::FeaturesReply, Some(6), Some(6)),
    (Kind::GetConfigRequest, Some(7), Some(7)),
    (Kind::GetConfigReply, Some(8), Some(8)),
    (Kind::SetConfig, Some(9), Some(9)),
    (Kind::PacketIn, Some(10), Some(10)),
    (Kind::FlowRemoved, Some(11), Some(11)),
    (Kind::PortStatus, Some(12), Some(12)),
    (Kind::PacketOut, Some(13), Some(13)),
    (Kind::FlowMod, Some(14), Some(14)),
    (Kind::BarrierRequest, Some(18), Some(20)),
    (Kind::BarrierReply, Some(19), Some(21)),
    (Kind::GroupMod, None, Some(15)),
    (Kind::PortMod, Some(15), Some(16)),
    (Kind::TableMod, None, Some(17)),
    (Kind::MeterMod, None, Some(29)),
    (Kind::MultipartRequest, Some(16), Some(18)),
    (Kind::MultipartReply, Some(17), Some(19)),
    (Kind::QueueConfigRequest, Some(20), Some(22)),
    (Kind::QueueConfigReply, Some(21), Some(23)),
    (Kind::RoleRequest, None, Some(24)),
    (Kind::RoleReply, None, Some(25)),
    (Kind::GetAsyncRequest, None, Some(26)),
    (Kind::GetAsyncReply, None, Some(27)),
    (Kind::SetAsync, None, Some(28)),
];

/// What the number means.
pub(super) fn kind(version: Version, number: u8) -> Option<Kind> {
    let row = NUMBERS.iter().find(|(_, ten, thirteen)| {
        Some(number)
            == match version {
                Version::V10 => *ten,
                Version::V13 => *thirteen,
            }
    });
    row.map(|(kind, ..)| *kind)
}

/// The number of a message.
pub(super) fn of(message: &Message<'_>, version: Version) -> Result<u8, Unsupported> {
    let kind = match message {
        Message::Hello(_) => return Ok(0),
        Message::Error(_) => return Ok(1),
        Message::EchoRequest(_) => Kind::EchoRequest,
        Message::EchoReply(_) => Kind::EchoReply,
        Message::Experimenter(_) => Kind::Experimenter,
        Message::FeaturesRequest => Kind::FeaturesRequest,
        Message::FeaturesReply(_) => Kind::FeaturesReply,
        Message::GetConfigRequest => Kind::GetConfigRequest,
        Message::GetConfigReply(_) => Kind::GetConfigReply,
        Message::SetConfig(_) => Kind::SetConfig,
        Message::PacketIn(_) => Kind::PacketIn,
        Message::FlowRemoved(_) => Kind::FlowRemoved,
        Message::PortStatus(_) => Kind::PortStatus,
        Message::PacketOut(_) => Kind::PacketOut,
        Message::FlowMod(_) => Kind::FlowMod,
        Message::BarrierRequest => Kind::BarrierRequest,
        Message::BarrierReply => Kind::BarrierReply,
        Message::GroupMod(_) => Kind::GroupMod,
        Message::PortMod(_) => Kind::PortMod,
        Message::TableMod(_) => Kind::TableMod,
        Message::MeterMod(_) => Kind::MeterMod,
        Message::MultipartRequest(_) => Kind::MultipartRequest,
        Message::MultipartReply(_) => Kind::MultipartReply,
        Message::QueueConfigRequest(_) => Kind::QueueConfigRequest,
        Message::QueueConfigReply(_) => Kind::QueueConfigReply,
        Message::RoleRequest(_) => Kind::RoleRequest,
        Message::RoleReply(_) => Kind::RoleReply,
        Message::GetAsyncRequest => Kind::GetAsyncRequest,
        Message::GetAsyncReply(_) => Kind::GetAsyncReply,
        Message::SetAsync(_) => Kind::SetAsync,
        Message::BundleControl(_) | Message::BundleAdd(_) if version == Version::V10 => {
            return Err(Unsupported::new(version, "a bundle"));
        }
        Message::BundleControl(_) | Message::BundleAdd(_) => Kind::Experimenter,
    };
    let row = NUMBERS.iter().find(|(other, ..)| *other == kind);
    let number = row.and_then(|(_, ten, thirteen)| match version {
        Version::V10 => *ten,
        Version::V13 => *thirteen,
    });
    number.ok_or(Unsupported::new(version, "this message"))
}

/// Reads what is behind the header.
pub(super) fn read<'a>(
    kind: Kind,
    version: Version,
    reader: &mut Reader<'a>,
) -> Result<Message<'a>, Fault> {
    Ok(match kind {
        Kind::EchoRequest => Message::EchoRequest(reader.take_rest()),
        Kind::EchoReply => Message::EchoReply(reader.take_rest()),
        Kind::Experimenter => bundle(Experimenter::read(version, reader)?)?,
        Kind::FeaturesRequest => Message::FeaturesRequest,
        Kind::FeaturesReply => Message::FeaturesReply(Features::read(version, reader)?),
        Kind::GetConfigRequest => Message::GetConfigRequest,
        Kind::GetConfigReply => Message::GetConfigReply(Config::read(reader)?),
        Kind::SetConfig => Message::SetConfig(Config::read(reader)?),
        Kind::PacketIn => Message::PacketIn(PacketIn::read(version, reader)?),
        Kind::FlowRemoved => Message::FlowRemoved(FlowRemoved::read(version, reader)?),
        Kind::PortStatus => Message::PortStatus(PortStatus::read(version, reader)?),
        Kind::PacketOut => Message::PacketOut(PacketOut::read(version, reader)?),
        Kind::FlowMod => Message::FlowMod(FlowMod::read(version, reader)?),
        Kind::BarrierRequest => Message::BarrierRequest,
        Kind::BarrierReply => Message::BarrierReply,
        Kind::GroupMod => Message::GroupMod(GroupMod::read(version, reader)?),
        Kind::PortMod => Message::PortMod(PortMod::read(version, reader)?),
        Kind::TableMod => Message::TableMod(TableMod::read(reader)?),
        Kind::MeterMod => Message::MeterMod(MeterMod::read(version, reader)?),
        Kind::MultipartRequest => {
            Message::MultipartRequest(MultipartRequest::read(version, reader)?)
        }
        Kind::MultipartReply => Message::MultipartReply(MultipartReply::read(version, reader)?),
        Kind::QueueConfigRequest => {
            Message::QueueConfigRequest(queue::read_request(version, reader)?)
        }
        Kind::QueueConfigReply => Message::QueueConfigReply(QueueConfig::read(version, reader)?),
        Kind::RoleRequest => Message::RoleRequest(RoleMessage::read(reader)?),
        Kind::RoleReply => Message::RoleReply(RoleMessage::read(reader)?),
        Kind::GetAsyncRequest => Message::GetAsyncRequest,
        Kind::GetAsyncReply => Message::GetAsyncReply(Async::read(reader)?),
        Kind::SetAsync => Message::SetAsync(Async::read(reader)?),
    })
}

/// Bundles are experimenter messages; of an unknown kind of control, they stay so.
fn bundle(experimenter: Experimenter<'_>) -> Result<Message<'_>, Fault> {
    let mut reader = Reader::new(experimenter.data, Fault::BadLen);
    if !bundle::is_bundle(&experimenter) {
        return Ok(Message::Experimenter(experimenter));
    }
    Ok(match experimenter.kind {
        bundle::ADD => Message::BundleAdd(BundleAdd::read(&mut reader)?),
        _ => match BundleControl::read(&mut reader)? {
            Some(control) => Message::BundleControl(control),
            None => Message::Experimenter(experimenter),
        },
    })
}
