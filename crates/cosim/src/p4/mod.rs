//! P4 programs as hardware: an engine beside the interpreter and the fast one.
//!
//! | module | |
//! |---|---|
//! | `verilate` | a shared object of the Verilog, made once and kept |
//! | `device` | the hardware at its pins |
//! | `rows` | where entries of tables stand |

mod device;
mod rows;
mod verilate;

pub use device::{Device, Stuck};
pub use pipeline::engine::{Outcome, Passage};
pub use verilate::{CannotRun, files};

use num_bigint::BigUint;
use p4::ir::SectionId;
use p4::value::Bits;
use pipeline::context::{Context, Stop};
use pipeline::engine::{End, Ended, Engine, Packet, Path};
use pipeline::environment::{Digest, Environment, Message, Object, Unsupported};
use pipeline::table::Table;
use rows::Rows;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use verilog::map::address::{DEFAULT_ROW, DIGESTS, PERFORMANCE, TAKE, WRITTEN};
use verilog::map::{CAM_CYCLES, DigestMap, Source, TableKind, meter};
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
    design: Design,
    tables: Vec<Shadow>,
    /// By memory, what its cells have, as [`limbs`] gives it.
    cells: Vec<Vec<u64>>,
    writes: Vec<u32>,
    /// The places of multicast groups.
    places: Vec<u32>,
    /// How many messages were lost, by queue.
    lost: Vec<u32>,
}

