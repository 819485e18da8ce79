//! A program's registers: the rows and cells that its tables and memories have, and the control plane's changes of them.

use super::bus::Bus;
use super::rows::{self, Rows};
use node::Time;
use num_bigint::BigUint;
use p4::value::Bits;
use pipeline::environment::{Digest, Environment, Message, Object};
use std::sync::atomic::Ordering::Relaxed;
use verilog::Design;
use verilog::map::address::{DEFAULT_ROW, DIGESTS, TAKE, WRITTEN};
use verilog::map::{CAM_CYCLES, DigestMap, Source, TableKind, meter};

/// Contents of the registers of one instance of a program.
pub(crate) struct Registers {
    pub(crate) design: Design,
    tables: Vec<Shadow>,
    /// By memory, what its cells have, as [`limbs`] gives it.
    cells: Vec<Vec<u64>>,
    writes: Vec<u32>,
    /// The places of multicast groups.
    places: Vec<u32>,
    /// How many messages were lost, by queue.
    lost: Vec<u32>,
}

/// The hardware's description of a table.
#[derive(Default)]
struct Shadow {
    seen: Option<u64>,
    rows: Rows,
    /// Of a table in two halves: those of the half that is not read.
    hidden: Rows,
}

impl Registers {
    /// Those of a design after reset.
    pub(crate) fn new(environment: &Environment, design: Design) -> Registers {
        let cells = design.map.memories.iter().map(|memory| {
            let object = &environment.objects[memory.object.index()];
            vec![0; memory.size * stride(object)]
        });
        Registers {
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
        }
    }

    /// Brings the hardware to what the control plane has said since.
    pub(crate) fn tell(&mut self, bus: &mut impl Bus, environment: &Environment, now: Time) {
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
            // New entries are written before old ones go, so that no entry that stays is ever missing.
            for (row, bits) in &rows {
                // The default has no halves.
                if shadow.rows.get(row) != Some(bits) || (prefix && *row == DEFAULT_ROW) {
                    bus.commit(object, *row, &words_of(bits, words));
                    bus.wait(rest);
                }
            }
            let gone = shadow.rows.keys().filter(|row| !rows.contains_key(row));
            for row in gone {
                // A boundary that is not used is beyond all keys.
                let fill = if prefix { u32::MAX } else { 0 };
                bus.commit(object, *row, &vec![fill; words]);
                bus.wait(rest);
            }
            if prefix {
                bus.commit(object, 0, &[]);
            }
            if left > 0 && shadow.rows != rows {
                environment.messages.push(Message {
                    at: now,
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
                    bus.commit(object, row as u32, &[*place]);
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
                    bus.commit(first + number, index as u32, &words_of(&value, words));
                    know(known, object, index);
                }
            }
        }
    }

    /// Brings what packets have written back, and what they have to say.
    pub(crate) fn ask(&mut self, bus: &mut impl Bus, environment: &Environment, now: Time) {
        for (number, map) in self.design.map.digests.iter().enumerate() {
            let at = DIGESTS + 64 * number as u16;
            let words = map.width().div_ceil(32) as u16;
            loop {
                let told = bus.read(at);
                let lost = told >> 1;
                if lost != self.lost[number] {
                    environment.messages.push(Message {
                        at: now,
                        text: format!("{}: {} messages to the controller found no room in the hardware's queue and are lost", map.name, lost - self.lost[number]),
                    });
                    self.lost[number] = lost;
                }
                if told & 1 == 0 {
                    break;
                }
                let words = (0..words).map(|word| bus.read(at + 1 + word));
                let message = BigUint::new(words.collect());
                environment.digests.push(heard(map, message, now));
                bus.write(TAKE, number as u32);
                // The next one needs a cycle to come forward.
                bus.read(at);
            }
        }
        let first = self.design.map.tables.len();
        for (number, map) in self.design.map.memories.iter().enumerate() {
            let object = first + number;
            let at = WRITTEN + 2 * object as u16;
            let writes = bus.read(at);
            let times = writes.wrapping_sub(self.writes[number]);
            self.writes[number] = writes;
            let last = match times {
                0 => continue,
                1 => Some(bus.read(at + 1) as usize),
                _ => None,
            };
            let words = map.width.div_ceil(32) as usize;
            let changed = last.map_or(0..map.size, |last| last..last + 1);
            for index in changed {
                let value = BigUint::new(bus.fetch(object, index as u32, words));
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

/// A message in the form that the controller receives.
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
            // A number beyond the hardware's maximum counts as the maximum.
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
