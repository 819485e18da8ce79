//! Lists of targets, and cycles over them.

use super::fields::Name;
use super::parameters::{Field, Flaw, Input, Output, TooLong, parameters};

/// A list of targets. Records that belong to it have its `number`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// Number in the file, from 1.
    pub number: u32,
    /// Number chosen by the user.
    pub id: u32,
    /// Name chosen by the user.
    pub name: Name,
    /// Optional fields.
    pub parameters: ListParameters,
}

parameters! {
    /// Optional fields of a list.
    ListParameters {
        /// Description.
        1 description: Name,
        /// Name of the host that has made the measurements.
        2 monitor: Name,
    }
}

/// A pass over a list. Records that belong to it have its `number`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycle {
    /// Whether it starts here; otherwise another file has its start.
    pub is_start: bool,
    /// Number in the file, from 1.
    pub number: u32,
    /// Number of the list in the file.
    pub list: u32,
    /// Number chosen by the user.
    pub id: u32,
    /// Start, seconds since 1970.
    pub start: u32,
    /// Optional fields.
    pub parameters: CycleParameters,
}

parameters! {
    /// Optional fields of a cycle.
    CycleParameters {
        /// End, seconds since 1970.
        1 stop: u32,
        /// Name of the host.
        2 host: Name,
    }
}

/// End of a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CycleStop {
    /// Number of the cycle in the file.
    pub cycle: u32,
    /// End, seconds since 1970.
    pub stop: u32,
}

impl List {
    pub(super) fn read(input: &mut Input<'_>) -> Result<List, Flaw> {
        Ok(List {
            number: u32::read(input)?,
            id: u32::read(input)?,
            name: Name::read(input)?,
            parameters: ListParameters::read(input)?,
        })
    }

    pub(super) fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        self.number.write(out)?;
        self.id.write(out)?;
        self.name.write(out)?;
        self.parameters.write(out)
    }
}

impl Cycle {
    pub(super) fn read(input: &mut Input<'_>, is_start: bool) -> Result<Cycle, Flaw> {
        Ok(Cycle {
            is_start,
            number: u32::read(input)?,
            list: u32::read(input)?,
            id: u32::read(input)?,
            start: u32::read(input)?,
            parameters: CycleParameters::read(input)?,
        })
    }

    pub(super) fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        for number in [self.number, self.list, self.id, self.start] {
            number.write(out)?;
        }
        self.parameters.write(out)
    }
}

impl CycleStop {
    pub(super) fn read(input: &mut Input<'_>) -> Result<CycleStop, Flaw> {
        Ok(CycleStop {
            cycle: u32::read(input)?,
            stop: u32::read(input)?,
        })
    }

    pub(super) fn write(&self, out: &mut Output) {
        out.bytes.extend(self.cycle.to_be_bytes());
        out.bytes.extend(self.stop.to_be_bytes());
        // No flags are defined.
        out.bytes.push(0);
    }
}
