//! An engine with a program, and all that anybody can see of what it does to a packet.

use p4::ir::*;
use p4::value::Bits;
use pipeline::context::{Context, Waiting};
use pipeline::engine::{Ended, Engine, Packet};
use pipeline::environment::{Environment, Options};
use pipeline::interpreter::Interpreter;
use std::sync::Arc;

/// What came of a packet: how sections ended, the slots that others see, what is emitted.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub ended: Vec<Ended>,
    pub slots: Vec<(Arc<str>, Bits)>,
    pub position: u64,
    pub emitted: Vec<u8>,
    pub emitted_bits: u64,
    pub steps: u32,
    pub counts: Vec<Option<(u64, u64)>>,
    pub registers: Vec<Option<Vec<Bits>>>,
    pub checksum_error: bool,
}

impl Outcome {
    /// Without what only other sections would see.
    pub fn outside(mut self) -> Self {
        self.slots.clear();
        self
    }

    /// Without how many steps it took.
    pub fn in_any_time(mut self) -> Self {
        self.steps = 0;
        self
    }

    /// Whether it came to an end by itself.
    pub fn ended(&self) -> bool {
        !self.ended.contains(&Ended::Stop)
    }
}

/// A program with its state in one engine.
pub struct Side {
    pub environment: Arc<Environment>,
    pub engine: Box<dyn Engine>,
    pub context: Context,
    pub seen: Vec<SlotId>,
}

impl Side {
    pub fn new(
        program: &Arc<Program>,
        engine: impl Fn(&Arc<Environment>) -> Box<dyn Engine>,
    ) -> Self {
        let environment = Environment::new(Arc::clone(program), Options::default());
        let environment = Arc::new(environment.expect("its objects are small"));
        let parameters = program
            .sections
            .iter()
            .flat_map(|section| &section.parameters);
        let seen = parameters.flat_map(|parameter| parameter.fields.iter().map(|(_, slot)| *slot));
        let mut seen: Vec<SlotId> = seen.collect();
        seen.sort();
        seen.dedup();
        Side {
            engine: engine(&environment),
            context: {
                let mut context = Context::new(Arc::clone(&environment), 1);
                let waiting = |n| Waiting {
                    packets: n,
                    time: n * 1000,
                };
                context.waiting = (0..200).map(waiting).collect();
                context
            },
            environment,
            seen,
        }
    }

    pub fn interpreter(program: &Arc<Program>) -> Self {
        Self::new(program, |environment| {
            Box::new(Interpreter::new(environment).expect("its externs are known"))
        })
    }

    pub fn jit(program: &Arc<Program>) -> Self {
        Self::new(program, |environment| {
            Box::new(jit::Jit::new(environment).expect("its externs are known"))
        })
    }

    /// Runs all sections one after the other.
    pub fn run(&mut self, bytes: &[u8]) -> Outcome {
        let program = Arc::clone(&self.environment.program);
        let mut cells = self.environment.layout.fresh();
        let mut packet = Packet::default();
        packet.begin(bytes);
        self.context.begin(node::Time::ZERO, bytes.len() as u32);
        // Loops without end shall not take the test's time.
        self.context.steps = 50;
        let mut ended = Vec::new();
        let view = self.environment.tables.view();
        for section in 0..program.sections.len() as u32 {
            let end = self.engine.run(
                SectionId(section),
                &mut cells,
                &mut packet,
                view.tables(),
                &mut self.context,
            );
            ended.push(end);
            if end == Ended::Stop {
                break;
            }
        }
        let layout = &self.environment.layout;
        let slots = self.seen.iter().map(|slot| {
            let name = &program.slots[slot.index()].name;
            (Arc::clone(name), layout.read(&cells, *slot))
        });
        let counter = |object: u32, index| {
            self.environment
                .counter(ObjectId(object))
                .and_then(|counter| counter.read(index))
        };
        let counts = (0..4).map(|index| counter(1, index));
        let direct = (0..16).map(|index| counter(2, index));
        let register = self.environment.register(ObjectId(0));
        let registers = (0..5).map(|index| register.and_then(|register| register.read(index)));
        Outcome {
            slots: slots.collect(),
            ended,
            position: packet.position,
            emitted: packet.emitted,
            emitted_bits: packet.emitted_bits,
            steps: self.context.steps,
            counts: counts.chain(direct).collect(),
            registers: registers.collect(),
            checksum_error: self.context.effects.checksum_error,
        }
    }
}
