//! The messages of DTP in the 56 bits of an idle block (paper 002 section 4.5.3): a type of three bits, a payload of 53.
//!
//! | type | message | payload |
//! |---|---|---|
//! | 0 | none: the block is idle | 0 |
//! | 1 | INIT | the low half of the local counter |
//! | 2 | INIT-ACK | the same, as it came, and the ticks that the answer waited |
//! | 3 | BEACON-JOIN | the low half of the global counter |
//! | 4 | BEACON-MSB | its high half |
//! | 5 | LOG | the low half |
//! | 6, 7 | BEACON | the low half; 7 when an odd number of its three lowest bits are ones |
//!
//! The paper's text gives the type three bits and wants a parity over the three lowest bits of the counter beside it, for which a block
//! has no room; its hardware (figure D.31) gives the type two bits and the parity one. Here the types that the text names and the parity share the
//! eight codes. Of the other messages a wrong bit shows by what they say.

/// Bits of a payload, and of half a counter.
pub const HALF: u32 = 53;

/// All ones in a payload.
pub const PAYLOAD: u64 = (1 << HALF) - 1;

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
    /// The 56 bits, the type lowest: it goes first.
    pub fn encode(self) -> u64 {
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

    /// Reads 56 bits; `None` of an idle block.
    ///
    /// # Errors
    /// When a bit must be wrong.
    pub fn decode(bits: u64) -> Result<Option<Message>, Damaged> {
        let payload = bits >> 3 & PAYLOAD;
        Ok(Some(match bits & 7 {
            0 if payload == 0 => return Ok(None),
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
        for payload in [0, 1, 5, PAYLOAD, 1 << 52, 0x0012_3456_789A_BCDE & PAYLOAD] {
            for message in [
                Message::Init(payload),
                Message::InitAck(payload),
                Message::BeaconJoin(payload),
                Message::BeaconMsb(payload),
                Message::Log(payload),
                Message::Beacon(payload),
            ] {
                let bits = message.encode();
                assert_eq!(bits >> 56, 0);
                assert_ne!(bits, 0);
                assert_eq!(Message::decode(bits), Ok(Some(message)));
            }
        }
        assert_eq!(Message::decode(0), Ok(None));
    }

    #[test]
    fn a_wrong_bit_among_the_lowest_of_a_beacon_shows() {
        for counter in 0..64 {
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
}
