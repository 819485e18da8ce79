//! `rtl:MEDIUM` and `rtl10g:MEDIUM` as ports like any other.

use crate::card::card;
use crate::nic::{Cable, Nic};
use crate::rings::{Down, Rings};
use ::capture::clock;
use cosim::Speed;
use cosim::port::Port as Hardware;
use live::port::{
    self, Line, Medium, Options, Port, PortError, PortInfo, PortSpec, Receive, Received,
    RxCounters, Stamps, Timekeeper, Transmit, TxCounters,
};
use live::thread;
use packet::{Departure, MIN_FRAME_LEN, Tick, record};
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

/// Maximum time by which a frame is handed over early: more than a machine usually pauses.
const AHEAD: Duration = Duration::from_millis(100);
/// Interval between two checks for the end of a cable, and of the program.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Timeout of a frame that waits for a full ring. A port that simulates a twelfth of real time
/// needs this much.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// The tick of a port of 10 Gb/s.
const SIX_POINT_FOUR_NS: Tick = match Tick::from_ps(6_400) {
    Some(tick) => tick,
    None => unreachable!(),
};

/// Opens a port in Verilog.
///
/// # Errors
/// When its cable cannot be opened, or is in use, with another tick than the port has, and without Verilator at build time.
pub fn open(line: Line, medium: &Medium, options: &Options) -> Result<Port, PortError> {
    let name = PortSpec::Rtl(line, medium.clone()).to_string();
    let unsupported = |why| PortError::Unsupported {
        name: name.clone(),
        why,
    };
    let failed = |doing, source| PortError::Io {
        name: name.clone(),
        doing,
        source,
    };
    let (speed, tick, driver, other_tick) = match line {
        Line::Gigabit => (
            Speed::Gigabit,
            Tick::EIGHT_NS,
            "timing_nic",
            "the tick of a port in Verilog of 1 Gb/s is 8 ns",
        ),
        Line::TenGigabit => (
            Speed::TenGigabit,
            SIX_POINT_FOUR_NS,
            "timing_nic10g",
            "the tick of a port in Verilog of 10 Gb/s is 6.4 ns: say --tick 6.4ns",
        ),
    };
    if options.tick != tick {
        return Err(unsupported(other_tick));
    }
    let hardware = Hardware::new(speed).map_err(|_| {
        unsupported("this was built without Verilator: install verilator (Debian: apt-get install verilator), and build again")
    })?;
    let rings = Rings::new(name.clone(), options.buffer);
    let rings = Arc::new(rings.map_err(|error| failed("making its rings", error))?);
    let mut mac = None;
    let cable = match medium {
        Medium::Port(spec) => {
            let options = Options {
                returns: options.returns,
                ..Options::of_wires()
            };
            let Port { info, rx, tx } = port::open(spec, &options)?;
            mac = info.mac;
            let rings = rings.clone();
            thread::spawn("cable", move || read(rx, &rings))
                .map_err(|error| failed("starting", error))?;
            Cable::Outside(tx)
        }
        Medium::Cable { name, end } => {
            card().take_end(name, *end, speed).map_err(unsupported)?;
            Cable::Inside(name.clone(), *end)
        }
    };
    card()
        .add(Nic::new(hardware, cable, rings.clone()))
        .map_err(|error| failed("starting", error))?;
    Ok(Port {
        info: PortInfo {
            name,
            tick,
            stamps: Stamps::Hardware,
            mac,
            mtu: (record::MAX_SHORT_FRAME_LEN - 14) as u32,
            method: "rtl",
            driver: driver.into(),
            link: true,
            hardware_stamps: true,
            epoch_ns: clock::epoch_ns(),
            on_demand: false,
        },
        rx: Box::new(Receiver {
            rings: rings.clone(),
            frames: VecDeque::new(),
            counters: RxCounters::default(),
        }),
        tx: Box::new(Sender {
            rings,
            tick,
            counters: TxCounters::default(),
        }),
    })
}

