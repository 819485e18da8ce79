//! NTP, the Network Time Protocol (RFC 5905): the header of a message over UDP.
//!
//! Versions 1 to 4. Extension fields and a message digest behind the header are passed over.

use crate::BadHeader;
use crate::field;
use alloc::vec::Vec;

/// UDP port of servers, and of clients that like it so.
pub const PORT: u16 = 123;
/// Bytes of the header.
pub const HEADER: usize = 48;
/// Seconds from NTP's first epoch, 1900, to 1970.
pub const UNIX_EPOCH: u64 = 2_208_988_800;
/// Leap indicator: the clock is not synchronised.
pub const UNSYNCHRONISED: u8 = 3;
/// Picoseconds in a second.
const SECOND: i128 = 1_000_000_000_000;

/// A time: seconds since 1900 and a fraction, 32 bits each. Zero means that it is not known. Seconds begin anew every 136 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// That of a time since 1970, picoseconds; rounded down to 2^-32 s, some 233 ps.
    pub fn since_1970(ps: i128) -> Timestamp {
        let seconds = ps.div_euclid(SECOND) + i128::from(UNIX_EPOCH);
        let fraction = (ps.rem_euclid(SECOND) << 32) / SECOND;
        Timestamp((seconds as u64) << 32 | fraction as u64)
    }

    /// The time since 1970, picoseconds, that is the nearest to another one: up to 68 years before or behind it.
    pub fn near(self, ps: i128) -> i128 {
        let other = Timestamp::since_1970(ps);
        let from_other = i128::from(self.0.wrapping_sub(other.0) as i64);
        let seconds = ps.div_euclid(SECOND);
        let fraction = i128::from(other.0 & 0xFFFF_FFFF) + from_other;
        // Rounded up, so that what was rounded down comes back as it was rounded.
        seconds * SECOND + (fraction * SECOND + 0xFFFF_FFFF).div_euclid(1 << 32)
    }
}

/// A duration of 16 bits of seconds and 16 of a fraction: 15 us to 18 hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Short(pub u32);

impl Short {
    /// That of picoseconds, rounded up; what it does not hold is as much as it does.
    pub fn of_ps(ps: u64) -> Short {
        let value = (u128::from(ps) << 16).div_ceil(SECOND as u128);
        Short(u32::try_from(value).unwrap_or(u32::MAX))
    }

    /// Picoseconds, rounded down.
    pub fn as_ps(self) -> u64 {
        ((u128::from(self.0) * SECOND as u128) >> 16) as u64
    }
}

/// Who talks to whom: the association modes of which a header is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One of two equals, the one that began.
    SymmetricActive,
    /// The other one.
    SymmetricPassive,
    /// A question.
    Client,
    /// An answer.
    Server,
    /// What nobody asked for.
    Broadcast,
}

/// A message's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// 0: nothing; 1: the day's last minute has 61 s; 2: 59 s; 3: [`UNSYNCHRONISED`].
    pub leap: u8,
    /// 1 to 4.
    pub version: u8,
    /// What it is.
    pub mode: Mode,
    /// 1: beside a primary reference; 2 to 15: that many steps away; 0 in an answer: a kiss of death, whose code is the reference.
    pub stratum: u8,
    /// Between questions, as a power of two of a second.
    pub poll: i8,
    /// Of the sender's clock, as a power of two of a second.
    pub precision: i8,
    /// To the primary reference and back.
    pub root_delay: Short,
    /// How far off the sender's clock may be besides.
    pub root_dispersion: Short,
    /// Four letters, such as `GPS`, at stratum 1; the IPv4 address of the sender's own server else.
    pub reference: [u8; 4],
    /// When the sender's clock was set or corrected last.
    pub set: Timestamp,
    /// Of an answer: when the question left, as it says.
    pub origin: Timestamp,
    /// Of an answer: when the question came.
    pub receive: Timestamp,
    /// When this leaves.
    pub transmit: Timestamp,
}

