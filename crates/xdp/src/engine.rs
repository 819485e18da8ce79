//! The kernel as an engine: it is given packets one by one.

use crate::frame::{CELLS, CHECKSUM_ERROR, EMITTED, KIND, PORT, POSITION, RESULT};
use crate::kernel::{Error, Kernel};
use crate::path::{NO_PATH, path};
use crate::unit::{BEFORE, Code, Entrance};
use node::Time;
use p4::ir::{SectionId, SlotId, Ty};
use p4::value::Bits;
use pipeline::context::{Context, Effects, Stop};
use pipeline::engine::{Ended, Engine, Packet, Passed, Path};
use pipeline::environment::{Environment, Unsupported};
use pipeline::interpreter::Interpreter;
use pipeline::table::Table;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The kernel as an engine, packet by packet (BPF_PROG_TEST_RUN): to test and to measure what [`Switch`](crate::Switch) does on interfaces.
///
/// A packet that the kernel does not take, since it is longer than a page has room for, and one that leaves the path, go on in the interpreter.
pub struct Xdp {
    environment: Arc<Environment>,
    interpreter: Interpreter,
    kernel: Option<Kernel>,
    /// Whether a packet that leaves the path has to be run anew: see [`Step::Turn`](pipeline::engine::Step::Turn).
    turns: bool,
    tally: Arc<Tally>,
}

/// Short packets are given so many bytes more.
const BEHIND: usize = 64;

/// How many packets the kernel ran, and how many it did not take.
#[derive(Debug, Default)]
pub struct Tally {
    pub kernel: AtomicU64,
    pub interpreter: AtomicU64,
}

impl Xdp {
    /// An engine for an environment's program, which is loaded when the architecture says what its path is.
    ///
    /// # Errors
    /// When the program calls an extern that is not known here.
    pub fn new(environment: &Arc<Environment>) -> Result<Self, Unsupported> {
        Ok(Xdp {
            environment: Arc::clone(environment),
            interpreter: Interpreter::new(environment)?,
            kernel: None,
            turns: false,
            tally: Arc::default(),
        })
    }

    /// An engine with its program in the kernel.
    ///
    /// # Errors
    /// As for [`Switch::new`](crate::Switch::new).
    pub fn loaded(environment: &Arc<Environment>) -> Result<Self, Error> {
        let made = Self::new(environment).map_err(|fault| Error::Unsupported(vec![fault]))?;
        let path = path(environment)?;
        let kernel = Kernel::load(environment, &path, Entrance::Trial)?;
        Ok(Xdp {
            kernel: Some(kernel),
            turns: path.turns(),
            ..made
        })
    }

    /// How many nanoseconds the kernel takes for a packet on average, if it runs so often, each time on what it has made of it.
    /// `None` when it does not take it, or does not send it at the end.
    pub fn time(&mut self, port: u32, bytes: &[u8], times: u32) -> Option<u32> {
        let kernel = self.kernel.as_mut()?;
        kernel.bring_tables().ok()?;
        let given = given(port, 0, bytes, 0);
        let trial = kernel.program.run(&given, BEFORE, times).ok()?;
        let result = kernel.last_frame().ok()?[RESULT as usize / 8];
        (result & 0xFF == Code::Sent as u64).then_some(trial.nanoseconds)
    }

    /// What it counts while it runs.
    #[must_use]
    pub fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.tally)
    }

    /// The packet as its frame has it, where the kernel has no room for it.
    fn rebuild(&self, frame: &[u64], bytes: &[u8], packet: &mut Packet) {
        let Some(kernel) = &self.kernel else { return };
        let count = frame[EMITTED as usize / 8] as usize;
        let words = frame[kernel.object.frame.emit as usize / 8..].iter();
        let emitted = words.flat_map(|word| word.to_ne_bytes()).take(count);
        packet.emitted.extend(emitted);
        packet.emitted_bits = 8 * count as u64;
        packet.emit_rest(bytes);
        if let Some(most) = kernel.most(frame) {
            packet.emitted.truncate(most as usize);
        }
    }
}

impl Xdp {
    /// Varbits as all others have them: as numbers, not as bytes.
    fn number_varbits(&self, cells: &mut [u64]) {
        let layout = &self.environment.layout;
        for (index, slot) in self.environment.program.slots.iter().enumerate() {
            if !matches!(slot.ty, Ty::Varbit(_)) {
                continue;
            }
            let slot = SlotId(index as u32);
            let range = layout.range(slot);
            let length = cells[range.end - 1] as usize;
            let bytes = cells[range.start..range.end - 1].iter();
            let bytes: Vec<u8> = bytes
                .flat_map(|cell| cell.to_ne_bytes())
                .take(length / 8)
                .collect();
            let value = bytes.iter().fold(Bits::zero(length as u32), |value, byte| {
                Bits::new(length as u32, (value.unsigned() << 8u8) + *byte)
            });
            layout.write(cells, slot, &value);
        }
    }
}

