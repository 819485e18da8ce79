//! What works below a node's frames: in the idle blocks between them, on links at the level of blocks.
//!
//! Between frames the line carries blocks of idle characters, and where the bits of such a block may say something else
//! (paper 002 section 4.5.3), a sublayer of the physical layer sends and takes messages there. The node above, and its
//! frames, see nothing of it: only blocks that are idle anyway are filled, and they are idle again behind the receiver.
//!
//! Its time is the tick of its own oscillator, 6.4 ns: one block of a line.

use crate::random::Random;
use crate::{Port, Probability, Statistics};
use alloc::format;
use alloc::string::String;

/// A sublayer of all ports of a node. The world calls it with ticks that never go back.
///
/// After [`link`](Sublayer::link) and [`take`](Sublayer::take) the world asks anew when each port is
/// [due](Sublayer::due), after [`fill`](Sublayer::fill) when that port is.
pub trait Sublayer: Send {
    /// The link at a port has come up, or gone down. Those that are up when the run begins come up at tick 0.
    fn link(&mut self, tick: u64, port: Port, up: bool);

    /// From which tick on the port has something to say; `None` when it has not.
    fn due(&self, port: Port) -> Option<u64>;

    /// The 56 bits of an idle block that leaves by the port now; 0 leaves it idle.
    fn fill(&mut self, tick: u64, port: Port) -> u64;

    /// An idle block has come by the port with bits that are not zero.
    fn take(&mut self, tick: u64, port: Port, bits: u64);

    /// What the node's clock shows at this tick or a later one, if nothing happens in between.
    fn counter(&self, tick: u64) -> u128;

    /// Its counters.
    fn statistics(&self) -> Statistics;

    /// Executes a command of the user at a tick, and returns its answer. After it the world asks again when
    /// each port is [due](Sublayer::due).
    ///
    /// # Errors
    /// When the line is no command of this sublayer.
    fn command(&mut self, _tick: u64, line: &str) -> Result<String, String> {
        Err(format!("`{line}`: this sublayer has no commands"))
    }
}

/// The seed of a FIFO's lots, apart from that of a link's wrong bits and other impairments.
const FIFO: u64 = 0x6669_666F;

/// The synchronisation FIFO between the clock of a line and that of who receives by it: a message is taken at the receiver's first tick
/// behind its arrival, or, by lot, the next.
#[derive(Clone, Debug)]
pub struct Fifo {
    chance: Probability,
    random: Random,
}

impl Fifo {
    /// That of one direction of a link, by how likely it is to hold a message for a tick, and the direction's
    /// [seed](crate::Channel::seed_of).
    pub fn new(chance: Probability, seed: u64) -> Fifo {
        Fifo {
            chance,
            random: Random::new(seed ^ FIFO),
        }
    }

    /// Whether it holds the next message.
    #[inline]
    pub fn holds(&mut self) -> bool {
        self.random.decide(self.chance)
    }

    /// Which of the next 64 messages it holds, the first in the lowest bit.
    pub fn holds_of_64(&mut self) -> u64 {
        self.random.decide_64(self.chance)
    }
}