impl Header {
    /// Reads a header; what is behind it is not looked at.
    ///
    /// # Errors
    /// When it is cut off, of another version, or its mode has another header.
    pub fn parse(bytes: &[u8]) -> Result<Header, BadHeader> {
        let (header, _) = field::split::<HEADER>(bytes, "NTP header cut off")?;
        let version = header[0] >> 3 & 7;
        if !(1..=4).contains(&version) {
            return Err(BadHeader("NTP of another version than 1 to 4"));
        }
        let mode = match header[0] & 7 {
            1 => Mode::SymmetricActive,
            2 => Mode::SymmetricPassive,
            3 => Mode::Client,
            4 => Mode::Server,
            5 => Mode::Broadcast,
            6 | 7 => return Err(BadHeader("NTP control message")),
            _ => return Err(BadHeader("NTP of the reserved mode")),
        };
        let time = |at: usize| {
            let bytes: [u8; 8] = core::array::from_fn(|n| header[at + n]);
            Timestamp(u64::from_be_bytes(bytes))
        };
        Ok(Header {
            leap: header[0] >> 6,
            version,
            mode,
            stratum: header[1],
            poll: header[2] as i8,
            precision: header[3] as i8,
            root_delay: Short(field::u32::<4, HEADER>(header)),
            root_dispersion: Short(field::u32::<8, HEADER>(header)),
            reference: field::bytes::<12, 4, HEADER>(header),
            set: time(16),
            origin: time(24),
            receive: time(32),
            transmit: time(40),
        })
    }

    /// Appends the header.
    pub fn build(&self, out: &mut Vec<u8>) {
        let mode = match self.mode {
            Mode::SymmetricActive => 1,
            Mode::SymmetricPassive => 2,
            Mode::Client => 3,
            Mode::Server => 4,
            Mode::Broadcast => 5,
        };
        out.push(self.leap << 6 | (self.version & 7) << 3 | mode);
        out.extend([self.stratum, self.poll as u8, self.precision as u8]);
        out.extend(self.root_delay.0.to_be_bytes());
        out.extend(self.root_dispersion.0.to_be_bytes());
        out.extend(self.reference);
        for time in [self.set, self.origin, self.receive, self.transmit] {
            out.extend(time.0.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer of a server of stratum 2.
    const ANSWER: &str = "240206e9 00000a3d 00000b21 c6120001 e9a1b2c3 80000000 \
                          e9a1b2d0 11111111 e9a1b2d0 40000000 e9a1b2d0 40010000";

    fn bytes() -> Vec<u8> {
        let digits: Vec<u8> = ANSWER
            .bytes()
            .filter(u8::is_ascii_hexdigit)
            .map(|digit| (digit as char).to_digit(16).unwrap() as u8)
            .collect();
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect()
    }

    #[test]
    fn an_answer_is_read_and_written_back() {
        let header = Header::parse(&bytes()).unwrap();
        assert_eq!(
            (header.leap, header.version, header.mode),
            (0, 4, Mode::Server)
        );
        assert_eq!((header.stratum, header.poll, header.precision), (2, 6, -23));
        assert_eq!(header.reference, [198, 18, 0, 1]);
        assert_eq!(
            header.root_delay.as_ps(),
            0xA3D * 1_000_000_000_000 / 65_536
        );
        let mut written = Vec::new();
        header.build(&mut written);
        assert_eq!(written, bytes());
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let refused = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = bytes();
            change(&mut bytes);
            Header::parse(&bytes).unwrap_err().0
        };
        assert_eq!(refused(&|bytes| bytes.truncate(47)), "NTP header cut off");
        assert_eq!(refused(&|bytes| bytes[0] = 0x26), "NTP control message");
        assert_eq!(
            refused(&|bytes| bytes[0] = 0x20),
            "NTP of the reserved mode"
        );
        let version = "NTP of another version than 1 to 4";
        assert_eq!(refused(&|bytes| bytes[0] = 0x2C), version);
        assert_eq!(refused(&|bytes| bytes[0] = 0x04), version);
    }

    #[test]
    fn times_come_back_within_a_quarter_of_a_nanosecond_also_beyond_2036() {
        let year = 31_556_952 * SECOND;
        for ps in [
            0,
            1,
            999_999_999_999,
            56 * year + 123_456_789,
            70 * year,
            -5,
        ] {
            for off in [-60 * year, -1, 0, 1, 60 * year] {
                let back = Timestamp::since_1970(ps).near(ps + off);
                assert!((ps - back).abs() <= 233, "{ps} {off}: {back}");
            }
        }
        let stamp = Timestamp::since_1970(70 * year + 5);
        assert_eq!(Timestamp::since_1970(stamp.near(0)), stamp);
    }

    #[test]
    fn durations_are_rounded_up() {
        assert_eq!((Short::of_ps(0), Short::of_ps(1)), (Short(0), Short(1)));
        assert_eq!(Short::of_ps(500_000_000_000).as_ps(), 500_000_000_000);
        assert_eq!(Short::of_ps(u64::MAX), Short(u32::MAX));
    }
}
