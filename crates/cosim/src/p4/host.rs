//! A host's channel to a program (paper 002, section 3.2.2): `rtl/p4_host` with the Verilog that the compiler makes, and its driver.
//!
//! A call that is posted does not block: its callback gets the answer while the clock runs. Calls are done one after the other. The blocking
//! calls run the clock until they have an answer, or until their timeout.

use super::bus::Bus;
use super::modules;
use super::registers::Registers;
use super::verilate;
use crate::ports::p4_host_device::*;
use crate::shared::Shared;
use node::Time;
use pipeline::engine::Path;
use pipeline::environment::{Environment, Unsupported};
use std::collections::VecDeque;

/// Longest packet that a host sends, in bytes: the ring to the program.
pub const MAX_PACKET: usize = 2_048;

/// Registers: see `p4_host.v`.
mod register {
    pub(super) const SEND_LOW: u8 = 0x10;
    pub(super) const SEND_HIGH: u8 = 0x14;
    pub(super) const SEND: u8 = 0x18;
    pub(super) const SENT: u8 = 0x1C;
    pub(super) const WORD: u8 = 0x20;
    pub(super) const WORD_LOW: u8 = 0x24;
    pub(super) const WORD_HIGH: u8 = 0x28;
    pub(super) const RECEIVED: u8 = 0x2C;
    pub(super) const LOST: u8 = 0x30;
    pub(super) const ADDRESS: u8 = 0x40;
    pub(super) const DATA: u8 = 0x44;
}

/// Flags of `SEND` and `WORD`.
const LAST: u32 = 0x200;
const IS_THERE: u32 = 0x100;
const TAKE: u32 = 0x100;
const ABANDON: u32 = 0x400;

const SHIM: &str = concat!(
    include_str!(concat!(env!("OUT_DIR"), "/p4_host_device.inc")),
    include_str!("../../shim/words.cpp")
);

/// A call of the host to the hardware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Sends a packet of 1 to [`MAX_PACKET`] bytes to the program.
    Send(Vec<u8>),
    /// Takes the first packet that the program has sent to the host.
    Receive,
    /// Reads a register of the program.
    Read(u16),
    /// Writes a register of the program.
    Write(u16, u32),
    /// Packets sent by the host, received by it, and lost because it did not take those before.
    Counters,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The packet is on its way.
    Sent,
    /// There is no room for the packet now; nothing of it was sent.
    Full,
    /// The packet has no byte, or more than [`MAX_PACKET`].
    WrongLength,
    /// A packet.
    Packet(Vec<u8>),
    /// No packet is here.
    Empty,
    /// The register's value.
    Value(u32),
    /// The register is written.
    Written,
    /// Sent, received, lost.
    Counters([u32; 3]),
}

/// No answer within the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no answer within {0} cycles")]
pub struct TimedOut(pub u64);

/// Gets the answer to a posted call.
type Callback = Box<dyn FnOnce(Answer)>;

/// A transaction on the bus.
#[derive(Clone, Copy)]
enum Transaction {
    Write(u8, u32),
    Read(u8),
}

/// The next step of a call.
enum Next {
    Transact(Transaction),
    Done(Answer),
}

/// A call that is being done.
struct Task {
    call: Call,
    callback: Callback,
    /// Transactions that are done.
    done: usize,
    bytes: Vec<u8>,
    flags: u32,
    values: [u32; 3],
}

