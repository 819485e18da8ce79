//! Statistics: what multipart requests ask for, and the elements of the replies.

use super::super::flow::{read_flags, write_flags};
use super::super::group::{Band, Bucket, GroupKind};
use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::instruction::Instruction;
use crate::list::{Element, List};
use crate::matching::Match;
use crate::port::{Name, PortNo};
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;
use core::fmt;

/// A text of a fixed width in the message: its bytes before the first zero.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Text<'a>(pub &'a [u8]);

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Text<'a> {
        Text(text.as_bytes())
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_str("?")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Who made the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Description<'a> {
    /// The manufacturer; at most 255 bytes, as the next two.
    pub manufacturer: Text<'a>,
    pub hardware: Text<'a>,
    pub software: Text<'a>,
    /// The serial number; at most 31 bytes.
    pub serial: Text<'a>,
    /// This switch, for people; at most 255 bytes.
    pub datapath: Text<'a>,
}

impl<'a> Description<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Description<'a>, Fault> {
        let mut text = |width| {
            let bytes = reader.take(width)?;
            Ok(Text(bytes.split(|byte| *byte == 0).next().unwrap_or(&[])))
        };
        Ok(Description {
            manufacturer: text(256)?,
            hardware: text(256)?,
            software: text(256)?,
            serial: text(32)?,
            datapath: text(256)?,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut text = |text: Text<'_>, width: usize| {
            let shown = &text.0[..text.0.len().min(width - 1)];
            out.extend_from_slice(shown);
            out.zeros(width - shown.len());
        };
        text(self.manufacturer, 256);
        text(self.hardware, 256);
        text(self.software, 256);
        text(self.serial, 32);
        text(self.datapath, 256);
    }
}

/// Which entries are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowQuery<'a> {
    /// The table, or 255 for all; 254 in 1.0 for the emergency table.
    pub table: u8,
    /// Only entries that output to this port, unless [`PortNo::ANY`].
    pub out_port: PortNo,
    /// Only entries that have this group, unless [`ANY_GROUP`](super::super::ANY_GROUP); that in 1.0.
    pub out_group: u32,
    /// Only entries whose cookie has these bits.
    pub cookie: u64,
    /// Which bits of it; 0 in 1.0.
    pub cookie_mask: u64,
    /// Only entries within this match.
    pub matching: Match<'a>,
}

impl Default for FlowQuery<'_> {
    /// All entries of all tables.
    fn default() -> Self {
        FlowQuery {
            table: 0xff,
            out_port: PortNo::ANY,
            out_group: u32::MAX,
            cookie: 0,
            cookie_mask: 0,
            matching: Match::ALL,
        }
    }
}

impl<'a> FlowQuery<'a> {
    pub(super) fn read(version: Version, reader: &mut Reader<'a>) -> Result<FlowQuery<'a>, Fault> {
        match version {
            Version::V10 => {
                let (matching, table) = (Match::read(version, reader)?, reader.u8()?);
                reader.skip(1)?;
                let out_port = PortNo::read(version, reader)?;
                Ok(FlowQuery {
                    table,
                    out_port,
                    matching,
                    ..FlowQuery::default()
                })
            }
            Version::V13 => {
                let table = reader.u8()?;
                reader.skip(3)?;
                let (out_port, out_group) = (PortNo(reader.u32()?), reader.u32()?);
                reader.skip(4)?;
                let (cookie, cookie_mask) = (reader.u64()?, reader.u64()?);
                let matching = Match::read(version, reader)?;
                Ok(FlowQuery {
                    table,
                    out_port,
                    out_group,
                    cookie,
                    cookie_mask,
                    matching,
                })
            }
        }
    }

    pub(super) fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        match version {
            Version::V10 => {
                if self.cookie_mask != 0 {
                    return Err(Unsupported::new(version, "a mask on the cookie"));
                }
                if self.out_group != u32::MAX {
                    return Err(Unsupported::new(version, "a group"));
                }
                self.matching.write(version, out)?;
                out.u8(self.table);
                out.zeros(1);
                self.out_port.write(version, out)
            }
            Version::V13 => {
                out.u8(self.table);
                out.zeros(3);
                out.u32(self.out_port.0);
                out.u32(self.out_group);
                out.zeros(4);
                out.u64(self.cookie);
                out.u64(self.cookie_mask);
                self.matching.write(version, out)
            }
        }
    }
}

/// An entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStats<'a> {
    pub table: u8,
    /// How long it is there: whole seconds.
    pub duration_s: u32,
    /// And nanoseconds.
    pub duration_ns: u32,
    pub priority: u16,
    /// Its idle timeout, in seconds.
    pub idle_timeout: u16,
    /// Its hard timeout, in seconds.
    pub hard_timeout: u16,
    /// Bits of [`flow_flags`](super::super::flow_flags); 0 in 1.0.
    pub flags: u16,
    /// The controller's mark.
    pub cookie: u64,
    /// The packets that it matched; all ones if they are not counted.
    pub packets: u64,
    /// Their bytes; all ones if they are not counted.
    pub bytes: u64,
    pub matching: Match<'a>,
    /// What it does.
    pub instructions: List<'a, Instruction<'a>>,
}

