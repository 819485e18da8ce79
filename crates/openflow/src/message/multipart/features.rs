//! What tables can do (1.3.5 section 7.3.5.5).

use crate::bytes::{Put, Reader};
use crate::fault::Fault;
use crate::list::{Element, List};
use crate::oxm::Field;
use crate::port::Name;
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;

/// A table, and what it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFeatures<'a> {
    pub table: u8,
    pub name: Name<32>,
    /// The bits of the metadata that it can match.
    pub metadata_match: u64,
    /// The bits of the metadata that it can write.
    pub metadata_write: u64,
    /// Bits as of a table-mod.
    pub config: u32,
    /// Room for so many entries.
    pub max_entries: u32,
    /// The rest.
    pub properties: List<'a, TableProperty<'a>>,
}

impl<'a> Element<'a> for TableFeatures<'a> {
    const SHORT: Fault = Fault::FeaturesBadLen;

    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let mut ahead = reader.with(Fault::FeaturesBadLen);
        let length = usize::from(ahead.u16()?);
        let body = ahead.take(length.checked_sub(2).ok_or(Fault::FeaturesBadLen)?)?;
        reader.skip(length)?;
        let mut body = Reader::new(body, Fault::FeaturesBadLen);
        let table = body.u8()?;
        body.skip(5)?;
        Ok(TableFeatures {
            table,
            name: Name(body.array()?),
            metadata_match: body.u64()?,
            metadata_write: body.u64()?,
            config: body.u32()?,
            max_entries: body.u32()?,
            properties: List::from_wire(version, body.take_rest())?,
        })
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        out.u16(0);
        out.u8(self.table);
        out.zeros(5);
        out.extend_from_slice(&self.name.0);
        out.u64(self.metadata_match);
        out.u64(self.metadata_write);
        out.u32(self.config);
        out.u32(self.max_entries);
        self.properties.write(version, out)?;
        out.patch(start, start);
        Ok(())
    }
}

/// An instruction or an action, by type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeatureId {
    /// Of the specification.
    Kind(u16),
    /// An experimenter's.
    Experimenter(u32),
}

impl<'a> Element<'a> for FeatureId {
    const SHORT: Fault = Fault::FeaturesBadLen;

    fn read(_version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let (kind, mut body) = reader.element(4, Fault::FeaturesBadLen)?;
        let id = match kind {
            0xffff => FeatureId::Experimenter(body.u32()?),
            _ => FeatureId::Kind(kind),
        };
        body.end()?;
        Ok(id)
    }

    fn write(&self, _version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        match self {
            FeatureId::Kind(kind) => {
                out.u16(*kind);
                out.u16(4);
            }
            FeatureId::Experimenter(experimenter) => {
                out.u16(0xffff);
                out.u16(8);
                out.u32(*experimenter);
            }
        }
        Ok(())
    }
}

/// A field, by the header of its OXM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OxmId {
    /// Class, field, mask bit, and the length of a value.
    pub header: u32,
    /// Whose, for class 0xffff.
    pub experimenter: Option<u32>,
}

impl OxmId {
    /// A field, that may be masked or not.
    pub const fn new(field: Field, masked: bool) -> OxmId {
        // The length is that of what would follow (1.3.5 section 7.3.5.5.2): a mask, too. Open vSwitch passes over ids with
        // another.
        let header = field.header(masked);
        OxmId {
            header,
            experimenter: None,
        }
    }

    /// The field, if it is of the basic class.
    pub const fn field(self) -> Option<Field> {
        if self.header >> 16 == 0x8000 {
            Field::from_wire((self.header >> 9) as u8 & 0x7f)
        } else {
            None
        }
    }

    /// Whether it may be masked.
    pub const fn is_masked(self) -> bool {
        self.header & 0x100 != 0
    }
}

impl<'a> Element<'a> for OxmId {
    const SHORT: Fault = Fault::FeaturesBadLen;

    fn read(_version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let header = reader.u32()?;
        let experimenter = if header >> 16 == 0xffff {
            Some(reader.u32()?)
        } else {
            None
        };
        Ok(OxmId {
            header,
            experimenter,
        })
    }

    fn write(&self, _version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        out.u32(self.header);
        if let Some(experimenter) = self.experimenter {
            out.u32(experimenter);
        }
        Ok(())
    }
}

