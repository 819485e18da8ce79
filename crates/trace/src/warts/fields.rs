//! Values of fields.

use super::parameters::{Field, Flaw, Input, Output, TooLong};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;
use core::time::Duration;

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Field for $number {
            fn read(input: &mut Input<'_>) -> Result<$number, Flaw> {
                Ok(<$number>::from_be_bytes(input.array()?))
            }

            fn write(&self, out: &mut Output) -> Result<(), TooLong> {
                out.bytes.extend(self.to_be_bytes());
                Ok(())
            }
        })*
    };
}
numbers!(u8 u16 u32);

/// Bytes as they are: type and code of ICMP, times of an ICMP timestamp reply.
impl<const N: usize> Field for [u8; N] {
    fn read(input: &mut Input<'_>) -> Result<[u8; N], Flaw> {
        input.array()
    }

    fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        out.bytes.extend(self);
        Ok(())
    }
}

/// Unix time. Times after 2106 are written as the maximum; fractions of a microsecond are truncated.
impl Field for Duration {
    fn read(input: &mut Input<'_>) -> Result<Duration, Flaw> {
        let [seconds, micros] = [u32::read(input)?, u32::read(input)?];
        match micros < 1_000_000 {
            true => Ok(Duration::new(seconds.into(), micros * 1000)),
            false => Err(Flaw::Time),
        }
    }

    fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        u32::try_from(self.as_secs())
            .unwrap_or(u32::MAX)
            .write(out)?;
        self.subsec_micros().write(out)
    }
}

impl Field for IpAddr {
    fn read(input: &mut Input<'_>) -> Result<IpAddr, Flaw> {
        input.address()
    }

    fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        out.address(*self);
        Ok(())
    }
}

/// Reference to an address record, in old files. Readers put the address into the address field; references are never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global(pub(super) Option<IpAddr>);

impl Field for Global {
    const IS_WRITTEN: bool = false;

    fn read(input: &mut Input<'_>) -> Result<Global, Flaw> {
        input.global().map(Global)
    }

    fn write(&self, _: &mut Output) -> Result<(), TooLong> {
        Ok(())
    }
}

/// Puts the address of an old reference into the address field.
pub(super) fn resolve(global: &mut Option<Global>, address: &mut Option<IpAddr>) {
    if let Some(Global(old)) = global.take() {
        *address = address.or(old);
    }
}

/// A text; invalid UTF-8 is replaced when it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name(pub String);

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name(text.into())
    }
}

impl Field for Name {
    fn read(input: &mut Input<'_>) -> Result<Name, Flaw> {
        Ok(Name(String::from_utf8_lossy(input.text()?).into_owned()))
    }

    /// Up to the first zero, where a reader would end it.
    fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        let text = self.0.bytes().take_while(|byte| *byte != 0);
        out.bytes.extend(text);
        out.bytes.push(0);
        Ok(())
    }
}

/// Number of bytes of the [`Data`] in the next field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(pub u16);

impl Field for Length {
    fn read(input: &mut Input<'_>) -> Result<Length, Flaw> {
        input.length = u16::read(input)?;
        Ok(Length(input.length))
    }

    fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        self.0.write(out)
    }
}

/// Bytes of a probe; the preceding [`Length`] has their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data(pub Vec<u8>);

impl Field for Data {
    fn read(input: &mut Input<'_>) -> Result<Data, Flaw> {
        Ok(Data(input.take(input.length.into())?.into()))
    }

    fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        out.bytes.extend(&self.0);
        Ok(())
    }
}

/// An object of an ICMP error's extensions (RFC 4884 section 7).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    /// Class of the object; 1 is an MPLS label stack (RFC 4950).
    pub class: u8,
    /// Type within the class.
    pub kind: u8,
    /// Its payload.
    pub data: Vec<u8>,
}

/// Extensions of an ICMP error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions(pub Vec<Extension>);

impl Field for Extensions {
    fn read(input: &mut Input<'_>) -> Result<Extensions, Flaw> {
        let total = u16::read(input)?;
        let mut own = Input::new(input.take(total.into())?, &[]);
        let mut all = Vec::new();
        while !own.is_empty() {
            let length = u16::read(&mut own)?;
            let [class, kind] = own.array()?;
            let data = own.take(length.into())?.into();
            all.push(Extension { class, kind, data });
        }
        Ok(Extensions(all))
    }

    fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        let total = self.0.iter().map(|one| 4 + one.data.len()).sum();
        out.count(total)?;
        for one in &self.0 {
            out.count(one.data.len())?;
            out.bytes.extend([one.class, one.kind]);
            out.bytes.extend(&one.data);
        }
        Ok(())
    }
}

/// Up to 255 addresses: of IPv4's record route option, or those of which timestamps were requested.
impl Field for Vec<IpAddr> {
    fn read(input: &mut Input<'_>) -> Result<Vec<IpAddr>, Flaw> {
        let [count] = input.array()?;
        (0..count).map(|_| input.address()).collect()
    }

    fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        u8::try_from(self.len()).map_err(|_| TooLong)?.write(out)?;
        self.iter().for_each(|one| out.address(*one));
        Ok(())
    }
}

/// Timestamps of IPv4's timestamp option, ms since midnight, and the addresses of their routers, if requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// The stamps.
    pub times: Vec<u32>,
    /// None, or one for each stamp.
    pub addresses: Vec<IpAddr>,
}

impl Field for Stamps {
    fn read(input: &mut Input<'_>) -> Result<Stamps, Flaw> {
        let [times, addresses] = input.array()?;
        let times: Result<Vec<u32>, Flaw> = (0..times).map(|_| u32::read(input)).collect();
        let times = times?;
        let addresses: Result<Vec<IpAddr>, Flaw> =
            (0..addresses).map(|_| input.address()).collect();
        Ok(Stamps {
            times,
            addresses: addresses?,
        })
    }

    fn write(&self, out: &mut Output) -> Result<(), TooLong> {
        for count in [self.times.len(), self.addresses.len()] {
            u8::try_from(count).map_err(|_| TooLong)?.write(out)?;
        }
        self.times.iter().try_for_each(|time| time.write(out))?;
        self.addresses.iter().for_each(|one| out.address(*one));
        Ok(())
    }
}