/// What the hardware knows of a table.
#[derive(Default)]
struct Shadow {
    seen: Option<u64>,
    rows: Rows,
    /// Of a table in two halves: those of the half that is not read.
    hidden: Rows,
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
        self.running.as_ref().map(|running| &running.design)
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
        running.tell(&self.environment, context);
        let passages = running.device.stream(packets, context.now)?;
        running.ask(&self.environment, context);
        Ok(passages)
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
        let cells = design.map.memories.iter().map(|memory| {
            let object = &environment.objects[memory.object.index()];
            vec![0; memory.size * stride(object)]
        });
        Ok(Running {
            device,
            tables: design
                .map
                .tables
                .iter()
                .map(|_| Shadow::default())
                .collect(),
            cells: cells.collect(),
            writes: vec![0; design.map.memories.len()],
            places: Vec::new(),
            lost: vec![0; design.map.digests.len()],
            design,
        })
    }

    /// Brings the hardware to what the control plane has said since.
    fn tell(&mut self, environment: &Environment, context: &Context) {
        let generation = environment.tables.changes();
        for (object, map) in self.design.map.tables.iter().enumerate() {
            let shadow = &mut self.tables[object];
            // Members of profiles and of value sets, and groups of ports, have no such number.
            let forms = environment.tables.forms();
            let other = match map.source {
                Source::Table(table) => forms[table.index()].implementation.is_some(),
                _ => true,
            };
            if shadow.seen == Some(generation) && !other {
                continue;
            }
            let (rows, left) = rows::rows(environment, map);
            shadow.seen = Some(generation);
            let words = map.entry().div_ceil(32) as usize;
            let prefix = matches!(map.kind, TableKind::Prefix { .. });
            let rest = match map.kind {
                TableKind::Cam { .. } => CAM_CYCLES,
                _ => 0,
            };
            if prefix {
                // The other half is written, and then turned to.
                std::mem::swap(&mut shadow.rows, &mut shadow.hidden);
            }
            // What comes stands before what goes, so that no entry that stays is ever missing.
            for (row, bits) in &rows {
                // The default has no halves.
                if shadow.rows.get(row) != Some(bits) || (prefix && *row == DEFAULT_ROW) {
                    self.device.commit(object, *row, &words_of(bits, words));
                    self.device.wait(rest);
                }
            }
            let gone = shadow.rows.keys().filter(|row| !rows.contains_key(row));
            for row in gone {
                // A boundary that is not used is beyond all keys.
                let fill = if prefix { u32::MAX } else { 0 };
                self.device.commit(object, *row, &vec![fill; words]);
                self.device.wait(rest);
            }
            if prefix {
                self.device.commit(object, 0, &[]);
            }
            if left > 0 && shadow.rows != rows {
                environment.messages.push(Message {
                    at: context.now,
                    text: format!("table {}: {left} entries have no row in the hardware, and match nothing; give the table a larger `size`", map.name),
                });
            }
            shadow.rows = rows;
        }
        if self.design.map.places {
            let object = self.design.map.tables.len() + self.design.map.memories.len();
            let places = rows::places(environment);
            for (row, place) in places.iter().enumerate() {
                if self.places.get(row) != Some(place) {
                    self.device.commit(object, row as u32, &[*place]);
                }
            }
            self.places = places;
        }
        let first = self.design.map.tables.len();
        for (number, map) in self.design.map.memories.iter().enumerate() {
            let words = map.width.div_ceil(32) as usize;
            let object = &environment.objects[map.object.index()];
            let stride = stride(object);
            for (index, known) in self.cells[number].chunks_mut(stride).enumerate() {
                if known
                    .iter()
                    .enumerate()
                    .any(|(limb, known)| limbs(object, index * stride + limb) != *known)
                {
                    let value = held(object, index);
                    self.device
                        .commit(first + number, index as u32, &words_of(&value, words));
                    know(known, object, index);
                }
            }
        }
    }

    /// Brings what packets have written back, and what they have to say.
    fn ask(&mut self, environment: &Environment, context: &Context) {
        for (number, map) in self.design.map.digests.iter().enumerate() {
            let at = DIGESTS + 64 * number as u16;
            let words = map.width().div_ceil(32) as u16;
            loop {
                let told = self.device.read(at);
                let lost = told >> 1;
                if lost != self.lost[number] {
                    environment.messages.push(Message {
                        at: context.now,
                        text: format!("{}: {} messages to the controller found no room in the hardware's queue and are lost", map.name, lost - self.lost[number]),
                    });
                    self.lost[number] = lost;
                }
                if told & 1 == 0 {
                    break;
                }
                let words = (0..words).map(|word| self.device.read(at + 1 + word));
                let message = BigUint::new(words.collect());
                environment.digests.push(heard(map, message, context.now));
                self.device.write(TAKE, number as u32);
                // The next one needs a cycle to come forward.
                self.device.read(at);
            }
        }
        let first = self.design.map.tables.len();
        for (number, map) in self.design.map.memories.iter().enumerate() {
            let object = first + number;
            let at = WRITTEN + 2 * object as u16;
            let writes = self.device.read(at);
            let times = writes.wrapping_sub(self.writes[number]);
            self.writes[number] = writes;
            let last = match times {
                0 => continue,
                1 => Some(self.device.read(at + 1) as usize),
                _ => None,
            };
            let words = map.width.div_ceil(32) as usize;
            let changed = last.map_or(0..map.size, |last| last..last + 1);
            for index in changed {
                let value = BigUint::new(self.device.fetch(object, index as u32, words));
                let of = &environment.objects[map.object.index()];
                hold(of, index, &value);
                let stride = stride(of);
                know(
                    &mut self.cells[number][index * stride..][..stride],
                    of,
                    index,
                );
            }
        }
    }
}

/// A number as words, the least significant first.
fn words_of(value: &BigUint, count: usize) -> Vec<u32> {
    let mut words = value.to_u32_digits();
    words.resize(count, 0);
    words
}

/// A message as the controller is told it.
fn heard(map: &DigestMap, mut message: BigUint, at: node::Time) -> Digest {
    let mut take = |width: u32| {
        let bits = Bits::new(width, message.clone());
        message >>= width;
        bits
    };
    let mut fields = Vec::new();
    for (name, width) in map.fields.iter().rev() {
        let value = take(*width);
        if take(1).to_u64() == Some(1) {
            fields.insert(0, (name.clone(), value));
        }
    }
    Digest {
        at,
        object: map.object,
        name: map.name.clone(),
        receiver: take(32).to_u64().unwrap_or(0) as u32,
        fields,
    }
}

