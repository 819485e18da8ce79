//! Flags, and the fields that they declare (warts(5), "Flags and parameters").

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

/// Maximum number of bytes of flags: scamper's longest set has five.
const MAX_FLAG_BYTES: usize = 16;
/// Fields whose presence a byte of flags shows.
const FLAGS_A_BYTE: usize = 7;
const LINK: u8 = 0x80;

/// Flaw of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It does not begin with the magic number, so that reading ends.
    Magic,
    /// The file ends before the record does.
    Cut,
    /// The record or its parameters end within a field.
    Short,
    /// There are more flags than any version has.
    Flags,
    /// An address of an unknown type or length.
    Address,
    /// A reference to an address that was not defined.
    Reference,
    /// Text without its end.
    Text,
    /// A time with a million microseconds or more.
    Time,
    /// A link between nodes that the record does not have.
    Node,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flaw::Magic => "no magic number 0x1205: the rest of the file is not read",
            Flaw::Cut => "the file ends within the record",
            Flaw::Short => "it ends within a field",
            Flaw::Flags => "too many bytes of flags",
            Flaw::Address => "an address of an unknown type or length",
            Flaw::Reference => "a reference to an address that was not defined before",
            Flaw::Text => "a text without a zero at its end",
            Flaw::Time => "a time with more than 999,999 microseconds",
            Flaw::Node => "a link between nodes that are not there",
        })
    }
}

/// A record has more of something than the format can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more hops, probes or bytes than a record of the warts format can hold")
    }
}

impl core::error::Error for TooLong {}

/// Reads the body of a record.
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    /// Addresses that the record has defined.
    addresses: Vec<IpAddr>,
    /// Addresses that the file has defined; `None` for those that are not IP.
    globals: &'a [Option<IpAddr>],
    /// The last [`Length`](super::Length), of the data that follow.
    pub length: u16,
}

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8], globals: &'a [Option<IpAddr>]) -> Input<'a> {
        Input {
            bytes,
            addresses: Vec::new(),
            globals,
            length: 0,
        }
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Flaw> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Flaw::Short)?;
        self.bytes = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Flaw> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(Flaw::Short)?;
        self.bytes = rest;
        Ok(*taken)
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes a text with the zero after it.
    pub fn text(&mut self) -> Result<&'a [u8], Flaw> {
        let end = self.bytes.iter().position(|byte| *byte == 0);
        let text = self.take(end.ok_or(Flaw::Text)?)?;
        self.take(1)?;
        Ok(text)
    }

    /// Takes an address that is defined here or earlier in this record.
    pub fn address(&mut self) -> Result<IpAddr, Flaw> {
        let [length] = self.array()?;
        if length == 0 {
            let id = u32::from_be_bytes(self.array()?) as usize;
            return self.addresses.get(id).copied().ok_or(Flaw::Reference);
        }
        let [kind] = self.array()?;
        let address = ip(kind, self.take(length.into())?).ok_or(Flaw::Address)?;
        self.addresses.push(address);
        Ok(address)
    }

    /// Takes a reference to an address of the file, from 1; 0 means none.
    pub fn global(&mut self) -> Result<Option<IpAddr>, Flaw> {
        match u32::from_be_bytes(self.array()?) {
            0 => Ok(None),
            id => {
                let known = self.globals.get(id as usize - 1);
                (*known.ok_or(Flaw::Reference)?)
                    .ok_or(Flaw::Address)
                    .map(Some)
            }
        }
    }

    /// Takes flags, and calls `fields` with the parameters as the rest of the input.
    pub fn parameters(
        &mut self,
        fields: impl FnOnce(&Flags, &mut Input<'a>) -> Result<(), Flaw>,
    ) -> Result<(), Flaw> {
        let mut flags = Flags::default();
        loop {
            let [byte] = self.array()?;
            *flags.bytes.get_mut(flags.count).ok_or(Flaw::Flags)? = byte & !LINK;
            flags.count += 1;
            if byte & LINK == 0 {
                break;
            }
        }
        if flags.bytes.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let length = u16::from_be_bytes(self.array()?);
        let own = self.take(length.into())?;
        // Fields of later versions are at the end.
        let rest = core::mem::replace(&mut self.bytes, own);
        let result = fields(&flags, self);
        self.bytes = rest;
        result
    }
}

