//! The hardware at its pins: streams of packets, and the register bus.

use super::bus::Bus;
use super::verilate::{INPUTS, OUTPUTS};
use crate::shared::Shared;
use node::Time;
use pipeline::engine::{Outcome, Passage};
use verilog::{Design, reason};

/// Places of inputs among the words of a cycle.
mod input {
    pub(super) const FLAGS: usize = 0;
    pub(super) const PORT: usize = 1;
    pub(super) const NANOSECONDS: usize = 2;
    pub(super) const MICROSECONDS: usize = 3;
    pub(super) const ADDRESS: usize = 4;
    pub(super) const DATA: usize = 5;
    pub(super) const KEEP: usize = 6;
    pub(super) const WORD: usize = 7;
}

/// Bits of the inputs' flags.
const RST: u64 = 1;
const VALID: u64 = 2;
const LAST: u64 = 4;
const READY: u64 = 8;
const WRITE: u64 = 16;

/// The hardware does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hardware stands still: {0} cycles without a word in or out")]
pub struct Stuck(u64);

/// Value of wires without a byte: nothing may depend on it.
const NOISE: u64 = 0xA55A_C33C_1EE1_8778;
/// Maximum number of cycles without a word in or out: a packet may recirculate a thousand times.
const STALL_LIMIT: u64 = 1_000_000;

/// Hardware in reset, or after it.
pub struct Device {
    shared: Shared,
    cycles: u64,
    /// Bytes of a word.
    word: usize,
    /// Packets may resubmit or recirculate: the next one enters when nothing of the last one is on
    /// its way any more.
    one_by_one: bool,
}

impl Bus for Device {
    fn write(&mut self, to: u16, data: u32) {
        let mut inputs = [0; INPUTS];
        inputs[input::FLAGS] = WRITE;
        inputs[input::ADDRESS] = to.into();
        inputs[input::DATA] = data.into();
        self.shared.cycle(&inputs, &mut [0; OUTPUTS]);
        self.cycles += 1;
    }

    fn read(&mut self, from: u16) -> u32 {
        let mut inputs = [0; INPUTS];
        inputs[input::ADDRESS] = from.into();
        let mut outputs = [0; OUTPUTS];
        for _ in 0..2 {
            self.shared.cycle(&inputs, &mut outputs);
            self.cycles += 1;
        }
        outputs[3] as u32
    }

    fn wait(&mut self, cycles: u32) {
        for _ in 0..cycles {
            self.idle(0);
        }
    }
}

impl Device {
    pub(crate) fn new(shared: Shared, design: &Design) -> Device {
        let mut device = Device {
            shared,
            cycles: 0,
            word: design.width as usize / 8,
            one_by_one: design.begins_anew(),
        };
        for _ in 0..4 {
            device.idle(RST);
        }
        device
    }

    fn idle(&mut self, flags: u64) {
        let mut inputs = [0; INPUTS];
        inputs[input::FLAGS] = flags;
        self.shared.cycle(&inputs, &mut [0; OUTPUTS]);
        self.cycles += 1;
    }

    /// Packets one behind the other, each word as soon as the hardware takes it, at the time `now`.
    ///
    /// # Errors
    /// When it takes and gives nothing any more.
    pub fn stream(&mut self, packets: &[(u16, &[u8])], now: Time) -> Result<Vec<Passage>, Stuck> {
        let mut done: Vec<Passage> = Vec::new();
        let mut begun: Vec<u64> = Vec::new();
        let width = self.word;
        let (mut packet, mut word) = (0, 0);
        let mut leaving: Option<(u64, Vec<u8>)> = None;
        let mut inputs = [0; INPUTS];
        inputs[input::NANOSECONDS] = now.as_ns();
        inputs[input::MICROSECONDS] = now.as_ns() / 1000;
        let mut waited = 0;
        let mut finished = 0;
        // Whether the next packet may be given.
        let mut free = true;
        while finished < packets.len() {
            inputs[input::FLAGS] = READY;
            inputs[input::PORT] = NOISE & 0xFFFF;
            inputs[input::KEEP] = NOISE;
            inputs[input::WORD..].fill(NOISE);
            let given = packets.get(packet).filter(|_| free || word > 0);
            if let Some((port, bytes)) = given {
                let rest = &bytes[word * width..];
                let part = &rest[..rest.len().min(width)];
                let last = rest.len() <= width;
                inputs[input::FLAGS] |= VALID | if last { LAST } else { 0 };
                inputs[input::PORT] = (*port).into();
                inputs[input::KEEP] = match part.len() {
                    64 => u64::MAX,
                    short => (1 << short) - 1,
                };
                let mut lanes = [NOISE as u8; 64];
                lanes[..part.len()].copy_from_slice(part);
                let (chunks, _) = lanes.as_chunks::<8>();
                for (to, from) in inputs[input::WORD..].iter_mut().zip(chunks) {
                    *to = u64::from_le_bytes(*from);
                }
            }
            let mut outputs = [0; OUTPUTS];
            self.shared.cycle(&inputs, &mut outputs);
            let now = self.cycles;
            self.cycles += 1;
            waited += 1;
            let taken = given.filter(|_| outputs[0] & 1 != 0);
            if let Some((_, bytes)) = taken {
                waited = 0;
                if word == 0 {
                    begun.push(now);
                }
                word += 1;
                if word * width >= bytes.len() {
                    (packet, word) = (packet + 1, 0);
                }
            }
            if outputs[0] & 2 != 0 {
                waited = 0;
                let (first, bytes) = leaving.get_or_insert((now, Vec::new()));
                let (first, count) = (*first, outputs[4].count_ones() as usize);
                let lanes = outputs[5..13].iter().flat_map(|lane| lane.to_le_bytes());
                bytes.extend(lanes.take(count));
                if outputs[0] & 4 != 0 {
                    let bytes = std::mem::take(bytes);
                    leaving = None;
                    done.push(Passage {
                        packet: finished,
                        outcome: Outcome::Sent(outputs[1] as u16, bytes),
                        first_in: begun[finished],
                        first_out: first,
                        last_out: now,
                    });
                    finished += usize::from(!self.one_by_one && outputs[0] & 16 == 0);
                }
            }
            // A clone for nobody is no packet.
            let told = outputs[2] as u8 != reason::NOTHING;
            if outputs[0] & 8 != 0 && (told || !self.one_by_one) {
                waited = 0;
                done.push(Passage {
                    packet: finished,
                    outcome: Outcome::Dropped(outputs[2] as u8),
                    first_in: begun[finished],
                    first_out: now,
                    last_out: now,
                });
                finished += usize::from(!self.one_by_one && outputs[0] & 16 == 0);
            }
            if self.one_by_one {
                // What is taken now is seen a cycle later.
                let idle = outputs[0] & 32 == 0 && taken.is_none();
                if !free && word == 0 && idle {
                    finished = packet;
                }
                free = idle;
            }
            if waited > STALL_LIMIT {
                return Err(Stuck(waited));
            }
        }
        Ok(done)
    }
}
