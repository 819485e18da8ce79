//! A program in P4 in software, with the tables and packets of its test: the expectation for the same in hardware.

use node::Time;
use pipeline::architecture::{Collected, Config, Pipeline};
use pipeline::engine::Path;
use pipeline::environment::{Environment, Object};
use pipeline::interpreter::Interpreter;
use pipeline::stf::{self, Kind};
use std::sync::Arc;

/// Bytes of the shortest frame without FCS.
pub const MIN_FRAME: usize = 60;

/// A program with tables, and packets for it.
pub struct Software {
    pipeline: Pipeline,
    /// Packets of the test.
    pub packets: Vec<Vec<u8>>,
}

impl Software {
    /// Packets and table entries are those of `test`, in the format of STF.
    ///
    /// # Errors
    /// A program that keeps state between packets, or a test with faults or without packets.
    pub fn new(environment: &Arc<Environment>, test: &str) -> Result<Software, String> {
        let keeps = environment
            .objects
            .iter()
            .any(|object| matches!(object, Object::Register(_) | Object::Meter(_)));
        if keeps {
            return Err("the program has registers or meters, so that its packets depend on their order at the ports".into());
        }
        let engine = Interpreter::new(environment).map_err(|error| error.to_string())?;
        let mut pipeline = Pipeline::new(environment, Box::new(engine), &Config::default())
            .map_err(|error| error.to_string())?;
        let script = stf::parse(test).map_err(|faults| {
            let first = faults.first();
            first.map_or_else(String::new, |fault| in_line(fault.line, &fault.message))
        })?;
        let (mut packets, mut control) = (Vec::new(), Vec::new());
        for command in script {
            match command.kind {
                Kind::Packet { bytes, .. } => packets.push(bytes),
                Kind::Expect(_)
                | Kind::NoPacket(_)
                | Kind::Wait(_)
                | Kind::Check(_)
                | Kind::Read { .. }
                | Kind::ExpectDigest { .. }
                | Kind::Either(_) => {}
                _ => control.push(command),
            }
        }
        if packets.is_empty() {
            return Err("the test has no packets".into());
        }
        match stf::run(&control, &mut pipeline).failures.first() {
            Some(failure) => Err(in_line(failure.line, &failure.message)),
            None => Ok(Software { pipeline, packets }),
        }
    }

    /// The program's tables.
    pub fn environment(&self) -> &Arc<Environment> {
        self.pipeline.environment()
    }

    /// The path of packets through the architecture.
    ///
    /// # Errors
    /// When the program has none.
    pub fn path(&self) -> Result<&Path, String> {
        let path = self.pipeline.path();
        path.ok_or_else(|| "the program never sends a packet".into())
    }

    /// Packets that leave for one that arrives, with their ports.
    pub fn send(&mut self, port: usize, packet: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let mut out = Collected::default();
        self.pipeline
            .process(Time::ZERO, port as u32, packet, &mut out);
        let packets = out.packets.into_iter();
        packets
            .map(|(port, bytes)| (port as usize, bytes))
            .collect()
    }
}

/// A frame as a MAC pads it.
pub fn padded(mut frame: Vec<u8>) -> Vec<u8> {
    frame.resize(frame.len().max(MIN_FRAME), 0);
    frame
}

fn in_line(line: u32, message: &str) -> String {
    format!("line {line} of the test: {message}")
}