/// An IP address of the format's type and bytes.
pub(super) fn ip(kind: u8, bytes: &[u8]) -> Option<IpAddr> {
    match kind {
        1 => Some(<[u8; 4]>::try_from(bytes).ok()?.into()),
        2 => Some(<[u8; 16]>::try_from(bytes).ok()?.into()),
        _ => None,
    }
}

/// Flags of the fields that are present, numbered from 1.
#[derive(Default)]
pub(super) struct Flags {
    bytes: [u8; MAX_FLAG_BYTES],
    count: usize,
}

impl Flags {
    pub fn has(&self, number: usize) -> bool {
        let (byte, bit) = Flags::place(number);
        self.bytes[byte] & bit != 0
    }

    pub fn set(&mut self, number: usize) {
        let (byte, bit) = Flags::place(number);
        self.bytes[byte] |= bit;
        self.count = self.count.max(byte + 1);
    }

    fn place(number: usize) -> (usize, u8) {
        (
            (number - 1) / FLAGS_A_BYTE,
            1 << ((number - 1) % FLAGS_A_BYTE),
        )
    }
}

/// Writes the body of a record.
#[derive(Default)]
pub(super) struct Output {
    pub bytes: Vec<u8>,
    addresses: BTreeMap<IpAddr, u32>,
}

impl Output {
    pub fn address(&mut self, address: IpAddr) {
        let next = self.addresses.len() as u32;
        if let Some(id) = self.addresses.get(&address) {
            self.bytes.push(0);
            self.bytes.extend(id.to_be_bytes());
            return;
        }
        self.addresses.insert(address, next);
        match address {
            IpAddr::V4(address) => {
                self.bytes.extend([4, 1]);
                self.bytes.extend(address.octets());
            }
            IpAddr::V6(address) => {
                self.bytes.extend([16, 2]);
                self.bytes.extend(address.octets());
            }
        }
    }

    pub fn count(&mut self, count: usize) -> Result<(), TooLong> {
        let count = u16::try_from(count).map_err(|_| TooLong)?;
        self.bytes.extend(count.to_be_bytes());
        Ok(())
    }

    /// Writes flags, and the parameters that `fields` writes.
    pub fn parameters(
        &mut self,
        flags: &Flags,
        fields: impl FnOnce(&mut Output) -> Result<(), TooLong>,
    ) -> Result<(), TooLong> {
        let count = flags.count.max(1);
        for (place, byte) in flags.bytes[..count].iter().enumerate() {
            let link = if place + 1 < count { LINK } else { 0 };
            self.bytes.push(byte | link);
        }
        if flags.count == 0 {
            return Ok(());
        }
        let place = self.bytes.len();
        self.bytes.extend([0, 0]);
        fields(self)?;
        let length = u16::try_from(self.bytes.len() - place - 2).map_err(|_| TooLong)?;
        self.bytes[place..place + 2].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

/// A value of a field.
pub(super) trait Field: Sized {
    /// Whether it is written; if not, it is only read from old files.
    const IS_WRITTEN: bool = true;
    fn read(input: &mut Input<'_>) -> Result<Self, Flaw>;
    fn write(&self, out: &mut Output) -> Result<(), TooLong>;
}

/// Declares a structure of optional fields, in the order of their numbers.
macro_rules! parameters {
    ($(#[$about:meta])* $name:ident {
        $($(#[$field_about:meta])* $number:literal $field:ident: $value:ty,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_about])* pub $field: Option<$value>,)*
        }

        impl $name {
            pub(super) fn read(
                input: &mut $crate::warts::parameters::Input<'_>,
            ) -> Result<$name, $crate::warts::Flaw> {
                let mut all = $name::default();
                input.parameters(|flags, input| {
                    $(if flags.has($number) {
                        all.$field = Some($crate::warts::parameters::Field::read(input)?);
                    })*
                    Ok(())
                })?;
                Ok(all)
            }

            pub(super) fn write(
                &self,
                out: &mut $crate::warts::parameters::Output,
            ) -> Result<(), $crate::warts::TooLong> {
                use $crate::warts::parameters::{Field, Flags};
                let mut flags = Flags::default();
                $(if self.$field.is_some() && <$value as Field>::IS_WRITTEN {
                    flags.set($number);
                })*
                out.parameters(&flags, |out| {
                    $(if let Some(value) = &self.$field && <$value as Field>::IS_WRITTEN {
                        value.write(out)?;
                    })*
                    Ok(())
                })
            }
        }
    };
}
pub(super) use parameters;