/// An element that begins with its own length: the bytes behind that.
fn sized<'a>(reader: &mut Reader<'a>, least: usize) -> Result<Reader<'a>, Fault> {
    let length = usize::from(reader.u16()?);
    if length < least {
        return Err(Fault::BadLen);
    }
    Ok(Reader::new(reader.take(length - 2)?, Fault::BadLen))
}

impl<'a> Element<'a> for FlowStats<'a> {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let mut body = sized(reader, 4)?;
        let table = body.u8()?;
        body.skip(1)?;
        let early = match version {
            Version::V10 => Match::read_told(version, &mut body)?,
            Version::V13 => Match::ALL,
        };
        let (duration_s, duration_ns) = (body.u32()?, body.u32()?);
        let (priority, idle_timeout, hard_timeout) = (body.u16()?, body.u16()?, body.u16()?);
        let flags = match version {
            Version::V10 => {
                body.skip(6)?;
                0
            }
            Version::V13 => {
                let flags = read_flags(version, body.u16()?)?;
                body.skip(4)?;
                flags
            }
        };
        let (cookie, packets, bytes) = (body.u64()?, body.u64()?, body.u64()?);
        let matching = match version {
            Version::V10 => early,
            Version::V13 => Match::read_told(version, &mut body)?,
        };
        Ok(FlowStats {
            table,
            duration_s,
            duration_ns,
            priority,
            idle_timeout,
            hard_timeout,
            flags,
            cookie,
            packets,
            bytes,
            matching,
            instructions: List::from_wire(version, body.take_rest())?,
        })
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        out.u16(0);
        out.u8(self.table);
        out.zeros(1);
        if version == Version::V10 {
            self.matching.write(version, out)?;
        }
        out.u32(self.duration_s);
        out.u32(self.duration_ns);
        out.u16(self.priority);
        out.u16(self.idle_timeout);
        out.u16(self.hard_timeout);
        match version {
            Version::V10 => out.zeros(6),
            Version::V13 => {
                out.u16(write_flags(version, self.flags)?);
                out.zeros(4);
            }
        }
        out.u64(self.cookie);
        out.u64(self.packets);
        out.u64(self.bytes);
        if version == Version::V13 {
            self.matching.write(version, out)?;
        }
        self.instructions.write(version, out)?;
        out.patch(start, start);
        Ok(())
    }
}

/// The sum over entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Aggregate {
    /// Packets that they matched.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The entries.
    pub flows: u32,
}

impl Aggregate {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Aggregate, Fault> {
        let aggregate = Aggregate {
            packets: reader.u64()?,
            bytes: reader.u64()?,
            flows: reader.u32()?,
        };
        reader.skip(4)?;
        Ok(aggregate)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u64(self.packets);
        out.u64(self.bytes);
        out.u32(self.flows);
        out.zeros(4);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableStats {
    pub table: u8,
    /// Its name; 1.0 only.
    pub name: Name<32>,
    /// The wildcards of 1.0 that it can match; 1.0 only.
    pub wildcards: u32,
    /// Room for so many entries; 1.0 only.
    pub max_entries: u32,
    /// Entries in it.
    pub active: u32,
    /// Packets looked up.
    pub lookups: u64,
    /// Packets that an entry matched.
    pub matched: u64,
}

impl<'a> Element<'a> for TableStats {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let mut stats = TableStats {
            table: reader.u8()?,
            ..TableStats::default()
        };
        reader.skip(3)?;
        if version == Version::V10 {
            stats.name = Name(reader.array()?);
            stats.wildcards = reader.u32()?;
            stats.max_entries = reader.u32()?;
        }
        stats.active = reader.u32()?;
        stats.lookups = reader.u64()?;
        stats.matched = reader.u64()?;
        Ok(stats)
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u8(self.table);
        out.zeros(3);
        if version == Version::V10 {
            out.extend_from_slice(&self.name.0);
            out.u32(self.wildcards);
            out.u32(self.max_entries);
        }
        out.u32(self.active);
        out.u64(self.lookups);
        out.u64(self.matched);
        Ok(())
    }
}

/// The counters of a port; all ones where one is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortStats {
    pub port: PortNo,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets dropped at receipt.
    pub rx_dropped: u64,
    /// Packets dropped instead of sent.
    pub tx_dropped: u64,
    /// Receive errors, of all kinds.
    pub rx_errors: u64,
    /// Transmit errors, of all kinds.
    pub tx_errors: u64,
    /// Frame alignment errors.
    pub rx_frame_errors: u64,
    /// Overruns.
    pub rx_over_errors: u64,
    pub rx_crc_errors: u64,
    pub collisions: u64,
    /// How long the port is there: whole seconds; 0 in 1.0.
    pub duration_s: u32,
    /// And nanoseconds; 0 in 1.0.
    pub duration_ns: u32,
}

