//! What entries of a table may be (1.3.5 section 7.3.5.5).

use crate::action::Action;
use crate::fault::Fault;
use crate::instruction::Instruction;
use crate::key::Field;
use crate::list::List;
use crate::matching::Match;
use crate::message::{FeatureId, OxmId, TableFeatures, TableProperty};
use crate::port::Name;
use alloc::vec::Vec;

/// The actions of 1.3, a bit for each number.
pub(super) const ACTIONS: u32 = 1 << 0 | 0x3 << 11 | 0x1FFF << 15;

/// What instructions of entries may be; a bit for each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Abilities {
    instructions: u32,
    /// Tables that goto-table may name.
    pub next: [u64; 4],
    write: u32,
    apply: u32,
    /// Fields.
    write_set: u64,
    apply_set: u64,
}

/// What entries of a table may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Features {
    /// The table is in the pipeline.
    pub present: bool,
    /// All that the switch can do: nothing has to be asked.
    pub whole: bool,
    metadata_match: u64,
    metadata_write: u64,
    /// Fields that may be matched, those of them that may be masked, and those that may be left out; a bit for each number.
    matched: u64,
    masked: u64,
    omitted: u64,
    pub entries: Abilities,
    /// Of the table-miss entry.
    pub miss: Abilities,
}

fn bits(fields: impl Fn(&Field) -> bool) -> u64 {
    let fields = Field::ALL.iter().filter(|field| fields(field));
    fields.fold(0, |bits, field| bits | 1 << *field as u8)
}

fn has(next: &[u64; 4], table: u8) -> bool {
    next[usize::from(table / 64)] >> (table % 64) & 1 == 1
}

impl Features {
    /// All that the switch can do in a table, of so many.
    pub fn whole(table: u8, tables: u8) -> Features {
        let mut next = [0; 4];
        for later in table + 1..tables {
            next[usize::from(later / 64)] |= 1 << (later % 64);
        }
        let settable = bits(|field| field.is_settable());
        let entries = Abilities {
            // The last table leads nowhere.
            instructions: 0b111_1110 & !(u32::from(table + 1 >= tables) << 1),
            next,
            write: ACTIONS,
            apply: ACTIONS,
            write_set: settable,
            apply_set: settable,
        };
        Features {
            present: true,
            whole: true,
            metadata_match: u64::MAX,
            metadata_write: u64::MAX,
            matched: bits(|_| true),
            masked: bits(|field| field.is_maskable()),
            omitted: bits(|_| true),
            entries,
            miss: entries,
        }
    }

    /// What a request wants of a table that can do all this. What it does not name stays; what it names for all entries
    /// holds for the table-miss entry too, unless it names that.
    ///
    /// # Errors
    /// When it wants more.
    pub fn narrowed(whole: &Features, wanted: &TableFeatures<'_>) -> Result<Features, Fault> {
        let mut new = Features {
            metadata_match: wanted.metadata_match,
            metadata_write: wanted.metadata_write,
            ..*whole
        };
        let mut seen = 0u32;
        for property in wanted.properties.iter() {
            let kind = property.kind();
            if kind >= 16 {
                return Err(Fault::FeaturesBadType);
            }
            if seen >> kind & 1 == 1 {
                return Err(Fault::FeaturesBadArgument);
            }
            seen |= 1 << kind;
            match property {
                TableProperty::Match(ids) => (new.matched, new.masked) = fields(ids, true)?,
                TableProperty::Wildcards(ids) => new.omitted = fields(ids, true)?.0,
                _ => {}
            }
        }
        // What is for the table-miss entry comes last, whatever the order in the message.
        for of_miss in [false, true] {
            for property in wanted.properties.iter() {
                if property.is_of_miss() == of_miss {
                    new.miss.take(&property)?;
                    if !of_miss {
                        new.entries.take(&property)?;
                    }
                }
            }
        }
        // Fields that the table does not match are always left out.
        if seen >> 10 & 1 == 0 {
            new.omitted &= new.matched;
        }
        let fits = new.matched & !whole.matched == 0
            && new.masked & !whole.masked == 0
            && new.omitted & !new.matched == 0
            && new.entries.within(&whole.entries)
            && new.miss.within(&whole.miss);
        if !fits {
            return Err(Fault::FeaturesBadArgument);
        }
        new.whole = new == *whole;
        Ok(new)
    }

