//! How many cycles a P4 program takes as hardware (paper 002, tables 3.1 to 3.3, figure 3.5).
//!
//! `cargo run -p wireline-cosim --example p4_cycles -- PROGRAM.p4 [--width BITS] [--without LIST] [ENTRIES.txt] [PACKET]`, where the file has
//! commands for the control plane, and the packet is in hexadecimal digits: it is sent as it is, and filled up with zeros to each of the paper's
//! lengths. The width and the list are those of `wire p4 compile`. Gb/s are at 250 MHz, as in the paper.

use cosim::p4::{Outcome, Rtl};
use p4::compile::{Options, compile};
use p4::library::WithFiles;
use pipeline::architecture::{Config, Pipeline};
use pipeline::context::Context;
use pipeline::control::Control;
use pipeline::engine::Engine;
use pipeline::environment::Environment;
use pipeline::interpreter::Interpreter;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use verilog::Optimise;

/// The bytes of hexadecimal digits, with anything else between them.
fn bytes(digits: &str) -> Vec<u8> {
    let nibbles: Vec<u8> = digits
        .chars()
        .filter_map(|c| c.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    let (pairs, _) = nibbles.as_chunks::<2>();
    pairs.iter().map(|[high, low]| high << 4 | low).collect()
}

/// The word behind an option, which is taken out.
fn option(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == name)?;
    let mut taken = arguments.drain(at..(at + 2).min(arguments.len()));
    taken.nth(1)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let width = option(&mut arguments, "--width").map_or(Ok(512), |bits| bits.parse())?;
    let mut optimise = Optimise::ALL;
    for name in option(&mut arguments, "--without")
        .iter()
        .flat_map(|list| list.split(','))
    {
        match name {
            "parallel" => optimise.parallel = false,
            "shared" => optimise.shared = false,
            "cut-parser" => optimise.cut_parser = false,
            _ => return Err(format!("there is no optimisation `{name}`").into()),
        }
    }
    let program = arguments.first().ok_or("name a program")?;
    let text = std::fs::read_to_string(program)?;
    let folder = Path::new(program).parent().unwrap_or(Path::new(""));
    let compiled = compile(
        program,
        &text,
        &mut WithFiles(|name: &str| std::fs::read_to_string(folder.join(name)).ok()),
        &Options::default(),
    );
    let compiled = compiled
        .program
        .ok_or("the program has errors: see `wire p4 check`")?;
    let environment = Arc::new(Environment::new(Arc::new(compiled), Default::default())?);
    if let Some(entries) = arguments.get(1) {
        let control = Control::new(Arc::clone(&environment));
        let text = std::fs::read_to_string(entries)?;
        for command in text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        {
            control
                .say(command)
                .map_err(|error| format!("{command}: {}", error.message))?;
        }
    }
    let interpreter = Interpreter::new(&environment)?;
    let asked = Pipeline::new(&environment, Box::new(interpreter), &Config::default())?;
    let mut rtl = Rtl::new(&environment)
        .with_width(width)
        .with_optimise(optimise);
    rtl.prepare(asked.path())?;
    let context = Context::new(Arc::clone(&environment), 0);
    if let Some(design) = rtl.design() {
        let lines: usize = design
            .files
            .iter()
            .map(|(_, text)| text.lines().count())
            .sum();
        println!(
            "{program}: {} lines of P4, {lines} of Verilog",
            text.lines().count()
        );
        println!(
            "pipeline: {} cycles, a window of {} bytes, {} bytes of headers at most",
            design.stages, design.window, design.header
        );
        if !design.alone.is_empty() {
            println!(
                "one packet at a time because of {}",
                design.alone.join(", ")
            );
        }
    }
    println!("bytes  first in to first out  to last out  back to back: cycles each  Gb/s");
    let mut head = arguments
        .get(2)
        .map_or_else(|| vec![0; 64], |digits| bytes(digits));
    // No packet is shorter than an Ethernet frame.
    if head.len() < 64 {
        head.resize(64, 0);
    }
    let mut lengths = vec![64, 128, 256, 512, 1024, 1518];
    lengths.retain(|length| *length > head.len());
    lengths.insert(0, head.len());
    for length in lengths {
        let mut packet = head.clone();
        packet.resize(length, 0);
        let one = rtl.stream(&[(0, &packet)], &context)?;
        let many: Vec<(u16, &[u8])> = (0..256).map(|_| (0, &packet[..])).collect();
        let many = rtl.stream(&many, &context)?;
        let (first, last) = (&many[64], &many[many.len() - 1]);
        let each = (last.last_out - first.last_out) as f64 / (many.len() - 65) as f64;
        let what = match &one[0].outcome {
            Outcome::Sent(port, bytes) => format!("sent by port {port} with {} bytes", bytes.len()),
            Outcome::Dropped(code) => format!("dropped, {code}"),
        };
        println!(
            "{:5}  {:21}  {:11}  {each:25.2}  {:4.0}  {what}",
            packet.len(),
            one[0].first_out - one[0].first_in,
            one[0].last_out - one[0].first_in,
            packet.len() as f64 * 8.0 * 0.25 / each,
        );
    }
    Ok(())
}