/// Reads what comes by a cable until its end, or until nobody has the port.
fn read(mut rx: Box<dyn Receive>, rings: &Rings) {
    while !rings.is_closed() {
        let read = rx.receive(STOP_POLL_INTERVAL, &mut |received| {
            rings.come(received.at_ns, received.bytes);
            card().call();
        });
        match read {
            Ok(_) => {}
            Err(error) if error.is_no_link() => std::thread::park_timeout(STOP_POLL_INTERVAL),
            Err(error) => {
                rings.end(error);
                return card().call();
            }
        }
    }
}

struct Receiver {
    rings: Arc<Rings>,
    frames: VecDeque<(u64, Vec<u8>)>,
    counters: RxCounters,
}

impl Receive for Receiver {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        self.rings
            .receive(&mut self.frames, wait.min(STOP_POLL_INTERVAL))?;
        let count = self.frames.len();
        for (at_ns, bytes) in self.frames.drain(..) {
            self.counters.received += 1;
            self.counters.bytes += bytes.len() as u64;
            sink(Received {
                bytes: &bytes,
                at_ns,
            });
        }
        Ok(count)
    }

    fn counters(&self) -> RxCounters {
        RxCounters {
            dropped: self.rings.dropped(),
            ..self.counters
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.rings.descriptor())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.rings.close_half();
        card().call();
    }
}

struct Sender {
    rings: Arc<Rings>,
    tick: Tick,
    counters: TxCounters,
}

impl Sender {
    fn give(&mut self, departure: Departure, frame: &[u8], told: bool) -> Result<(), PortError> {
        let name = || self.rings.name().to_owned();
        let checked = match frame.len() {
            len @ ..MIN_FRAME_LEN => Err(PortError::TooShort { len }),
            MIN_FRAME_LEN..=record::MAX_SHORT_FRAME_LEN => Ok(()),
            len => Err(PortError::TooLong {
                name: name(),
                len,
                mtu: (record::MAX_SHORT_FRAME_LEN - 14) as u32,
                longest: record::MAX_SHORT_FRAME_LEN,
            }),
        };
        let given = checked.and_then(|()| {
            let down = Down {
                departure,
                bytes: frame.to_vec(),
                told,
            };
            match self.rings.send(down, SEND_TIMEOUT) {
                true => Ok(()),
                false => Err(PortError::Full {
                    name: name(),
                    patience: SEND_TIMEOUT,
                }),
            }
        });
        match given {
            Ok(()) => {
                self.counters.sent += 1;
                self.counters.bytes += frame.len() as u64;
                card().call();
            }
            Err(_) => self.counters.refused += 1,
        }
        given
    }
}

impl Transmit for Sender {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        for (sent, frame) in frames.iter().enumerate() {
            match self.give(Departure::Now, frame, false) {
                Ok(()) => {}
                Err(_) if sent > 0 => {
                    // It is the first of the next call.
                    self.counters.refused -= 1;
                    return Ok(sent);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(frames.len())
    }

    fn finish(&mut self) -> Result<(), PortError> {
        self.rings.finish();
        loop {
            card().call();
            if let Some(result) = self.rings.finished(STOP_POLL_INTERVAL) {
                return result;
            }
        }
    }

    fn method(&self) -> &'static str {
        "the port itself"
    }

    fn timekeeper(&self) -> Option<Timekeeper> {
        Some(Timekeeper {
            ahead: AHEAD,
            tick: self.tick,
        })
    }

    fn schedule(&mut self, departure: Departure, frame: &[u8]) -> Result<(), PortError> {
        self.give(departure, frame, true)
    }

    fn departed(&mut self, wait: Duration) -> Result<Option<u64>, PortError> {
        Ok(self.rings.departed(wait))
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.rings.close_half();
        card().call();
    }
}

#[cfg(test)]
mod tests;