impl Engine for Xdp {
    fn run(
        &mut self,
        section: SectionId,
        cells: &mut [u64],
        packet: &mut Packet,
        tables: &[Table],
        context: &mut Context,
    ) -> Ended {
        self.interpreter
            .run(section, cells, packet, tables, context)
    }

    fn prepare(&mut self, path: Option<&Path>) -> Result<bool, Unsupported> {
        let Some(path) = path else {
            return Err(NO_PATH.into());
        };
        self.turns = path.turns();
        let kernel = Kernel::load(&self.environment, path, Entrance::Trial);
        self.kernel = Some(kernel.map_err(|error| match error {
            Error::Unsupported(mut faults) if faults.len() == 1 => faults.remove(0),
            Error::Unsupported(faults) => Unsupported {
                span: faults[0].span,
                message: Error::Unsupported(faults).to_string(),
            },
            error => error.to_string().into(),
        })?);
        Ok(true)
    }

    fn knows_sides(&self) -> bool {
        true
    }

    fn settle(&mut self, now: Time) {
        if let Some(kernel) = &mut self.kernel
            && let Err(error) = kernel.settle(now)
        {
            panic!("the kernel does not show what is in its maps: {error}");
        }
    }

    fn pass(
        &mut self,
        port: u32,
        bytes: &[u8],
        cells: &mut [u64],
        packet: &mut Packet,
        _: &[Table],
        context: &mut Context,
    ) -> Passed {
        let passed = self.tried(port, bytes, cells, packet, context);
        let count = match passed {
            Some(_) => &self.tally.kernel,
            None => &self.tally.interpreter,
        };
        count.fetch_add(1, Ordering::Relaxed);
        passed.unwrap_or(Passed::Beside)
    }
}

impl Xdp {
    /// Has the kernel run a packet, if it takes it.
    fn tried(
        &mut self,
        port: u32,
        bytes: &[u8],
        cells: &mut [u64],
        packet: &mut Packet,
        context: &mut Context,
    ) -> Option<Passed> {
        let kernel = self.kernel.as_mut()?;
        // The kernel takes no packets, and makes none, that are shorter than an Ethernet header.
        let behind = if bytes.len() < BEHIND { BEHIND } else { 0 };
        let given = given(port, context.now.as_ns(), bytes, behind);
        kernel.bring_tables().ok()?;
        kernel.push();
        kernel.push_flows().ok()?;
        kernel.bring_meters().ok()?;
        let trial = kernel.program.run(&given, BEFORE, 1).ok()?;
        let frame = kernel.last_frame().ok()?;
        let word = |at: i32| frame[at as usize / 8];
        let result = word(RESULT);
        let (step, leaves) = ((result >> 8) as usize, word(PORT) as u32);
        let is = |code: Code| result & 0xFF == code as u64;
        // The architecture goes on with the packet as it came, and its first pass.
        let is_other = self.turns || word(KIND) != 0;
        let left = is(Code::Left) && is_other || is(Code::NoRoom) && word(KIND) != 0;
        if left || is(Code::Beyond) || is(Code::Steps) || is(Code::Passes) {
            // Nothing of it is kept.
            kernel.forget();
            // An entry that cannot be undone shows with the next packet.
            kernel.undo().ok()?;
            return None;
        }
        context.settle_later();
        kernel.pull();
        kernel.pull_meters().ok()?;
        kernel.hear();
        context.stop = None;
        context.effects = Effects {
            checksum_error: word(CHECKSUM_ERROR) != 0,
            truncate: kernel.most(&frame),
            ..Effects::default()
        };
        packet.position = word(POSITION);
        packet.emitted.clear();
        packet.emitted_bits = 0;
        if is(Code::Sent) {
            let end = trial.bytes.len().checked_sub(behind)?;
            packet.emitted.extend(trial.bytes.get(BEFORE..end)?);
            packet.emitted_bits = 8 * packet.emitted.len() as u64;
            return Some(Passed::Sent(leaves));
        }
        if is(Code::NoRoom) {
            self.rebuild(&frame, bytes, packet);
            return Some(Passed::Sent(leaves));
        }
        if is(Code::Dropped) {
            return Some(Passed::Dropped(step));
        }
        if is(Code::Left) {
            let first = CELLS as usize / 8;
            let count = cells.len();
            cells.copy_from_slice(&frame[first..first + count]);
            self.number_varbits(cells);
            return Some(Passed::Left(step, leaves));
        }
        context.stop = Some(if is(Code::Assert) {
            Stop::Assert
        } else {
            Stop::Assume
        });
        Some(Passed::Stopped)
    }
}

/// A packet with what lies before it, and `behind` bytes more.
fn given(port: u32, now: u64, bytes: &[u8], behind: usize) -> Vec<u8> {
    let mut given = Vec::with_capacity(BEFORE + bytes.len() + behind);
    for word in [u64::from(port), now, bytes.len() as u64] {
        given.extend(word.to_ne_bytes());
    }
    given.extend(bytes);
    given.resize(given.len() + behind, 0);
    given
}
