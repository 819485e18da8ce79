//! The messages of DTP in the 56 bits of an idle block (paper 002 section 4.5.3): a type of three bits, a payload of 53.
//!
//! | type | message | payload |
//! |---|---|---|
//! | 0 | none: the block is idle | 0 |
//! | 1 | INIT | ticks of the sender's oscillator, which nothing moves (section D.3.4: `cycle`) |
//! | 2 | INIT-ACK | the same, as it came, and the ticks that the answer waited |
//! | 3 | BEACON-JOIN | the low half of the global counter |
//! | 4 | BEACON-MSB | its high half |
//! | 5 | LOG | the low half |
//! | 6, 7 | BEACON | the low half; 7 when an odd number of its three lowest bits are ones |
//!
//! The paper's text gives the type three bits and wants a parity over the three lowest bits of the counter beside it, for which a block
//! has no room; its hardware (figure D.31) gives the type two bits and the parity one. Here the types that the text names and the parity share the
//! eight codes. Of the other messages a wrong bit shows by what they say.
//!
//! A block of type 0x1E whose eight codes of seven bits are all in table 49-1 of IEEE 802.3 holds
//! control characters: idle, low-power idle, error
//! or reserved ones. It is no message. Codes end in 000, 011, 101 or 110, so that a BEACON-JOIN, a
//! LOG or a BEACON could look like that. Its sender then
//! says the counter of the tick before, which never does, and which is true as well.

/// Bits of a payload, and of half a counter.
pub const HALF: u32 = 53;

/// All ones in a payload.
pub const PAYLOAD: u64 = (1 << HALF) - 1;

/// Whether 56 bits are eight control characters of table 49-1, each by its code of seven bits: then
/// they are no message.
pub fn are_characters(bits: u64) -> bool {
    const CODES: u128 = {
        let (mut codes, mut place) = (0, 0);
        let table = [0x00, 0x06, 0x1E, 0x2D, 0x33, 0x4B, 0x55, 0x66, 0x78];
        while place < table.len() {
            codes |= 1u128 << table[place];
            place += 1;
        }
        codes
    };
    (0..8).all(|place| CODES >> (bits >> (7 * place) & 0x7F) & 1 == 1)
}

/// A message. Of its payload the low 53 bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    Init(u64),
    InitAck(u64),
    BeaconJoin(u64),
    BeaconMsb(u64),
    Log(u64),
    Beacon(u64),
}

/// A wrong bit shows in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damaged {
    /// Bits in a block that is idle by its type.
    #[error("bits in an idle block")]
    Idle,
    /// The three lowest bits of a beacon.
    #[error("wrong parity of a beacon")]
    Parity,
}

impl Message {
    /// The 56 bits, the type lowest: it goes first. They are never [characters](are_characters):
    /// then
    /// the counter is that of the tick before.
    pub fn encode(self) -> u64 {
        let bits = self.bits();
        match are_characters(bits) {
            true => self.a_tick_less().bits(),
            false => bits,
        }
    }

    /// Whether the counter that is said is that of the tick before.
    pub fn is_told_less(self) -> bool {
        are_characters(self.bits())
    }

    fn a_tick_less(self) -> Message {
        match self {
            Message::BeaconJoin(counter) => Message::BeaconJoin(counter.wrapping_sub(1)),
            Message::Log(counter) => Message::Log(counter.wrapping_sub(1)),
            Message::Beacon(counter) => Message::Beacon(counter.wrapping_sub(1)),
            // Their codes end otherwise.
            Message::Init(_) | Message::InitAck(_) | Message::BeaconMsb(_) => self,
        }
    }

    fn bits(self) -> u64 {
        let (code, payload) = match self {
            Message::Init(counter) => (1, counter),
            Message::InitAck(counter) => (2, counter),
            Message::BeaconJoin(counter) => (3, counter),
            Message::BeaconMsb(high) => (4, high),
            Message::Log(counter) => (5, counter),
            Message::Beacon(counter) => (6 | parity(counter), counter),
        };
        code | (payload & PAYLOAD) << 3
    }

    /// Reads 56 bits; `None` of an idle block, and of other control characters.
    ///
    /// # Errors
    /// When a bit must be wrong.
    pub fn decode(bits: u64) -> Result<Option<Message>, Damaged> {
        if are_characters(bits) {
            return Ok(None);
        }
        let payload = bits >> 3 & PAYLOAD;
        Ok(Some(match bits & 7 {
            0 => return Err(Damaged::Idle),
            1 => Message::Init(payload),
            2 => Message::InitAck(payload),
            3 => Message::BeaconJoin(payload),
            4 => Message::BeaconMsb(payload),
            5 => Message::Log(payload),
            code if code & 1 == parity(payload) => Message::Beacon(payload),
            _ => return Err(Damaged::Parity),
        }))
    }
}

