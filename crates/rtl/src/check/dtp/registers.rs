//! The register bus of a DTP device: random reads and writes, and their expected results from the device in software.

use cosim::ports::dtp_device4::*;
use node::random::Random;
use nodes::dtp::Device;
use std::collections::{BTreeMap, VecDeque};

/// Ports of the device.
pub const PORTS: usize = 4;
const STATES: [&str; 5] = ["DOWN", "INIT", "SENT", "SYNC", "GIVEN UP"];
const NOT_MEASURED: u32 = 0x8000_0000;
/// The first port's registers, and the bytes of each port's.
pub const PORT: u32 = 0x100;
pub const PAGE: u32 = 0x40;
/// Registers of a port that count beacons which moved its counter, and BEACON-JOINs.
pub const JUMPS: u32 = 0x1C;
pub const JOINED: u32 = 0x20;
/// Words of a counter.
const WORDS: u32 = 4;

/// One access.
#[derive(Clone, Copy, Debug)]
struct Access {
    address: u32,
    data: u32,
    strobe: u64,
    /// Ticks until its address, its data, and the acceptance of the answer.
    wait: [u32; 3],
    accepted: bool,
}

/// The master at the bus, and what it knows of the registers.
#[derive(Default)]
pub struct Bus {
    writes: VecDeque<Access>,
    reads: VecDeque<Access>,
    staged: [u32; 3],
    /// The words that the last read of a counter left.
    rest: u128,
    expected_answer: (u64, u64),
    may_write: bool,
    is_over: bool,
    done: BTreeMap<&'static str, u64>,
}

impl Bus {
    pub fn new(may_write: bool) -> Bus {
        Bus {
            may_write,
            ..Bus::default()
        }
    }

