//! What the members of the libraries' enumerations mean, and the annotations that engines obey.

use super::{Constant, Object, Program, Slot};
use crate::value::Bits;
use core::fmt;

/// The errors of core.p4 that statements end in by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParserError {
    /// The packet ended before what was to be read.
    PacketTooShort,
    /// No case of a select matched.
    NoMatch,
    /// Beyond the end of a header stack, or before its beginning.
    StackOutOfBounds,
    /// More bits than a varbit takes.
    HeaderTooShort,
    /// A varbit of no whole bytes.
    ParserInvalidArgument,
}

impl ParserError {
    /// As core.p4 declares it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ParserError::PacketTooShort => "PacketTooShort",
            ParserError::NoMatch => "NoMatch",
            ParserError::StackOutOfBounds => "StackOutOfBounds",
            ParserError::HeaderTooShort => "HeaderTooShort",
            ParserError::ParserInvalidArgument => "ParserInvalidArgument",
        }
    }
}

impl fmt::Display for ParserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a counter or meter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Packets,
    Bytes,
    /// Both; of counters only.
    Both,
}

/// A hash algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// CRC-32 of Ethernet.
    Crc32,
    /// CRC-32 with what the control plane chose.
    Crc32Custom,
    /// CRC-16/ARC.
    Crc16,
    /// CRC-16 with what the control plane chose.
    Crc16Custom,
    /// Another number each time.
    Random,
    /// The first eight bytes as a number, as bmv2 does; fewer are a smaller number.
    Identity,
    /// The Internet checksum.
    Checksum16,
    /// Two bytes at a time, exclusive or.
    Xor16,
}

impl Algorithm {
    /// By the name of a member of `HashAlgorithm` or `PSA_HashAlgorithm_t`.
    #[must_use]
    pub fn by_member(name: &str) -> Option<Self> {
        Some(match name {
            "crc32" | "CRC32" | "TARGET_DEFAULT" => Algorithm::Crc32,
            "crc32_custom" | "CRC32_CUSTOM" => Algorithm::Crc32Custom,
            "crc16" | "CRC16" => Algorithm::Crc16,
            "crc16_custom" | "CRC16_CUSTOM" => Algorithm::Crc16Custom,
            "random" => Algorithm::Random,
            "identity" | "IDENTITY" => Algorithm::Identity,
            "csum16" | "ONES_COMPLEMENT16" => Algorithm::Checksum16,
            "xor16" => Algorithm::Xor16,
            _ => return None,
        })
    }

    /// How many bits the result has.
    #[must_use]
    pub fn width(self) -> u32 {
        match self {
            Algorithm::Crc32 | Algorithm::Crc32Custom => 32,
            Algorithm::Random | Algorithm::Identity => 64,
            Algorithm::Crc16
            | Algorithm::Crc16Custom
            | Algorithm::Checksum16
            | Algorithm::Xor16 => 16,
        }
    }
}

impl Slot {
    /// Whether it goes along with some copies of a packet: a field with `@field_list`.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.field_lists().next().is_some()
    }

    /// What stands in its `@field_list` annotations: the numbers of lists, with commas between them.
    pub fn field_lists(&self) -> impl Iterator<Item = &str> {
        let annotations = self.annotations.iter();
        let lists = annotations.filter(|annotation| &*annotation.name == "field_list");
        lists.map(|annotation| &*annotation.body)
    }
}

impl Program {
    /// What a counter or meter counts, by the member of an enumeration that its constructor was given.
    #[must_use]
    pub fn unit(&self, object: &Object) -> Unit {
        match self.member(object) {
            Some("bytes" | "BYTES") => Unit::Bytes,
            Some("packets_and_bytes" | "PACKETS_AND_BYTES") => Unit::Both,
            _ => Unit::Packets,
        }
    }

    /// How an instance hashes; the target chooses where the program does not say it.
    ///
    /// # Errors
    /// The name of an algorithm that is not known here.
    pub fn algorithm(&self, object: &Object) -> Result<Algorithm, &str> {
        let name = self.member(object).unwrap_or("TARGET_DEFAULT");
        Algorithm::by_member(name).ok_or(name)
    }

    /// The name of the member of an enumeration among a constructor's arguments.
    fn member(&self, object: &Object) -> Option<&str> {
        object.arguments.iter().find_map(|(_, value)| match value {
            Constant::Member(enumeration, index) => {
                let members = &self.enumerations.get(enumeration.index())?.members;
                members.get(*index as usize).map(|(name, _)| &**name)
            }
            _ => None,
        })
    }

    /// The value of an error, if the program has it.
    #[must_use]
    pub fn error(&self, error: ParserError) -> Option<&Bits> {
        let mut members = self.enumerations.first()?.members.iter();
        let found = members.find(|(name, _)| &**name == error.name());
        found.map(|(_, value)| value)
    }
}
