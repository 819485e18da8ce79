//! A peer of a DTP port.

use node::random::Random;
use nodes::dtp::BITS;
use nodes::dtp::message::{HALF, Message, PAYLOAD};
use std::collections::VecDeque;

const MASK: u128 = (1 << BITS) - 1;

/// A peer that answers, and sends counters that are mostly right.
#[derive(Default)]
pub struct Peer {
    coming: VecDeque<(u64, u64)>,
    habit: Habit,
}

/// Kind of a peer's beacons.
#[derive(Clone, Copy, Default, PartialEq)]
enum Habit {
    #[default]
    Healthy,
    /// They are ahead within range: more than a clock may be.
    Hurries,
    /// They are ahead out of range.
    Strays,
}

impl Peer {
    pub fn random(random: &mut Random) -> Peer {
        let habit = match random.below(8) {
            0 => Habit::Hurries,
            1 => Habit::Strays,
            _ => Habit::Healthy,
        };
        Peer {
            coming: VecDeque::new(),
            habit,
        }
    }

    pub fn hear(&mut self, tick: u64, said: u64, random: &mut Random) {
        if let Ok(Some(Message::Init(counter))) = Message::decode(said) {
            let (wait, off) = match random.below(8) {
                0 => return,
                1 => (60, 20_000 + random.below(1 << 40)),
                2 => (1, 0),
                _ => (40 + random.below(100), random.below(5)),
            };
            self.coming.push_back((
                tick + wait,
                Message::InitAck(counter.wrapping_sub(off)).encode(),
            ));
        }
    }

    pub fn say(&mut self, tick: u64, counter: u128, delay: i64, random: &mut Random) -> u64 {
        if self.coming.front().is_some_and(|(when, _)| *when <= tick) {
            return self.coming.pop_front().map_or(0, |(_, bits)| bits);
        }
        if random.below(40) > 0 {
            return 0;
        }
        let arrives = |ahead: i64| counter.wrapping_add_signed((ahead - delay).into()) & MASK;
        let low = |counter: u128| counter as u64 & PAYLOAD;
        match random.below(400) {
            0..300 => {
                let ahead = match random.below(200) {
                    _ if self.habit == Habit::Hurries => 4 + random.below(5) as i64,
                    _ if self.habit == Habit::Strays => 9 + random.below(1 << 20) as i64,
                    0 => 1 + random.below(9) as i64,
                    1 => random.below(1 << 50) as i64,
                    2..5 => -(random.below(30) as i64),
                    _ => -(random.below(5) as i64),
                };
                Message::Beacon(low(arrives(ahead))).encode()
            }
            300..340 => Message::Log(low(arrives(random.below(24) as i64 - 12))).encode(),
            340..350 => {
                let ahead = match random.below(8) {
                    0 => 9 + random.below(1 << 20) as i64,
                    1 => random.below(1 << 60) as i64,
                    2 => -(random.below(1 << 20) as i64),
                    _ => random.below(20) as i64 - 10,
                };
                // The high half, and the low one twice, in adjacent ticks or not, and not always equal.
                let (one, two) = (1 + random.below(3), 4 + random.below(3));
                let told = |after: u64| arrives(ahead).wrapping_add(after.into()) & MASK;
                let wrong = u64::from(random.below(6) == 0) * random.below(6);
                self.coming
                    .push_back((tick + one, Message::BeaconJoin(low(told(one))).encode()));
                self.coming.push_back((
                    tick + two,
                    Message::BeaconJoin(low(told(two + wrong))).encode(),
                ));
                Message::BeaconMsb((arrives(ahead) >> HALF) as u64).encode()
            }
            350..352 => Message::Init(random.below(1 << HALF)).encode(),
            352..354 => Message::InitAck(random.below(1 << HALF)).encode(),
            354..356 => random.below(1 << 56),
            // An error block, low-power idle, and any other control characters
            356..358 => characters(random),
            358..360 => random.below(1 << 53) << 3,
            _ => Message::Beacon(low(arrives(0))).encode() ^ 1 << random.below(56),
        }
    }
}

/// Eight control characters by their codes of seven bits.
fn characters(random: &mut Random) -> u64 {
    const CODES: [u64; 9] = [0x1E, 0x06, 0x00, 0x2D, 0x33, 0x4B, 0x55, 0x66, 0x78];
    // Half of them all the same.
    let most = [1, 2, 9][random.below(3) as usize];
    let same = random.below(most) as usize;
    let code = |random: &mut Random| match most {
        9 => CODES[random.below(9) as usize],
        _ => CODES[same],
    };
    (0..8).fold(0, |bits, place| bits | code(random) << (7 * place))
}