impl Task {
    /// The next transaction after the one that gave `response`: whether the hardware accepted it, and the value read.
    fn next(&mut self, response: Option<(bool, u32)>) -> Next {
        use Next::{Done, Transact};
        use Transaction::{Read, Write};
        let (is_good, value) = response.unwrap_or((true, 0));
        let done = self.done;
        self.done += 1;
        match &self.call {
            Call::Send(packet) if packet.is_empty() || packet.len() > MAX_PACKET => {
                Done(Answer::WrongLength)
            }
            // Three transactions for each word of eight bytes; the third one has what accepts or refuses it.
            Call::Send(_) if self.flags == ABANDON => Done(Answer::Full),
            Call::Send(_) if !is_good => {
                self.flags = ABANDON;
                Transact(Write(register::SEND, ABANDON))
            }
            Call::Send(packet) => {
                let (word, part) = (done / 3, done % 3);
                let Some(bytes) = packet.chunks(8).nth(word) else {
                    return Done(Answer::Sent);
                };
                let mut lanes = [0; 8];
                lanes[..bytes.len()].copy_from_slice(bytes);
                let data = u64::from_le_bytes(lanes);
                let last = u32::from((word + 1) * 8 >= packet.len()) * LAST;
                Transact(match part {
                    0 => Write(register::SEND_LOW, data as u32),
                    1 => Write(register::SEND_HIGH, (data >> 32) as u32),
                    _ => Write(register::SEND, last | ((1 << bytes.len()) - 1)),
                })
            }
            // Four for each word: state, both halves, and that it is taken.
            Call::Receive => {
                match done % 4 {
                    1 => self.flags = value,
                    2 | 3 => {
                        let left = self.flags.to_le_bytes()[0].count_ones() as usize;
                        let kept = if done % 4 == 2 {
                            left.min(4)
                        } else {
                            left.saturating_sub(4)
                        };
                        self.bytes.extend(&value.to_le_bytes()[..kept]);
                    }
                    _ => {}
                }
                match done % 4 {
                    0 if done > 0 && self.flags & LAST != 0 => {
                        Done(Answer::Packet(std::mem::take(&mut self.bytes)))
                    }
                    0 => Transact(Read(register::WORD)),
                    1 if self.flags & IS_THERE == 0 && done == 1 => Done(Answer::Empty),
                    1 if self.flags & IS_THERE == 0 => {
                        // The ring's next word is on its way.
                        self.done = done;
                        Transact(Read(register::WORD))
                    }
                    1 => Transact(Read(register::WORD_LOW)),
                    2 => Transact(Read(register::WORD_HIGH)),
                    _ => Transact(Write(register::WORD, TAKE)),
                }
            }
            Call::Read(address) => match done {
                0 => Transact(Write(register::ADDRESS, u32::from(*address))),
                1 => Transact(Read(register::DATA)),
                _ => Done(Answer::Value(value)),
            },
            Call::Write(address, data) => match done {
                0 => Transact(Write(register::ADDRESS, u32::from(*address))),
                1 => Transact(Write(register::DATA, *data)),
                _ => Done(Answer::Written),
            },
            Call::Counters => {
                if let Some(last) = done.checked_sub(1) {
                    self.values[last] = value;
                }
                match done {
                    0 => Transact(Read(register::SENT)),
                    1 => Transact(Read(register::RECEIVED)),
                    2 => Transact(Read(register::LOST)),
                    _ => Done(Answer::Counters(self.values)),
                }
            }
        }
    }
}

/// A program with a host and a network of 64 bits, cycle by cycle.
pub struct Host {
    channel: Channel,
    registers: Registers,
}

impl Host {
    /// The hardware after reset, with the program on its architecture's path. Its tables are empty until [`Host::load`].
    ///
    /// # Errors
    /// The part of the program that cannot be hardware, or the reason why Verilog cannot be run here.
    pub fn new(environment: &Environment, path: &Path) -> Result<Host, Unsupported> {
        let (design, library) = verilate::around(
            environment,
            path,
            &LAYOUT,
            SHIM,
            &modules::HOST,
            "P4_HOST_PROGRAM",
        )?;
        let mut channel = Channel {
            shared: Shared::new(library),
            inputs: vec![0; LAYOUT.inputs],
            outputs: vec![0; LAYOUT.outputs],
            tasks: VecDeque::new(),
            transaction: None,
            coming: VecDeque::new(),
            leaving: Vec::new(),
            left: VecDeque::new(),
            lost: 0,
            dropped: 0,
        };
        channel.inputs[RST] = 1;
        channel.inputs[S_AXIL_WSTRB] = 0xF;
        channel.run(4);
        channel.inputs[RST] = 0;
        channel.inputs[M_AXIS_TREADY] = 1;
        Ok(Host {
            channel,
            registers: Registers::new(environment, design),
        })
    }

    /// Brings the program's tables and registers to what the control plane has said, over the channel.
    pub fn load(&mut self, environment: &Environment) {
        self.registers
            .tell(&mut self.channel, environment, Time::ZERO);
    }