/// How many limbs a cell of an object has.
fn stride(object: &Object) -> usize {
    match object {
        Object::Register(register) => register.width().max(1),
        Object::Meter(_) => meter::WIDTH.div_ceil(64) as usize,
        _ => 2,
    }
}

/// A limb of an object's cells, one cell behind the other.
fn limbs(object: &Object, at: usize) -> u64 {
    match object {
        Object::Register(register) => register
            .cells()
            .get(at)
            .map_or(0, |cell| cell.load(Relaxed)),
        Object::Counter(counter) => {
            let (packets, bytes) = counter.read(at / 2).unwrap_or_default();
            if at.is_multiple_of(2) { packets } else { bytes }
        }
        Object::Meter(_) => {
            let stride = stride(object);
            let cell = held(object, at / stride);
            cell.iter_u64_digits().nth(at % stride).unwrap_or(0)
        }
        _ => 0,
    }
}

/// Remembers a cell.
fn know(known: &mut [u64], object: &Object, index: usize) {
    let stride = known.len();
    for (limb, known) in known.iter_mut().enumerate() {
        *known = limbs(object, index * stride + limb);
    }
}

/// A cell of an object as the hardware has it.
fn held(object: &Object, index: usize) -> BigUint {
    match object {
        Object::Register(register) => {
            let values = register.read(index).unwrap_or_default();
            values.iter().fold(BigUint::default(), |all, value| {
                (all << value.width()) | value.unsigned()
            })
        }
        Object::Counter(counter) => {
            let (packets, bytes) = counter.read(index).unwrap_or_default();
            (BigUint::from(bytes) << 64) | BigUint::from(packets)
        }
        Object::Meter(of) => {
            let Some((Some(rates), [committed, peak], last)) = of.held(index) else {
                return BigUint::default();
            };
            // What is more than the hardware counts to is as much as it does.
            let part = |(low, width): (u32, u32), value: u64| {
                let most = u64::MAX >> (64 - width);
                BigUint::from(value.min(most)) << low
            };
            part(meter::CONFIGURED, 1)
                | part(meter::COMMITTED, rates.committed)
                | part(meter::COMMITTED_BURST, rates.committed_burst)
                | part(meter::PEAK, rates.peak)
                | part(meter::PEAK_BURST, rates.peak_burst)
                | part(meter::COMMITTED_TOKENS, committed)
                | part(meter::PEAK_TOKENS, peak)
                | part(meter::LAST, last.as_ns())
        }
        _ => BigUint::default(),
    }
}

fn hold(object: &Object, index: usize, value: &BigUint) {
    match object {
        Object::Register(register) => {
            let mut rest = value.clone();
            let mut values: Vec<Bits> = Vec::new();
            for (_, ty) in register.fields.iter().rev() {
                values.insert(0, Bits::new(ty.width(), rest.clone()));
                rest >>= ty.width();
            }
            register.set(index, &values);
        }
        Object::Counter(counter) => {
            let low = |value: &BigUint| value.iter_u64_digits().next().unwrap_or(0);
            counter.set(index, low(value), low(&(value >> 64)));
        }
        Object::Meter(of) => {
            let part = |(from, width): (u32, u32)| {
                let bits = (value >> from) & p4::value::mask(width);
                bits.iter_u64_digits().next().unwrap_or(0)
            };
            let tokens = [part(meter::COMMITTED_TOKENS), part(meter::PEAK_TOKENS)];
            of.hold(index, tokens, node::Time::from_ns(part(meter::LAST)));
        }
        _ => {}
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
        let names = running.design.map.performance.iter();
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
        if bytes.len() > running.design.longest {
            return each(End::Stopped(Stop::Steps));
        }
        running.tell(&self.environment, context);
        let passages = running.device.stream(&[(port as u16, bytes)], context.now);
        running.ask(&self.environment, context);
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
