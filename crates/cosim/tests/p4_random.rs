//! Random programs: hardware and interpreter make the same of the same packets.

use crate::random::{Choices, Library, packet, source};
use cosim::p4::Rtl;
use p4::compile::{Options, compile};
use p4::ir::Program;
use pipeline::architecture::{Collected, Config, Drop, Pipeline};
use pipeline::engine::Engine;
use pipeline::environment::{Environment, Object};
use pipeline::interpreter::Interpreter;
use pipeline::state::replication::{Groups, Replica, Session};
use std::sync::Arc;

const BUILD: verilog::Options<'static> = verilog::Options {
    name: "dut",
    ..verilog::Options::DEFAULT
};

/// A program of source text that hardware can be, and of others the reason.
fn hardware(text: &str) -> Result<Arc<Program>, String> {
    let compiled = compile("random.p4", text, &mut Library, &Options::default());
    let program = Arc::new(compiled.program.expect("it is valid"));
    let environment = Environment::new(Arc::clone(&program), Default::default());
    let environment = Arc::new(environment.expect("its objects are small"));
    match verilog::Design::of(&environment, &BUILD) {
        Ok(_) => Ok(program),
        Err(error) => Err(error.message),
    }
}

/// A queue to the controller has so many places in hardware; what finds none is counted as lost.
const DIGESTS: usize = 16;

/// A pipeline, and what its registers and counters hold.
struct Side(Pipeline);

impl Side {
    fn new(program: &Arc<Program>, engine: impl Fn(&Arc<Environment>) -> Box<dyn Engine>) -> Side {
        let environment =
            Arc::new(Environment::new(Arc::clone(program), Default::default()).expect("small"));
        // Who copies has somebody to copy for.
        let mut groups = Groups::default();
        let replica = |port, instance| Replica { port, instance };
        for number in 0..8 {
            groups.multicast.insert(
                number,
                (0..number % 4)
                    .map(|copy| replica(copy + 1, copy))
                    .collect(),
            );
            let session = Session {
                replicas: (0..number % 3)
                    .map(|copy| replica(copy + 5, copy))
                    .collect(),
                truncate: (number == 4).then_some(9),
                ..Session::default()
            };
            groups.sessions.insert(number, session);
        }
        environment.replication.set(groups);
        let engine = engine(&environment);
        Side(Pipeline::new(&environment, engine, &Config::default()).expect("it runs"))
    }

    fn run(&mut self, port: u32, bytes: &[u8]) -> (Collected, Vec<String>, Vec<String>) {
        let mut out = Collected::default();
        self.0
            .process(node::Time::from_us(7), port, bytes, &mut out);
        let objects = self.0.environment().objects.iter();
        let held = objects.flat_map(|object| match object {
            Object::Register(register) => (0..register.size())
                .map(|index| format!("{:?}", register.read(index)))
                .collect(),
            Object::Counter(counter) => (0..counter.size())
                .map(|index| format!("{:?}", counter.read(index).map(|read| read.0)))
                .collect(),
            _ => Vec::new(),
        });
        let held: Vec<String> = held.collect();
        // Each place in the program has a queue of its own.
        let digests = self.0.environment().digests.drain();
        let mut digests: Vec<String> = digests.iter().map(|digest| format!("{digest:?}")).collect();
        digests.sort();
        (out, held, digests)
    }
}

/// As many programs as `RTL_SEEDS` says, from `RTL_FROM` on: one takes a minute or two, nearly all of it the C++ of its Verilog.
#[test]
fn hardware_agrees_with_the_interpreter_on_random_source_programs() {
    if !crate::p4::tools() {
        return;
    }
    let number = |name| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let (from, wanted): (u64, usize) = (
        number("RTL_FROM").unwrap_or(0),
        number("RTL_SEEDS").unwrap_or(1) as usize,
    );
    let (mut run, mut compared, mut sent, mut seed) = (0, 0, 0, from);
    while run < wanted {
        assert!(
            seed < from + 400 * wanted as u64,
            "hardly any program can be hardware"
        );
        let mut choices = Choices::new(&[], seed);
        let text = source(&mut choices);
        seed += 1;
        let program = match hardware(&text) {
            Ok(program) => program,
            Err(why) => {
                println!("seed {}: {why}", seed - 1);
                continue;
            }
        };
        let packets: Vec<_> = (0..16)
            .map(|_| (choices.below(4) as u32, packet(&mut choices)))
            .collect();
        let mut one = Side::new(&program, |environment| {
            Box::new(Interpreter::new(environment).expect("known"))
        });
        let expected: Vec<_> = packets
            .iter()
            .map(|(port, bytes)| one.run(*port, bytes))
            .collect();
        // The limit counts for each copy by itself in hardware: copies of copies without end are others there, and so is what they leave.
        let endless = |(out, ..): &(Collected, _, _)| out.drops.contains(&Drop::Passes);
        let comparable = expected.iter().position(endless).unwrap_or(packets.len());
        if comparable == 0 {
            println!("seed {}: packets begin anew without end", seed - 1);
            continue;
        }
        let mut two = Side::new(&program, |environment| Box::new(Rtl::new(environment)));
        for (number, ((port, bytes), expected)) in
            packets.iter().zip(expected).take(comparable).enumerate()
        {
            let got = two.run(*port, bytes);
            let told =
                expected.2 == got.2 || (expected.2.len() > DIGESTS && got.2.len() >= DIGESTS);
            assert!(
                (&expected.0, &expected.1) == (&got.0, &got.1) && told,
                "seed {}, packet {number} {bytes:02x?}\nthe interpreter: {expected:?}\nthe hardware: {got:?}\n{text}",
                seed - 1
            );
            sent += got.0.packets.len();
        }
        compared += comparable;
        run += 1;
    }
    println!(
        "{run} programs to seed {}: {compared} packets agree, {sent} were sent",
        seed - 1
    );
    assert!(sent > 0, "nothing was compared");
}