    /// Does a call while the clock runs: `callback` gets its answer. Does not block.
    pub fn post(&mut self, call: Call, callback: impl FnOnce(Answer) + 'static) {
        self.channel.post(call, Box::new(callback));
    }

    /// Calls that have no answer yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.channel.tasks.len()
    }

    /// Does a call at once: sends if there is room, takes a packet if one is here.
    pub fn call(&mut self, call: Call) -> Answer {
        self.channel.call(call)
    }

    /// Sends a packet, and waits for room. Blocks.
    ///
    /// # Errors
    /// Without room for `timeout` cycles.
    ///
    /// # Panics
    /// When the packet has no byte, or more than [`MAX_PACKET`].
    pub fn send(&mut self, packet: &[u8], timeout: u64) -> Result<(), TimedOut> {
        assert!(
            (1..=MAX_PACKET).contains(&packet.len()),
            "{} bytes",
            packet.len()
        );
        let answer = self.until(&Call::Send(packet.to_vec()), &Answer::Full, timeout)?;
        debug_assert_eq!(answer, Answer::Sent);
        Ok(())
    }

    /// Waits for a packet that the program sends to the host. Blocks.
    ///
    /// # Errors
    /// Without a packet for `timeout` cycles.
    pub fn receive(&mut self, timeout: u64) -> Result<Vec<u8>, TimedOut> {
        match self.until(&Call::Receive, &Answer::Empty, timeout)? {
            Answer::Packet(packet) => Ok(packet),
            _ => Err(TimedOut(timeout)),
        }
    }

    fn until(&mut self, call: &Call, not: &Answer, timeout: u64) -> Result<Answer, TimedOut> {
        let mut cycles = 0;
        while cycles < timeout {
            let (answer, took) = self.channel.call_counted(call.clone());
            if answer != *not {
                return Ok(answer);
            }
            cycles += took;
        }
        Err(TimedOut(timeout))
    }

    /// Runs `cycles` clock cycles.
    pub fn run(&mut self, cycles: u64) {
        self.channel.run(cycles);
    }

    /// A packet arrives from the network, behind those before.
    ///
    /// # Panics
    /// When it has no byte.
    pub fn offer(&mut self, packet: &[u8]) {
        assert!(!packet.is_empty(), "a packet without a byte");
        self.channel.coming.extend(words(packet));
    }

    /// Packets from the network that have not arrived.
    #[must_use]
    pub fn is_arriving(&self) -> bool {
        !self.channel.coming.is_empty()
    }

    /// Whether the network takes packets; it does after reset.
    pub fn set_ready(&mut self, ready: bool) {
        self.channel.inputs[M_AXIS_TREADY] = ready.into();
    }

    /// The next packet that has left to the network.
    pub fn left(&mut self) -> Option<Vec<u8>> {
        self.channel.left.pop_front()
    }

    /// Packets from the network that found no room, and packets that the program dropped.
    #[must_use]
    pub fn losses(&self) -> (u64, u64) {
        (self.channel.lost, self.channel.dropped)
    }
}

/// A stream's word: data, keep, last.
type Word = (u64, u64, bool);

fn words(packet: &[u8]) -> impl Iterator<Item = Word> {
    let count = packet.len().div_ceil(8);
    packet.chunks(8).enumerate().map(move |(place, chunk)| {
        let mut lanes = [0; 8];
        lanes[..chunk.len()].copy_from_slice(chunk);
        let keep = (1 << chunk.len()) - 1;
        (u64::from_le_bytes(lanes), keep, place + 1 == count)
    })
}

/// The hardware at its pins.
struct Channel {
    shared: Shared,
    inputs: Vec<u64>,
    outputs: Vec<u64>,
    tasks: VecDeque<Task>,
    /// The first task's transaction that is on the bus.
    transaction: Option<Transaction>,
    coming: VecDeque<Word>,
    leaving: Vec<u8>,
    left: VecDeque<Vec<u8>>,
    lost: u64,
    dropped: u64,
}

impl Channel {
    fn post(&mut self, call: Call, callback: Callback) {
        self.tasks.push_back(Task {
            call,
            callback,
            done: 0,
            bytes: Vec::new(),
            flags: 0,
            values: [0; 3],
        });
    }

