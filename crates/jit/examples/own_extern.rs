//! A P4 program with externs of its own, in both engines: `cargo run -p wireline-jit --example own_extern`.

use jit::Jit;
use node::Time;
use p4::compile::{Options, compile};
use p4::ir::Ty;
use p4::source::{IncludeError, Includes};
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::engine::Engine;
use pipeline::environment::{self, Environment, Unsupported};
use pipeline::externs::registry::{Instance, Method, Methods, Registry, Signature};
use pipeline::interpreter::Interpreter;
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A count-min sketch: of each key no less than how often it was added, and seldom more.
struct CountMin {
    rows: Vec<Vec<AtomicU32>>,
}

impl CountMin {
    fn add(&self, key: u64) -> u32 {
        let counts = self.rows.iter().enumerate().map(|(row, columns)| {
            let mut hasher = DefaultHasher::new();
            (row, key).hash(&mut hasher);
            let column = hasher.finish() % columns.len() as u64;
            columns[column as usize].fetch_add(1, Ordering::Relaxed) + 1
        });
        counts.min().unwrap_or(0)
    }
}

/// The methods of one `CountMin<K>(rows, columns)` of the program; they share its state.
fn count_min(instance: &Instance<'_>) -> Result<Methods, Unsupported> {
    let size = |parameter| {
        instance
            .number(parameter)
            .filter(|n| (1..=1 << 20).contains(n))
    };
    let rows = size("rows").ok_or("`rows` is 1 to 1048576")?;
    let columns = size("columns").ok_or("`columns` is 1 to 1048576")?;
    let row = || (0..columns).map(|_| AtomicU32::new(0)).collect();
    let sketch = CountMin {
        rows: (0..rows).map(|_| row()).collect(),
    };
    let [key @ Ty::Bits(1..=64)] = instance.type_argument(0).unwrap_or_default()[..] else {
        return Err("its type argument is `bit<1>` to `bit<64>`".into());
    };
    let signature = Signature::default().input(key).output(Ty::Bits(32));
    let add = Method::new(signature, move |call| {
        let estimate = sketch.add(call.number(0));
        call.give(0, estimate.into());
    });
    Ok(vec![("add", add)])
}

/// What the program's externs do.
pub fn registry() -> Registry {
    let signature = Signature::default()
        .input(Ty::Bits(32))
        .returns(Ty::Bits(8));
    let popcount = Method::new(signature, |call| {
        call.give(0, call.number(0).count_ones().into());
    });
    Registry::default()
        .object("CountMin", count_min)
        .function("popcount", popcount)
}

struct Library;

impl Includes for Library {
    fn read(&mut self, name: &str, _: bool, _: &str) -> Result<(String, String), IncludeError> {
        let text = p4::library::file(name).ok_or("no such file")?;
        Ok((name.into(), text.into()))
    }
}

/// A pipeline for a program's text, in the fast engine or the interpreter.
pub fn load(text: &str, externs: Registry, fast: bool) -> Result<Pipeline, Box<dyn Error>> {
    let compiled = compile("own_extern.p4", text, &mut Library, &Options::default());
    for diagnostic in compiled.diagnostics.sorted() {
        eprint!("{}", diagnostic.render(&compiled.sources));
    }
    let program = compiled.program.ok_or("the program has errors")?;
    let options = environment::Options {
        externs,
        ..environment::Options::default()
    };
    let environment = Arc::new(Environment::new(Arc::new(program), options)?);
    let engine: Box<dyn Engine> = if fast {
        Box::new(Jit::new(&environment)?)
    } else {
        Box::new(Interpreter::new(&environment)?)
    };
    Ok(Pipeline::new(&environment, engine, &Config::default())?)
}

fn main() -> Result<(), Box<dyn Error>> {
    for fast in [false, true] {
        let mut pipeline = load(include_str!("own_extern.p4"), registry(), fast)?;
        println!("{}", if fast { "fast" } else { "reference" });
        for source in [
            0x0a00_0001_u32,
            0x0a00_0007,
            0x0a00_0001,
            0x0a00_0001,
            0x0a00_0001,
        ] {
            let mut packet = source.to_be_bytes().to_vec();
            packet.extend([0; 5]);
            let mut out = Collected::default();
            pipeline.process(Time::ZERO, 0, &packet, &mut out);
            match &out.packets[..] {
                [(port, bytes)] => println!("{source:08x}: {bytes:02x?} by port {port}"),
                _ => println!("{source:08x}: dropped"),
            }
        }
    }
    Ok(())
}