/// 1 when an odd number of the three lowest bits are ones.
fn parity(counter: u64) -> u64 {
    u64::from((counter & 7).count_ones() & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_back_as_they_were_written() {
        for payload in [1, 4, 7, PAYLOAD, 1 << 52, 0x0012_3456_789A_BCDE & PAYLOAD] {
            for message in [
                Message::Init(payload),
                Message::InitAck(payload),
                Message::BeaconJoin(payload),
                Message::BeaconMsb(payload),
                Message::Log(payload),
                Message::Beacon(payload),
            ] {
                let bits = message.encode();
                assert!(!message.is_told_less());
                assert_eq!(bits >> 56, 0);
                assert_ne!(bits, 0);
                assert_eq!(Message::decode(bits), Ok(Some(message)));
            }
        }
        assert_eq!(Message::decode(0), Ok(None));
    }

    #[test]
    fn a_wrong_bit_among_the_lowest_of_a_beacon_shows() {
        for low in 0..64 {
            // With a bit that no code of a character has.
            let counter = 1 << 40 | low;
            let bits = Message::Beacon(counter).encode();
            for wrong in [0, 3, 4, 5] {
                assert_eq!(Message::decode(bits ^ 1 << wrong), Err(Damaged::Parity));
            }
            // Of a higher one only that the counter is far off tells.
            let far = Message::decode(bits ^ 1 << 7);
            assert_eq!(far, Ok(Some(Message::Beacon(counter ^ 16))));
        }
        assert_eq!(Message::decode(8), Err(Damaged::Idle));
    }

    /// Eight characters by their codes, the first lowest.
    fn characters(codes: [u64; 8]) -> u64 {
        let each = codes.into_iter().enumerate();
        each.fold(0, |bits, (place, code)| bits | code << (7 * place))
    }

    #[test]
    fn blocks_of_control_characters_are_no_messages() {
        const TABLE: [u64; 9] = [0x00, 0x06, 0x1E, 0x2D, 0x33, 0x4B, 0x55, 0x66, 0x78];
        let error_block = characters([0x1E; 8]);
        // Its low bits are those of a BEACON with the right parity.
        assert_eq!(error_block & 7, 6);
        assert_eq!(parity(error_block >> 3), 0);
        let mut random = node::random::Random::new(49);
        let same = TABLE.map(|code| characters([code; 8]));
        let mixed: [u64; 1_000] = core::array::from_fn(|_| {
            characters([(); 8].map(|()| TABLE[random.below(TABLE.len() as u64) as usize]))
        });
        for bits in same.into_iter().chain(mixed) {
            assert_eq!(Message::decode(bits), Ok(None), "{bits:014x}");
        }
        // One character that the table does not have makes a message of it.
        for code in (0..128).filter(|code| !TABLE.contains(code)) {
            for place in 0..8 {
                let mut codes = [0x1E; 8];
                codes[place] = code;
                assert_ne!(Message::decode(characters(codes)), Ok(None));
            }
        }
    }

    #[test]
    fn a_counter_whose_message_would_be_characters_is_told_a_tick_less() {
        let mut random = node::random::Random::new(50);
        let mut told_less = 0;
        for n in 0..200_000 {
            // Counters whose high bits spell characters, and all small ones.
            let high =
                characters([(); 8].map(|()| [0x00, 0x06, 0x1E, 0x33][random.below(4) as usize]));
            let counter = match n % 2 {
                0 => n,
                _ => (high >> 7 << 4 | random.below(16)) & PAYLOAD,
            };
            for message in [
                Message::Init(counter),
                Message::InitAck(counter),
                Message::BeaconJoin(counter),
                Message::BeaconMsb(counter),
                Message::Log(counter),
                Message::Beacon(counter),
            ] {
                let bits = message.encode();
                assert!(!are_characters(bits), "{message:?}");
                let expected = match message.is_told_less() {
                    true => message.a_tick_less(),
                    false => message,
                };
                // Of a counter of 0 that is the one before it wraps.
                let read = Message::decode(bits).unwrap().unwrap();
                assert_eq!(read.encode(), bits);
                assert_eq!(read.bits(), expected.bits());
                told_less += u32::from(message.is_told_less());
            }
        }
        assert!(told_less > 1_000, "{told_less}");
    }
}