impl<'a> Element<'a> for PortStats {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let port = PortNo::read(version, reader)?;
        reader.skip(if version == Version::V10 { 6 } else { 4 })?;
        let mut next = || reader.u64();
        let mut stats = PortStats {
            port,
            rx_packets: next()?,
            tx_packets: next()?,
            rx_bytes: next()?,
            tx_bytes: next()?,
            rx_dropped: next()?,
            tx_dropped: next()?,
            rx_errors: next()?,
            tx_errors: next()?,
            rx_frame_errors: next()?,
            rx_over_errors: next()?,
            rx_crc_errors: next()?,
            collisions: next()?,
            duration_s: 0,
            duration_ns: 0,
        };
        if version == Version::V13 {
            stats.duration_s = reader.u32()?;
            stats.duration_ns = reader.u32()?;
        }
        Ok(stats)
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        self.port.write(version, out)?;
        out.zeros(if version == Version::V10 { 6 } else { 4 });
        for counter in [
            self.rx_packets,
            self.tx_packets,
            self.rx_bytes,
            self.tx_bytes,
            self.rx_dropped,
            self.tx_dropped,
            self.rx_errors,
            self.tx_errors,
            self.rx_frame_errors,
            self.rx_over_errors,
            self.rx_crc_errors,
            self.collisions,
        ] {
            out.u64(counter);
        }
        if version == Version::V13 {
            out.u32(self.duration_s);
            out.u32(self.duration_ns);
        }
        Ok(())
    }
}

/// The counters of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueStats {
    pub port: PortNo,
    pub queue: u32,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets dropped since it was full.
    pub tx_errors: u64,
    /// How long it is there: whole seconds; 0 in 1.0.
    pub duration_s: u32,
    /// And nanoseconds; 0 in 1.0.
    pub duration_ns: u32,
}

impl<'a> Element<'a> for QueueStats {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let port = PortNo::read(version, reader)?;
        reader.skip(if version == Version::V10 { 2 } else { 0 })?;
        let (queue, tx_bytes) = (reader.u32()?, reader.u64()?);
        let (tx_packets, tx_errors) = (reader.u64()?, reader.u64()?);
        let (duration_s, duration_ns) = match version {
            Version::V10 => (0, 0),
            Version::V13 => (reader.u32()?, reader.u32()?),
        };
        Ok(QueueStats {
            port,
            queue,
            tx_bytes,
            tx_packets,
            tx_errors,
            duration_s,
            duration_ns,
        })
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        self.port.write(version, out)?;
        out.zeros(if version == Version::V10 { 2 } else { 0 });
        out.u32(self.queue);
        out.u64(self.tx_bytes);
        out.u64(self.tx_packets);
        out.u64(self.tx_errors);
        if version == Version::V13 {
            out.u32(self.duration_s);
            out.u32(self.duration_ns);
        }
        Ok(())
    }
}

/// Packets and bytes of a bucket or a band.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub packets: u64,
    pub bytes: u64,
}

impl<'a> Element<'a> for Counters {
    fn read(_version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        Ok(Counters {
            packets: reader.u64()?,
            bytes: reader.u64()?,
        })
    }

    fn write(&self, _version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u64(self.packets);
        out.u64(self.bytes);
        Ok(())
    }
}

/// The counters of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupStats<'a> {
    pub group: u32,
    /// Entries and groups that lead to it.
    pub references: u32,
    /// Packets and bytes that it handled.
    pub counters: Counters,
    /// How long it is there: whole seconds.
    pub duration_s: u32,
    /// And nanoseconds.
    pub duration_ns: u32,
    pub buckets: List<'a, Counters>,
}

impl<'a> Element<'a> for GroupStats<'a> {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let mut body = sized(reader, 40)?;
        body.skip(2)?;
        let (group, references) = (body.u32()?, body.u32()?);
        body.skip(4)?;
        let counters = Counters::read(version, &mut body)?;
        let (duration_s, duration_ns) = (body.u32()?, body.u32()?);
        let buckets = List::from_wire(version, body.take_rest())?;
        Ok(GroupStats {
            group,
            references,
            counters,
            duration_s,
            duration_ns,
            buckets,
        })
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        out.zeros(4);
        out.u32(self.group);
        out.u32(self.references);
        out.zeros(4);
        self.counters.write(version, out)?;
        out.u32(self.duration_s);
        out.u32(self.duration_ns);
        self.buckets.write(version, out)?;
        out.patch(start, start);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupDescription<'a> {
    /// How it uses its buckets.
    pub kind: GroupKind,
    pub group: u32,
    pub buckets: List<'a, Bucket<'a>>,
}

