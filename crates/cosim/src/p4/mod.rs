//! P4 programs as hardware: an engine beside the interpreter and the fast one.
//!
//! | module | |
//! |---|---|
//! | `verilate` | a shared object of the Verilog, made once and kept |
//! | `device` | the hardware at its pins |
//! | `switch` | ports of 10 Gb/s around a program |
//! | `host` | a host's channel to a program |
//! | `modules` | the Verilog of both |
//! | `bus` | the register bus, of either |
//! | `registers` | tables and memories over the register bus |
//! | `rows` | where entries of tables stand |

mod bus;
mod device;
mod host;
mod modules;
mod registers;
mod rows;
mod switch;
mod verilate;

pub use bus::Bus;
pub use device::{Device, Stuck};
pub use host::{Answer, Call, Host, MAX_PACKET, TimedOut};
pub use pipeline::engine::{Outcome, Passage};
pub use switch::Switch;
pub use verilate::{CannotRun, files};

use node::Time;
use p4::ir::SectionId;
use pipeline::context::{Context, Stop};
use pipeline::engine::{End, Ended, Engine, Packet, Path};
use pipeline::environment::{Environment, Unsupported};
use pipeline::table::Table;
use registers::Registers;
use std::sync::Arc;
use verilog::map::address::PERFORMANCE;
use verilog::{Design, Optimise, Options, reason};

fn no_path() -> Unsupported {
    Unsupported::from(verilog::NO_PATH)
}

/// The engine: a program in Verilog, cycle by cycle.
pub struct Rtl {
    environment: Arc<Environment>,
    width: u32,
    optimise: Optimise,
    cam: bool,
    /// Made when the path is known.
    running: Option<Running>,
}

struct Running {
    device: Device,
    registers: Registers,
}

impl Rtl {
    /// An engine for an environment's program. The hardware is made when it is told the architecture's path.
    #[must_use]
    pub fn new(environment: &Arc<Environment>) -> Rtl {
        Rtl {
            environment: Arc::clone(environment),
            width: environment.options.width.unwrap_or(Options::DEFAULT.width),
            optimise: Options::DEFAULT.optimise,
            cam: Options::DEFAULT.cam,
            running: None,
        }
    }

    /// With words of so many bits: 64, 128, 256 or 512.
    #[must_use]
    pub fn with_width(self, width: u32) -> Rtl {
        Rtl { width, ..self }
    }

    /// With these optimisations.
    #[must_use]
    pub fn with_optimise(self, optimise: Optimise) -> Rtl {
        Rtl { optimise, ..self }
    }

    /// With tables of exact keys as CAMs.
    #[must_use]
    pub fn with_cam(self) -> Rtl {
        Rtl { cam: true, ..self }
    }

    /// What the hardware is like, when the path has been told.
    #[must_use]
    pub fn design(&self) -> Option<&Design> {
        let running = self.running.as_ref()?;
        Some(&running.registers.design)
    }

    /// Packets one behind the other, as fast as the hardware takes them, with the tables as they are now: what became of each, and in
    /// which cycles.
    ///
    /// # Errors
    /// When the hardware stands still.
    ///
    /// # Panics
    /// Before [`Engine::prepare`] has told the path.
    pub fn stream(
        &mut self,
        packets: &[(u16, &[u8])],
        context: &Context,
    ) -> Result<Vec<Passage>, Stuck> {
        let running = self.running.as_mut().expect("a path was prepared");
        running.stream(packets, &self.environment, context.now)
    }
}

impl Running {
    fn new(
        environment: &Environment,
        path: &Path,
        options: &Options<'_>,
    ) -> Result<Running, Unsupported> {
        let design = Design::new(environment, path, options)?;
        let library =
            verilate::library(&design).map_err(|error| Unsupported::from(error.to_string()))?;
        let device = Device::new(crate::shared::Shared::new(library), &design);
        Ok(Running {
            device,
            registers: Registers::new(environment, design),
        })
    }

    /// Passes packets through the hardware, with what the control plane has said until now.
    fn stream(
        &mut self,
        packets: &[(u16, &[u8])],
        environment: &Environment,
        now: Time,
    ) -> Result<Vec<Passage>, Stuck> {
        self.registers.tell(&mut self.device, environment, now);
        let passages = self.device.stream(packets, now);
        self.registers.ask(&mut self.device, environment, now);
        passages
    }
}

impl Engine for Rtl {
    fn run(
        &mut self,
        _: SectionId,
        _: &mut [u64],
        _: &mut Packet,
        _: &[Table],
        context: &mut Context,
    ) -> Ended {
        // Packets go along the path, and nothing leaves it.
        context.stop = Some(Stop::Steps);
        Ended::Stop
    }

    fn prepare(&mut self, path: Option<&Path>) -> Result<bool, Unsupported> {
        let path = path.ok_or_else(no_path)?;
        let options = Options {
            width: self.width,
            optimise: self.optimise,
            cam: self.cam,
            performance: self.environment.options.performance,
            ..Options::DEFAULT
        };
        self.running = Some(Running::new(&self.environment, path, &options)?);
        Ok(true)
    }

    fn performance(&mut self) -> Vec<(Arc<str>, u64)> {
        let Some(running) = &mut self.running else {
            return Vec::new();
        };
        let names = running.registers.design.map.performance.iter();
        let addresses = (PERFORMANCE..).step_by(2);
        let device = &mut running.device;
        let counters = names.zip(addresses).map(|(name, at)| {
            // The lower word first, which keeps the upper one.
            let (low, high) = (device.read(at), device.read(at + 1));
            (name.clone(), u64::from(high) << 32 | u64::from(low))
        });
        counters.collect()
    }

    fn cycles(
        &mut self,
        packets: &[(u16, &[u8])],
        context: &Context,
    ) -> Option<Result<Vec<Passage>, String>> {
        self.running.as_ref()?;
        Some(
            self.stream(packets, context)
                .map_err(|stuck| stuck.to_string()),
        )
    }

    fn makes_copies(&self) -> bool {
        self.running.is_some()
    }

    fn pass_all(
        &mut self,
        port: u32,
        bytes: &[u8],
        context: &mut Context,
        each: &mut dyn FnMut(End<'_>),
    ) {
        let Some(running) = &mut self.running else {
            return;
        };
        if bytes.len() > running.registers.design.longest {
            return each(End::Stopped(Stop::Steps));
        }
        let passages = running.stream(&[(port as u16, bytes)], &self.environment, context.now);
        let Ok(passages) = passages else {
            return each(End::Stopped(Stop::Steps));
        };
        for passage in passages {
            each(match &passage.outcome {
                Outcome::Sent(port, bytes) => End::Sent(u32::from(*port), bytes),
                Outcome::Dropped(reason::ASSERT) => End::Stopped(Stop::Assert),
                Outcome::Dropped(reason::ASSUME) => End::Stopped(Stop::Assume),
                Outcome::Dropped(reason::STEPS | reason::NO_RESPONSE) => End::Stopped(Stop::Steps),
                Outcome::Dropped(reason::NO_GROUP) => End::NoGroup,
                Outcome::Dropped(reason::PASSES | reason::QUEUE_FULL) => End::Passes,
                Outcome::Dropped(step) => End::Dropped(usize::from(*step) - 1),
            });
        }
    }
}