/// One thing that a table can do. With `miss` it is about the table-miss entry; without, about all, or all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableProperty<'a> {
    Instructions {
        /// For the table-miss entry.
        miss: bool,
        ids: List<'a, FeatureId>,
    },
    /// Tables that goto-table can name.
    NextTables {
        /// For the table-miss entry.
        miss: bool,
        tables: &'a [u8],
    },
    WriteActions {
        /// For the table-miss entry.
        miss: bool,
        ids: List<'a, FeatureId>,
    },
    ApplyActions {
        /// For the table-miss entry.
        miss: bool,
        ids: List<'a, FeatureId>,
    },
    /// Fields that can be matched.
    Match(List<'a, OxmId>),
    /// Fields that can be left out.
    Wildcards(List<'a, OxmId>),
    /// Fields that write-actions can set.
    WriteSetField {
        /// For the table-miss entry.
        miss: bool,
        ids: List<'a, OxmId>,
    },
    /// Fields that apply-actions can set.
    ApplySetField {
        /// For the table-miss entry.
        miss: bool,
        ids: List<'a, OxmId>,
    },
    /// An experimenter's.
    Experimenter {
        /// For the table-miss entry.
        miss: bool,
        /// Whose.
        experimenter: u32,
        /// Its type.
        kind: u32,
        /// What follows, without padding.
        data: &'a [u8],
    },
}

impl TableProperty<'_> {
    /// The number of its type.
    pub const fn kind(&self) -> u16 {
        let (kind, miss) = match *self {
            TableProperty::Instructions { miss, .. } => (0, miss),
            TableProperty::NextTables { miss, .. } => (2, miss),
            TableProperty::WriteActions { miss, .. } => (4, miss),
            TableProperty::ApplyActions { miss, .. } => (6, miss),
            TableProperty::Match(_) => (8, false),
            TableProperty::Wildcards(_) => (10, false),
            TableProperty::WriteSetField { miss, .. } => (12, miss),
            TableProperty::ApplySetField { miss, .. } => (14, miss),
            TableProperty::Experimenter { miss, .. } => (0xfffe, miss),
        };
        kind | miss as u16
    }

    /// Whether it is about the table-miss entry alone.
    pub const fn is_of_miss(&self) -> bool {
        self.kind() & 1 == 1
    }
}

impl<'a> Element<'a> for TableProperty<'a> {
    const SHORT: Fault = Fault::FeaturesBadLen;

    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault> {
        let (kind, mut body) = reader.padded(8, Fault::FeaturesBadLen)?;
        let miss = kind & 1 == 1;
        let rest = body.rest();
        let property = match kind {
            0 | 1 => TableProperty::Instructions {
                miss,
                ids: List::from_wire(version, rest)?,
            },
            2 | 3 => TableProperty::NextTables { miss, tables: rest },
            4 | 5 => TableProperty::WriteActions {
                miss,
                ids: List::from_wire(version, rest)?,
            },
            6 | 7 => TableProperty::ApplyActions {
                miss,
                ids: List::from_wire(version, rest)?,
            },
            8 => TableProperty::Match(List::from_wire(version, rest)?),
            10 => TableProperty::Wildcards(List::from_wire(version, rest)?),
            12 | 13 => TableProperty::WriteSetField {
                miss,
                ids: List::from_wire(version, rest)?,
            },
            14 | 15 => TableProperty::ApplySetField {
                miss,
                ids: List::from_wire(version, rest)?,
            },
            0xfffe | 0xffff => TableProperty::Experimenter {
                miss,
                experimenter: body.u32()?,
                kind: body.u32()?,
                data: body.take_rest(),
            },
            _ => return Err(Fault::FeaturesBadType),
        };
        Ok(property)
    }

    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        let start = out.len();
        out.u16(self.kind());
        out.u16(0);
        match *self {
            TableProperty::Instructions { ids, .. }
            | TableProperty::WriteActions { ids, .. }
            | TableProperty::ApplyActions { ids, .. } => ids.write(version, out)?,
            TableProperty::NextTables { tables, .. } => out.extend_from_slice(tables),
            TableProperty::Match(ids)
            | TableProperty::Wildcards(ids)
            | TableProperty::WriteSetField { ids, .. }
            | TableProperty::ApplySetField { ids, .. } => ids.write(version, out)?,
            TableProperty::Experimenter {
                experimenter,
                kind,
                data,
                ..
            } => {
                out.u32(experimenter);
                out.u32(kind);
                out.extend_from_slice(data);
            }
        }
        out.patch(start + 2, start);
        out.pad(start, 8);
        Ok(())
    }
}