impl<'a> Element<'a> for GroupDescription<'a> {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let mut body = sized(reader, 8)?;
        let kind = GroupKind::from_wire(body.u8()?)?;
        body.skip(1)?;
        let group = body.u32()?;
        let buckets = List::from_wire(version, body.take_rest())?;
        Ok(GroupDescription {
            kind,
            group,
            buckets,
        })
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        out.u16(0);
        out.u8(self.kind as u8);
        out.zeros(1);
        out.u32(self.group);
        self.buckets.write(version, out)?;
        out.patch(start, start);
        Ok(())
    }
}

/// What groups a switch can have. Arrays are by kind: all, select, indirect, fast failover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupFeatures {
    /// A bit for each kind.
    pub kinds: u32,
    /// Bit 0: select by weight; 1: select by liveness; 2: chaining; 3: checks for loops.
    pub capabilities: u32,
    /// Most groups of each kind.
    pub max_groups: [u32; 4],
    /// The actions of each kind, a bit for each number.
    pub actions: [u32; 4],
}

impl GroupFeatures {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<GroupFeatures, Fault> {
        let mut words = [0; 10];
        for word in &mut words {
            *word = reader.u32()?;
        }
        let [kinds, capabilities, a, b, c, d, actions @ ..] = words;
        Ok(GroupFeatures {
            kinds,
            capabilities,
            max_groups: [a, b, c, d],
            actions,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.kinds);
        out.u32(self.capabilities);
        self.max_groups
            .iter()
            .chain(&self.actions)
            .for_each(|word| out.u32(*word));
    }
}

/// The counters of a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterStats<'a> {
    pub meter: u32,
    /// Entries that lead to it.
    pub flows: u32,
    /// Packets and bytes that came.
    pub input: Counters,
    /// How long it is there: whole seconds.
    pub duration_s: u32,
    /// And nanoseconds.
    pub duration_ns: u32,
    /// What each band acted on.
    pub bands: List<'a, Counters>,
}

impl<'a> Element<'a> for MeterStats<'a> {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let (meter, length) = (reader.u32()?, usize::from(reader.u16()?));
        let body = reader.take(length.checked_sub(6).ok_or(Fault::BadLen)?)?;
        let mut body = Reader::new(body, Fault::BadLen);
        body.skip(6)?;
        let flows = body.u32()?;
        let input = Counters::read(version, &mut body)?;
        let (duration_s, duration_ns) = (body.u32()?, body.u32()?);
        let bands = List::from_wire(version, body.take_rest())?;
        Ok(MeterStats {
            meter,
            flows,
            input,
            duration_s,
            duration_ns,
            bands,
        })
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        out.u32(self.meter);
        out.zeros(8);
        out.u32(self.flows);
        self.input.write(version, out)?;
        out.u32(self.duration_s);
        out.u32(self.duration_ns);
        self.bands.write(version, out)?;
        out.patch(start + 4, start);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterConfig<'a> {
    /// Bits of [`meter_flags`](super::super::meter_flags).
    pub flags: u16,
    pub meter: u32,
    pub bands: List<'a, Band>,
}

impl<'a> Element<'a> for MeterConfig<'a> {
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let mut body = sized(reader, 8)?;
        let (flags, meter) = (body.u16()?, body.u32()?);
        Ok(MeterConfig {
            flags,
            meter,
            bands: List::from_wire(version, body.take_rest())?,
        })
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        out.u16(0);
        out.u16(self.flags);
        out.u32(self.meter);
        self.bands.write(version, out)?;
        out.patch(start, start);
        Ok(())
    }
}

/// What meters a switch can have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeterFeatures {
    /// The highest number of a meter.
    pub max_meter: u32,
    /// A bit for each type of band: 1 drop, 2 DSCP remark.
    pub band_types: u32,
    /// Bits of [`meter_flags`](super::super::meter_flags).
    pub capabilities: u32,
    /// Most bands of a meter.
    pub max_bands: u8,
    /// Most colours.
    pub max_color: u8,
}

impl MeterFeatures {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<MeterFeatures, Fault> {
        let features = MeterFeatures {
            max_meter: reader.u32()?,
            band_types: reader.u32()?,
            capabilities: reader.u32()?,
            max_bands: reader.u8()?,
            max_color: reader.u8()?,
        };
        reader.skip(2)?;
        Ok(features)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.max_meter);
        out.u32(self.band_types);
        out.u32(self.capabilities);
        out.u8(self.max_bands);
        out.u8(self.max_color);
        out.zeros(2);
    }
}