    /// How many accesses there were, by kind.
    pub fn done(&self) -> &BTreeMap<&'static str, u64> {
        &self.done
    }

    fn access(random: &mut Random, address: u32, data: u32) -> Access {
        Access {
            address,
            data,
            strobe: 15,
            wait: std::array::from_fn(|_| random.below(4) as u32),
            accepted: false,
        }
    }

    /// Starts no more accesses.
    pub fn end(&mut self) {
        self.is_over = true;
    }

    /// Starts accesses at random times.
    pub fn think(&mut self, counter: u128, random: &mut Random) {
        if self.is_over {
            return;
        }
        if self.reads.is_empty() && random.below(20) == 0 {
            let port = PORT + PAGE * random.below(PORTS as u64) as u32;
            let address = match random.below(8) {
                0..4 => port + 4 * random.below(7) as u32,
                4 => 4 * random.below(16) as u32,
                5 => match random.below(1 << 12) as u32 {
                    address if is_summed(address) => address % PORT,
                    address => address,
                },
                // A counter, word by word
                chosen => {
                    let first = if chosen == 6 { 0x10 } else { port + 0x30 };
                    for word in 0..WORDS {
                        self.reads
                            .push_back(Bus::access(random, first + 4 * word, 0));
                    }
                    return;
                }
            };
            self.reads.push_back(Bus::access(random, address, 0));
        }
        if self.may_write && self.writes.is_empty() && random.below(150) == 0 {
            self.command(counter, random);
        }
    }

    fn command(&mut self, counter: u128, random: &mut Random) {
        let port = PORT + PAGE * random.below(PORTS as u64) as u32;
        let (address, data) = match random.below(40) {
            0..16 => {
                let ticks = [2, 3, 200, 1_000_000, random.below(3_000) as u32];
                (port + 8, ticks[random.below(5) as usize])
            }
            16..24 => (0xC, random.below(2) as u32),
            24..26 => (0x20, 1),
            26..32 => {
                let new = match random.below(4) {
                    0 => counter.wrapping_sub(random.below(1 << 30).into()),
                    1 => counter.wrapping_add(random.below(1 << 50).into()),
                    2 => counter.wrapping_add(random.below(40).into()),
                    _ => {
                        u128::from(random.below(u64::MAX)) << 42 | u128::from(random.below(1 << 42))
                    }
                };
                for word in 0..WORDS {
                    let bits = (new >> (32 * word)) as u32;
                    let bits = if word == 3 { bits & 0x3FF } else { bits };
                    self.writes
                        .push_back(Bus::access(random, 0x30 + 4 * word, bits));
                }
                return;
            }
            // Refused, for the most part
            32 => (0x3C, 1 << 10 | random.below(1 << 10) as u32),
            33 => (
                port + 8,
                [0, 1, 1_000_001, u32::MAX][random.below(4) as usize],
            ),
            34 => (0xC, 2 + random.below(1 << 20) as u32),
            35 => (port + 4 * random.below(16) as u32, random.below(4) as u32),
            _ => (random.below(1 << 12) as u32, random.below(3) as u32),
        };
        let mut access = Bus::access(random, address, data);
        if random.below(8) == 0 {
            access.strobe = random.below(16);
        }
        self.writes.push_back(access);
    }

    /// Sets the inputs of a tick by the outputs of the one before. Returns the command that the device must have obeyed by the next tick.
    pub fn drive(
        &mut self,
        device: &mut Device,
        tick: u64,
        outputs: &[u64],
        inputs: &mut [u64],
    ) -> Option<String> {
        if let Some(mut read) = self.reads.front().copied() {
            inputs[S_AXIL_ARADDR] = read.address.into();
            if read.accepted {
                inputs[S_AXIL_RREADY] = u64::from(read.wait[2] == 0);
            } else if read.wait[0] == 0 {
                inputs[S_AXIL_ARVALID] = 1;
                read.accepted = outputs[S_AXIL_RVALID] == 0;
                let word = self.word(device, tick, read.address);
                *self
                    .done
                    .entry(word.map_or("refused reads", |_| "reads"))
                    .or_default() += 1;
                let slverr = if word.is_some() { 0 } else { 2 };
                self.expected_answer = (slverr, word.unwrap_or(0).into());
            }
            self.reads[0] = read;
        }
        let mut command = None;
        if let Some(mut write) = self.writes.front().copied() {
            if write.accepted {
                inputs[S_AXIL_BREADY] = u64::from(write.wait[2] == 0);
            } else {
                inputs[S_AXIL_AWADDR] = write.address.into();
                inputs[S_AXIL_AWVALID] = u64::from(write.wait[0] == 0);
                (inputs[S_AXIL_WDATA], inputs[S_AXIL_WSTRB]) = (write.data.into(), write.strobe);
                inputs[S_AXIL_WVALID] = u64::from(write.wait[1] == 0);
                write.accepted = write.wait[..2] == [0, 0] && outputs[S_AXIL_BVALID] == 0;
                if write.accepted {
                    command = self.write(&write);
                    write.data = if command.is_some() { 0 } else { 2 };
                    let name = command.as_deref().map_or("refused writes", name);
                    *self.done.entry(name).or_default() += 1;
                }
            }
            self.writes[0] = write;
        }
        command.filter(|line| !line.is_empty())
    }

    /// Compares the outputs after a tick.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(&mut self, inputs: &[u64], outputs: &[u64]) -> Result<(), String> {
        if let Some(mut read) = self.reads.front().copied() {
            if inputs[S_AXIL_RREADY] == 1 {
                same("RVALID after the answer", outputs[S_AXIL_RVALID], 0)?;
                self.reads.pop_front();
            } else {
                let (response, word) = self.expected_answer;
                if read.accepted {
                    let what = format!("register {:03X}", read.address);
                    same("RVALID", outputs[S_AXIL_RVALID], 1)?;
                    same("RRESP", outputs[S_AXIL_RRESP], response)?;
                    same(&what, outputs[S_AXIL_RDATA], word)?;
                }
                count_down(&mut read.wait, read.accepted);
                self.reads[0] = read;
            }
        }
        if let Some(mut write) = self.writes.front().copied() {
            if inputs[S_AXIL_BREADY] == 1 {
                same("BVALID after the answer", outputs[S_AXIL_BVALID], 0)?;
                self.writes.pop_front();
            } else {
                if write.accepted {
                    same("BVALID", outputs[S_AXIL_BVALID], 1)?;
                    let what = format!("BRESP of {:03X}", write.address);
                    same(&what, outputs[S_AXIL_BRESP], write.data.into())?;
                }
                count_down(&mut write.wait, write.accepted);
                self.writes[0] = write;
            }
        }
        Ok(())
    }

    /// The command of a write, empty for a word that is kept; none of one that is refused.
    fn write(&mut self, write: &Access) -> Option<String> {
        let word = write.address / 4 % 16;
        let data = write.data;
        if write.strobe != 15 {
            return None;
        }
        match (write.address / PAGE, word) {
            (0, 3) if data < 2 => Some(format!("set_mode {}", ["switch", "nic"][data as usize])),
            (0, 8) if data == 1 => Some("reset".into()),
            (0, 12..15) => {
                self.staged[word as usize - 12] = data;
                Some(String::new())
            }
            (0, 15) if data < 1 << 10 => {
                let words = self.staged.iter().chain([&data]).rev();
                let counter =
                    words.fold(0, |counter: u128, word| counter << 32 | u128::from(*word));
                Some(format!("set_cnt {counter}"))
            }
            (page @ 4.., 2) if (page as usize) < 4 + PORTS && (2..=1_000_000).contains(&data) => {
                Some(format!("set_beacon_interval {} {data}", page - 4))
            }
            _ => None,
        }
    }

    /// The word at an address; none where there is no register.
    fn word(&mut self, device: &mut Device, tick: u64, address: u32) -> Option<u32> {
        let mut ask = |line: &str| {
            let answer = device.obey(tick, line);
            answer.expect("a command by its name, and a port that is there")
        };
        let word = address / 4 % 16;
        let port = match address / PAGE {
            0 => None,
            page if (4..4 + PORTS as u32).contains(&page) => Some(page - 4),
            _ => return None,
        };
        let number = |text: String| text.parse::<u64>().map(|number| number as u32).ok();
        let mut counter = |text: String| {
            let all: u128 = text.parse().expect("counters are numbers");
            self.rest = all >> 32;
            all as u32
        };
        match (port, word) {
            (None, 0) => Some(u32::from_be_bytes(*b"DTP ")),
            (None, 1) => Some(1),
            (None, 2) => Some(PORTS as u32),
            (None, 3) => Some(u32::from(ask("get_mode") == "nic")),
            (None, 4) => Some(counter(ask("read_global_cnt"))),
            (None, 8 | 15) => Some(0),
            (None, 12..15) => Some(self.staged[word as usize - 12]),
            (Some(port), 0) => {
                let state = ask(&format!("read_state {port}"));
                STATES
                    .iter()
                    .position(|name| *name == state)
                    .map(|at| at as u32)
            }
            (Some(port), 1) => {
                let delay = ask(&format!("read_delay {port}")).parse::<i32>();
                Some(delay.map_or(NOT_MEASURED, |delay| delay as u32))
            }
            (Some(port), 2) => number(ask(&format!("read_beacon_interval {port}"))),
            (Some(port), 3) => number(ask(&format!("read_error {port}"))),
            (Some(port), 4) => number(ask(&format!("debug_sent_msg {port}"))),
            (Some(port), 5) => number(ask(&format!("debug_rcvd_msg {port}"))),
            (Some(port), 6) => number(ask(&format!("debug_rcvd_err {port}"))),
            (Some(port), 12) => Some(counter(ask(&format!("read_local_cnt {port}")))),
            (None, 5..8) => Some((self.rest >> (32 * (word - 5))) as u32),
            (Some(_), 13..) => Some((self.rest >> (32 * (word - 13))) as u32),
            _ => None,
        }
    }
}

/// Whether it is a counter that the software has of all ports together: the end of a run compares the sums.
fn is_summed(address: u32) -> bool {
    address >= PORT && [JUMPS, JOINED].contains(&(address % PAGE / 4 * 4))
}

fn count_down(wait: &mut [u32; 3], accepted: bool) {
    match accepted {
        true => wait[2] = wait[2].saturating_sub(1),
        false => {
            wait[0] = wait[0].saturating_sub(1);
            wait[1] = wait[1].saturating_sub(1);
        }
    }
}

fn name(command: &str) -> &'static str {
    let all = ["set_mode", "set_cnt", "set_beacon_interval", "reset"];
    let mut all = all.into_iter();
    all.find(|name| command.starts_with(name))
        .unwrap_or("words kept")
}

/// # Errors
/// When the two differ.
pub fn same(what: &str, verilog: u64, software: u64) -> Result<(), String> {
    match verilog == software {
        true => Ok(()),
        false => Err(format!(
            "{what}: {verilog:x} in Verilog, {software:x} in software"
        )),
    }
}