    /// Whether an entry may match this.
    pub fn check_match(&self, matching: &Match<'_>, is_miss: bool) -> Result<(), Fault> {
        let mut seen = 0;
        for oxm in matching.iter() {
            let bit = 1u64 << oxm.field as u8;
            seen |= bit;
            if self.matched & bit == 0 {
                return Err(Fault::BadField);
            }
            if oxm.mask.is_some_and(|mask| mask != oxm.field.max()) && self.masked & bit == 0 {
                return Err(Fault::BadMask);
            }
            if oxm.field == Field::Metadata && oxm.significant() as u64 & !self.metadata_match != 0
            {
                return Err(Fault::BadMask);
            }
        }
        // The table-miss entry leaves out all of them.
        match self.matched & !self.omitted & !seen == 0 || is_miss {
            true => Ok(()),
            false => Err(Fault::BadWildcards),
        }
    }

    pub fn check_instructions<'a>(
        &self,
        instructions: List<'a, Instruction<'a>>,
        is_miss: bool,
    ) -> Result<(), Fault> {
        let can = if is_miss { &self.miss } else { &self.entries };
        for instruction in instructions.iter() {
            if can.instructions & 1u32.unbounded_shl(instruction.kind().into()) == 0 {
                return Err(Fault::UnsupportedInstruction);
            }
            match instruction {
                Instruction::GotoTable(next) if !has(&can.next, next) => {
                    return Err(Fault::BadInstructionTableId);
                }
                Instruction::WriteMetadata { mask, .. } if mask & !self.metadata_write != 0 => {
                    return Err(Fault::UnsupportedMetadataMask);
                }
                Instruction::ApplyActions(actions) => {
                    check_actions(actions, can.apply, can.apply_set)?;
                }
                Instruction::WriteActions(actions) => {
                    check_actions(actions, can.write, can.write_set)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The table, as controllers are told it.
    pub fn advertise(&self, table: u8, name: Name<32>, limit: usize) -> Advertised {
        Advertised {
            table,
            name,
            metadata_match: self.metadata_match,
            metadata_write: self.metadata_write,
            limit: limit as u32,
            matched: ids(self.matched, self.masked),
            // Without the bit of masks: with it, Open vSwitch does not read the message.
            omitted: ids(self.omitted, 0),
            entries: self.entries.advertise(),
            miss: self.miss.advertise(),
        }
    }
}

/// Whether all these actions, and the fields that they set, are among those.
fn check_actions<'a>(
    actions: List<'a, Action<'a>>,
    kinds: u32,
    settable: u64,
) -> Result<(), Fault> {
    for action in actions.iter() {
        // Those of 1.0 alone have numbers that in 1.3 mean others, and do what set-field and set-queue do.
        let (kind, field) = match action {
            Action::SetField(oxm) => (25, Some(oxm.field)),
            Action::SetVlanVid(_) => (25, Some(Field::VlanVid)),
            Action::SetVlanPcp(_) => (25, Some(Field::VlanPcp)),
            Action::SetTpSrc(_) => (25, Some(Field::TcpSrc)),
            Action::SetTpDst(_) => (25, Some(Field::TcpDst)),
            Action::Enqueue { .. } => (21, None),
            other => (other.kind().unwrap_or(u16::MAX), None),
        };
        if kinds & 1u32.unbounded_shl(kind.into()) == 0 {
            return Err(Fault::BadActionType);
        }
        if field.is_some_and(|field| settable >> field as u8 & 1 == 0) {
            return Err(Fault::BadSetType);
        }
    }
    Ok(())
}

impl Abilities {
    fn take(&mut self, property: &TableProperty<'_>) -> Result<(), Fault> {
        match *property {
            TableProperty::Instructions { ids, .. } => self.instructions = kinds(ids)?,
            TableProperty::NextTables { tables, .. } => {
                self.next = [0; 4];
                for &table in tables {
                    self.next[usize::from(table / 64)] |= 1 << (table % 64);
                }
            }
            TableProperty::WriteActions { ids, .. } => self.write = kinds(ids)?,
            TableProperty::ApplyActions { ids, .. } => self.apply = kinds(ids)?,
            TableProperty::WriteSetField { ids, .. } => self.write_set = fields(ids, false)?.0,
            TableProperty::ApplySetField { ids, .. } => self.apply_set = fields(ids, false)?.0,
            _ => {}
        }
        Ok(())
    }

    fn within(&self, whole: &Abilities) -> bool {
        self.instructions & !whole.instructions == 0
            && (self.next.iter().zip(&whole.next)).all(|(new, all)| new & !all == 0)
            && self.write & !whole.write == 0
            && self.apply & !whole.apply == 0
            && self.write_set & !whole.write_set == 0
            && self.apply_set & !whole.apply_set == 0
    }

    fn advertise(&self) -> AdvertisedCapabilities {
        let kinds = |bits: u32| {
            let kinds = (0..32).filter(|kind| bits >> kind & 1 == 1);
            kinds.map(FeatureId::Kind).collect()
        };
        AdvertisedCapabilities {
            instructions: kinds(self.instructions),
            next: (0..u8::MAX)
                .filter(|table| has(&self.next, *table))
                .collect(),
            write: kinds(self.write),
            apply: kinds(self.apply),
            write_set: ids(self.write_set, 0),
            apply_set: ids(self.apply_set, 0),
        }
    }
}

/// Instructions or actions as bits.
fn kinds(ids: List<'_, FeatureId>) -> Result<u32, Fault> {
    ids.iter().try_fold(0, |bits, id| match id {
        FeatureId::Kind(kind @ 0..32) => Ok(bits | 1 << kind),
        _ => Err(Fault::FeaturesBadArgument),
    })
}

/// Fields as bits, and those of them that may be masked.
fn fields(ids: List<'_, OxmId>, masks: bool) -> Result<(u64, u64), Fault> {
    ids.iter().try_fold((0, 0), |(all, masked), id| {
        let field = id.field().ok_or(Fault::FeaturesBadArgument)?;
        // Controllers tell the length with and without that of a mask, and os-ken tells none.
        let (length, value) = (id.header as usize & 0xff, field.bytes());
        let fits = [0, value].contains(&length) || id.is_masked() && length == 2 * value;
        if !fits {
            return Err(Fault::FeaturesBadLen);
        }
        if id.is_masked() && !masks {
            return Err(Fault::FeaturesBadArgument);
        }
        let bit = 1u64 << field as u8;
        Ok((all | bit, masked | if id.is_masked() { bit } else { 0 }))
    })
}

fn ids(bits: u64, masked: u64) -> Vec<OxmId> {
    let fields = Field::ALL.iter();
    let fields = fields.filter(|field| bits >> **field as u8 & 1 == 1);
    fields
        .map(|field| OxmId::new(*field, masked >> *field as u8 & 1 == 1))
        .collect()
}

/// A table as a message has it.
pub(super) struct Advertised {
    table: u8,
    name: Name<32>,
    metadata_match: u64,
    metadata_write: u64,
    limit: u32,
    matched: Vec<OxmId>,
    omitted: Vec<OxmId>,
    entries: AdvertisedCapabilities,
    miss: AdvertisedCapabilities,
}

struct AdvertisedCapabilities {
    instructions: Vec<FeatureId>,
    next: Vec<u8>,
    write: Vec<FeatureId>,
    apply: Vec<FeatureId>,
    write_set: Vec<OxmId>,
    apply_set: Vec<OxmId>,
}

impl Advertised {
    /// Shows it with its properties, in the order of their numbers.
    pub fn show(&self, show: impl FnOnce(&TableFeatures<'_>)) {
        let [entries, miss] = [(false, &self.entries), (true, &self.miss)];
        let each = |make: fn(bool, &AdvertisedCapabilities) -> TableProperty<'_>| {
            [make(entries.0, entries.1), make(miss.0, miss.1)]
        };
        let mut properties = Vec::with_capacity(14);
        properties.extend(each(|miss, of| TableProperty::Instructions {
            miss,
            ids: (&of.instructions).into(),
        }));
        properties.extend(each(|miss, of| TableProperty::NextTables {
            miss,
            tables: &of.next,
        }));
        properties.extend(each(|miss, of| TableProperty::WriteActions {
            miss,
            ids: (&of.write).into(),
        }));
        properties.extend(each(|miss, of| TableProperty::ApplyActions {
            miss,
            ids: (&of.apply).into(),
        }));
        properties.push(TableProperty::Match((&self.matched).into()));
        properties.push(TableProperty::Wildcards((&self.omitted).into()));
        properties.extend(each(|miss, of| TableProperty::WriteSetField {
            miss,
            ids: (&of.write_set).into(),
        }));
        properties.extend(each(|miss, of| TableProperty::ApplySetField {
            miss,
            ids: (&of.apply_set).into(),
        }));
        show(&TableFeatures {
            table: self.table,
            name: self.name,
            metadata_match: self.metadata_match,
            metadata_write: self.metadata_write,
            config: 0,
            max_entries: self.limit,
            properties: (&properties).into(),
        });
    }
}
