//! Whole programs, from source text to what leaves a switch, in both engines.

use super::source::source;
use super::{Choices, packet};
use jit::Jit;
use p4::compile::{Options, compile};
use p4::ir::{ObjectId, Program};
use p4::source::{IncludeError, Includes};
use p4::value::Bits;
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::engine::Engine;
use pipeline::environment::{Digest, Environment, Message};
use pipeline::interpreter::Interpreter;
use pipeline::state::replication::{Replica, Session};
use std::convert::Infallible;
use std::sync::Arc;

/// Runs a random program of source text on random packets, packet by packet in both engines. Says how many packets left, those that came by a clone
/// session apart.
pub fn compare_whole(c: &mut Choices<'_>, packets: usize) -> (usize, usize) {
    let (mut sent, mut cloned) = (0, 0);
    let text = source(c);
    let compiled = compile("random.p4", &text, &mut Library, &Options::default());
    let Some(program) = compiled.program else {
        let faults = compiled.diagnostics.sorted().into_iter();
        let faults: String = faults.map(|one| one.render(&compiled.sources)).collect();
        panic!("{faults}\n{text}");
    };
    let program = Arc::new(program);
    let mut one = Switch::new(&program, |environment| {
        Box::new(Interpreter::new(environment).expect("its externs are known"))
    });
    let mut two = Switch::new(&program, |environment| {
        Box::new(Jit::new(environment).expect("its externs are known"))
    });
    for number in 0..packets {
        let (port, bytes) = (c.below(4) as u32, packet(c));
        let (expected, got) = (one.run(port, &bytes), two.run(port, &bytes));
        assert!(
            expected == got,
            "packet {number} {bytes:02x?}\nthe interpreter: {expected:?}\nthe fast engine: {got:?}\n{text}\n{}",
            p4::ir::text::print(&program)
        );
        let mirrored = |(port, _): &&(u32, Vec<u8>)| (8..=11).contains(port);
        let clones = got.out.packets.iter().filter(mirrored).count();
        sent += got.out.packets.len() - clones;
        cloned += clones;
    }
    (sent, cloned)
}

/// The compiler's own files.
pub struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = p4::library::file(name).ok_or("no such file")?;
        Ok((name.into(), text.into()))
    }
}

/// All that anybody outside can see after a packet.
#[derive(Debug, PartialEq)]
struct Seen {
    out: Collected,
    digests: Vec<Digest>,
    messages: Vec<Message>,
    counts: Vec<(u64, u64)>,
    registers: Vec<Vec<Bits>>,
}

struct Switch {
    environment: Arc<Environment>,
    pipeline: Pipeline,
}

impl Switch {
    fn new(program: &Arc<Program>, engine: fn(&Arc<Environment>) -> Box<dyn Engine>) -> Self {
        let environment = Environment::new(Arc::clone(program), Default::default());
        let environment = Arc::new(environment.expect("its objects are small"));
        let copies = |ports: &[u32]| {
            ports
                .iter()
                .map(|port| Replica {
                    port: *port,
                    instance: 7,
                })
                .collect()
        };
        let groups = environment.replication.change(|groups| {
            groups.multicast.insert(1, copies(&[1, 2]));
            for (session, ports, truncate) in [
                (0, &[8][..], None),
                (1, &[9], Some(30)),
                (3, &[10, 11], None),
            ] {
                let (replicas, group) = (copies(ports), None);
                groups.sessions.insert(
                    session,
                    Session {
                        replicas,
                        group,
                        truncate,
                        ..Session::default()
                    },
                );
            }
            Ok::<(), Infallible>(())
        });
        groups.expect("it cannot fail");
        let config = Config {
            passes: 24,
            ..Config::default()
        };
        let pipeline = Pipeline::new(&environment, engine(&environment), &config);
        Switch {
            pipeline: pipeline.expect("its architecture is known"),
            environment,
        }
    }

    fn run(&mut self, port: u32, bytes: &[u8]) -> Seen {
        let mut out = Collected::default();
        self.pipeline
            .process(node::Time::from_us(77), port, bytes, &mut out);
        let environment = &self.environment;
        let objects = || (0..environment.objects.len() as u32).map(ObjectId);
        let counters = objects().filter_map(|object| environment.counter(object));
        let counts =
            counters.flat_map(|counter| (0..counter.size()).filter_map(|at| counter.read(at)));
        let registers = objects().filter_map(|object| environment.register(object));
        let values =
            registers.flat_map(|register| (0..register.size()).filter_map(|at| register.read(at)));
        Seen {
            out,
            digests: environment.digests.drain(),
            messages: environment.messages.drain(),
            counts: counts.collect(),
            registers: values.collect(),
        }
    }
}