    fn call(&mut self, call: Call) -> Answer {
        self.call_counted(call).0
    }

    /// The answer to a call, and how many cycles it took, with those that were posted before.
    fn call_counted(&mut self, call: Call) -> (Answer, u64) {
        let answer = std::rc::Rc::new(std::cell::Cell::new(None));
        let place = std::rc::Rc::clone(&answer);
        self.post(call, Box::new(move |answer| place.set(Some(answer))));
        let mut cycles = 0;
        loop {
            if let Some(answer) = answer.take() {
                return (answer, cycles);
            }
            self.cycle();
            cycles += 1;
        }
    }

    fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.cycle();
        }
    }

    fn cycle(&mut self) {
        if self.transaction.is_none() {
            self.advance(None);
        }
        let word = self.coming.pop_front();
        self.inputs[S_AXIS_TVALID] = word.is_some().into();
        if let Some((data, keep, last)) = word {
            self.inputs[S_AXIS_TDATA] = data;
            self.inputs[S_AXIS_TKEEP] = keep;
            self.inputs[S_AXIS_TLAST] = last.into();
        }
        // Outputs are those behind the last edge: the word that is taken at the next one.
        if self.inputs[M_AXIS_TREADY] == 1 && self.outputs[M_AXIS_TVALID] == 1 {
            let kept = self.outputs[M_AXIS_TKEEP].count_ones() as usize;
            self.leaving
                .extend(&self.outputs[M_AXIS_TDATA].to_le_bytes()[..kept]);
            if self.outputs[M_AXIS_TLAST] == 1 {
                self.left.push_back(std::mem::take(&mut self.leaving));
            }
        }
        self.shared.cycle(&self.inputs, &mut self.outputs);
        self.lost += self.outputs[LOST];
        self.dropped += self.outputs[DROPPED];
        self.respond();
    }

    /// Puts the first task's next transaction on the bus.
    fn advance(&mut self, mut response: Option<(bool, u32)>) {
        while let Some(task) = self.tasks.front_mut() {
            match task.next(response.take()) {
                Next::Transact(transaction) => {
                    self.transaction = Some(transaction);
                    match transaction {
                        Transaction::Write(address, value) => {
                            self.inputs[S_AXIL_AWADDR] = address.into();
                            self.inputs[S_AXIL_WDATA] = value.into();
                            (self.inputs[S_AXIL_AWVALID], self.inputs[S_AXIL_WVALID]) = (1, 1);
                        }
                        Transaction::Read(address) => {
                            self.inputs[S_AXIL_ARADDR] = address.into();
                            self.inputs[S_AXIL_ARVALID] = 1;
                        }
                    }
                    return;
                }
                Next::Done(answer) => {
                    if let Some(task) = self.tasks.pop_front() {
                        (task.callback)(answer);
                    }
                }
            }
        }
    }

    /// Looks for the response behind an edge.
    fn respond(&mut self) {
        let (valid, ready, response, is_write) = match self.transaction {
            None => return,
            Some(Transaction::Write(..)) => (S_AXIL_BVALID, S_AXIL_BREADY, S_AXIL_BRESP, true),
            Some(Transaction::Read(_)) => (S_AXIL_RVALID, S_AXIL_RREADY, S_AXIL_RRESP, false),
        };
        if self.inputs[ready] == 1 {
            // It was taken at this edge.
            self.inputs[ready] = 0;
            self.transaction = None;
            let value = self.outputs[S_AXIL_RDATA] as u32;
            let is_good = self.outputs[response] == 0;
            self.advance(Some((is_good, value)));
        } else if self.outputs[valid] == 1 {
            match is_write {
                true => (self.inputs[S_AXIL_AWVALID], self.inputs[S_AXIL_WVALID]) = (0, 0),
                false => self.inputs[S_AXIL_ARVALID] = 0,
            }
            self.inputs[ready] = 1;
        }
    }
}

impl Bus for Channel {
    fn write(&mut self, to: u16, data: u32) {
        self.call(Call::Write(to, data));
    }

    fn read(&mut self, from: u16) -> u32 {
        match self.call(Call::Read(from)) {
            Answer::Value(value) => value,
            _ => 0,
        }
    }

    fn wait(&mut self, cycles: u32) {
        self.run(cycles.into());
    }
}
