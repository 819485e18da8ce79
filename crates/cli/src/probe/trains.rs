//! Available bandwidth by trains over the kernel's UDP, to a server that stamps each probe and tells: up.

use super::Probe;
use crate::Verdict;
use crate::confine;
use crate::output::{Buffering, Output};
use crate::profile::bits;
use ::lab::table::{Table, cells, number};
use anyhow::{Context, bail};
use live::clock::now_ns;
use live::datagram::Datagrams;
use live::port::PortSpec;
use live::signal::stop_requested;
use node::{Histogram, Rate, Time};
use nodes::bandwidth::estimate::{Answer, Estimator, Method, Observed, Packet};
use nodes::bandwidth::message::{Message, REPLY};
use nodes::train::{Begins, Rates, Trains, Walk};
use serde_json::Value;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

/// A probe that was not told of within this is lost.
const LISTEN: Time = Time::from_ms(200);
/// So long before a departure it waits by looking at the clock alone.
const SPIN_NS: u64 = 300_000;
/// Bytes of Ethernet's header and FCS, which the usual sizes have.
const ETHERNET: u16 = 18;
/// Bytes of IP and UDP headers, of IPv4 and of IPv6.
const HEADERS: [usize; 2] = [28, 48];
/// What a kernel's stamps are worth, ns: a gap has to be longer.
const STAMPS_NS: u64 = 5_000;

/// What came of a sample.
struct Sampled {
    method: Method,
    answer: Answer,
    packets: u64,
    bytes: u64,
    lost: u64,
    trains: u64,
    took: Time,
}

/// A train that has left.
struct Train {
    rate: Rate,
    first: u32,
    packets: Vec<Packet>,
}

/// Who sends to one server.
struct Prober {
    socket: Datagrams,
    start_ns: u64,
    session: u16,
    next: u32,
    trains: Vec<Train>,
    /// By how many ns probes left late, and the least gap that was asked for.
    late: Histogram,
    least_gap_ns: u64,
    heard: bool,
}

/// Asks by trains.
pub fn run(command: &Probe, host: &str, server: SocketAddr) -> anyhow::Result<Verdict> {
    let capacity = command.capacity;
    let headers = HEADERS[usize::from(server.is_ipv6())];
    let any = match server {
        SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0u16; 8], 0)),
    };
    let mut socket = Datagrams::bind(any)?;
    socket
        .connect(server)
        .with_context(|| format!("no way to {server}"))?;
    let spec = PortSpec::Udp {
        host: host.into(),
        port: server.port(),
        listen: false,
    };
    confine::ports([&spec], false)?;
    live::scheduling::exact_timers();
    live::scheduling::high_priority();
    let mut prober = Prober {
        socket,
        start_ns: now_ns(),
        session: (std::process::id() as u16) ^ (now_ns() >> 10) as u16,
        next: 0,
        trains: Vec::new(),
        late: Histogram::with_precision(5),
        least_gap_ns: u64::MAX,
        heard: false,
    };
    let methods = match command.method.as_deref() {
        Some("all") | None => Method::ALL.to_vec(),
        Some(name) => Method::ALL
            .into_iter()
            .filter(|method| method.name() == name)
            .collect(),
    };
    let mut stdout = Output::open(&Buffering::default())?;
    let mut all = Vec::new();
    'samples: for _ in 0..command.samples {
        for method in &methods {
            if stop_requested() {
                break 'samples;
            }
            let (trains, size) = method.usual_at(capacity);
            let size = usize::from(command.packet_size.unwrap_or(size - ETHERNET));
            let sampled = prober.sample(*method, trains, size, headers, capacity)?;
            if !prober.heard {
                bail!(
                    "nobody tells of probes at {server}: start `wire probe --answer` there; udpst has no trains"
                );
            }
            if !command.quiet {
                let line = match command.json {
                    true => object(&sampled).to_string(),
                    false => text(&sampled),
                };
                stdout.tell(&format!("{line}\n"))?;
                stdout.flush()?;
            }
            all.push(sampled);
        }
    }
    let warnings = prober.warnings();
    let good = summarize(command, host, &methods, &all, &warnings, &mut stdout)?;
    stdout.finish()?;
    Ok(Verdict::if_good(good).max(Verdict::if_done(!stop_requested())))
}

impl Prober {
    fn now(&self) -> Time {
        Time::from_ns(now_ns() - self.start_ns)
    }

    /// One sample of a method; rates are of IP packets.
    fn sample(
        &mut self,
        method: Method,
        trains: Trains,
        size: usize,
        headers: usize,
        capacity: Rate,
    ) -> anyhow::Result<Sampled> {
        let size = size.max(headers + REPLY);
        let packet_bits = 8 * size as u64;
        let mut estimator = method.estimator(capacity, packet_bits);
        let begun = self.now();
        let mut sampled = Sampled {
            method,
            answer: Answer {
                estimate: None,
                how: String::new(),
                points: Vec::new(),
            },
            packets: 0,
            bytes: 0,
            lost: 0,
            trains: 0,
            took: Time::ZERO,
        };
        let payload = size - headers;
        if trains.rates == Rates::Adaptive {
            while let Some(rate) = estimator.next() {
                let one = Trains {
                    rates: Rates::Same { rate, trains: 1 },
                    ..trains
                };
                self.send(one, payload, packet_bits)?;
                self.listen(LISTEN)?;
                self.see(estimator.as_mut(), &mut sampled, size);
                if stop_requested() {
                    break;
                }
                // What a train left in the queue is over before the next one.
                self.listen(
                    trains
                        .gap
                        .time(rate, packet_bits, &mut node::random::Random::new(0)),
                )?;
            }
        } else {
            self.send(trains, payload, packet_bits)?;
            self.listen(LISTEN)?;
            self.see(estimator.as_mut(), &mut sampled, size);
        }
        sampled.answer = estimator.answer();
        sampled.took = self.now() - begun;
        // Between samples the queue is empty again.
        let pause = (sampled.took.as_ns() / 2).min(200_000_000);
        self.pause(Time::from_ns(pause))?;
        Ok(sampled)
    }

    /// Sends a sample's trains, each probe at its time.
    fn send(&mut self, trains: Trains, payload: usize, packet_bits: u64) -> anyhow::Result<()> {
        let Some(mut walk) = Walk::new(trains, u64::from(self.next)) else {
            bail!("there is no first rate");
        };
        let mut bytes = Vec::with_capacity(payload);
        let mut at = self.now() + Time::from_ms(1);
        let mut begins = Begins::Sample;
        loop {
            if begins != Begins::Packet {
                // Of what was late, the next train is not in a hurry.
                at = at.max(self.now() + Time::from_us(20));
                self.trains.push(Train {
                    rate: walk.rate(),
                    first: self.next,
                    packets: Vec::new(),
                });
            }
            bytes.clear();
            let message = Message {
                session: self.session,
                sequence: self.next,
                came: None,
            };
            message.build(&mut bytes);
            bytes.resize(payload, 0);
            self.until(at)?;
            let left = self.now();
            // What finds no room is lost, as on the way; that nobody is there is told in the end.
            match self.socket.send(&bytes, payload, None) {
                Err(error) if error.kind() != ErrorKind::ConnectionRefused => {
                    return Err(error.into());
                }
                _ => {}
            }
            self.late.record((left - at).as_ns());
            if let Some(train) = self.trains.last_mut() {
                train.packets.push(Packet {
                    left,
                    came: None,
                    bits: packet_bits,
                });
            }
            self.next = self.next.wrapping_add(1);
            let (next, what) = walk.next(at, packet_bits);
            if what == Begins::Sample || stop_requested() {
                return Ok(());
            }
            if what == Begins::Packet {
                self.least_gap_ns = self.least_gap_ns.min((next - at).as_ns());
            }
            (at, begins) = (next, what);
        }
    }

    /// Waits until then, and hears what comes while there is time.
    fn until(&mut self, at: Time) -> anyhow::Result<()> {
        loop {
            let rest = (at - self.now()).as_ns();
            if rest > SPIN_NS {
                self.socket
                    .wait(false, Duration::from_nanos(rest - SPIN_NS))?;
                self.hear()?;
            } else if rest == 0 {
                return Ok(());
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Hears what comes until all was told of, or so long.
    fn listen(&mut self, most: Time) -> anyhow::Result<()> {
        let until = self.now() + most;
        loop {
            self.hear()?;
            let mut packets = self.trains.iter().flat_map(|train| &train.packets);
            let rest = until - self.now();
            if packets.all(|packet| packet.came.is_some()) || rest == Time::ZERO {
                return Ok(());
            }
            self.socket
                .wait(false, Duration::from_nanos(rest.as_ns()))?;
        }
    }

    fn pause(&mut self, time: Time) -> anyhow::Result<()> {
        let until = self.now() + time;
        while until > self.now() && !stop_requested() {
            let rest = until - self.now();
            self.socket
                .wait(false, Duration::from_nanos(rest.as_ns()))?;
            self.hear()?;
        }
        Ok(())
    }

    fn hear(&mut self) -> anyhow::Result<()> {
        let (session, trains) = (self.session, &mut self.trains);
        let mut heard = false;
        let received = self.socket.receive(&mut |it| {
            let Some(reply) = Message::parse(it.bytes) else {
                return;
            };
            if reply.session != session || reply.came.is_none() {
                return;
            }
            heard = true;
            let place = trains.iter_mut().rev().find_map(|train| {
                let at = reply.sequence.wrapping_sub(train.first) as usize;
                train.packets.get_mut(at)
            });
            if let Some(packet) = place {
                packet.came = reply.came;
            }
        });
        self.heard |= heard;
        match received {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
            other => Ok(other.map(drop)?),
        }
    }

    /// Shows the trains that have left to the method.
    fn see(&mut self, estimator: &mut dyn Estimator, sampled: &mut Sampled, size: usize) {
        for train in self.trains.drain(..) {
            let observed = Observed {
                rate: train.rate,
                packets: &train.packets,
            };
            estimator.see(&observed);
            sampled.lost += observed.lost() as u64;
            sampled.packets += train.packets.len() as u64;
            sampled.bytes += (train.packets.len() * size) as u64;
            sampled.trains += 1;
        }
    }

    /// What the figures may not be worth.
    fn warnings(&self) -> Vec<String> {
        let mut told = Vec::new();
        if self.late.total() == 0 {
            return told;
        }
        let late = self.late.value_at(950, 1_000);
        if late > self.least_gap_ns / 2 {
            told.push(format!(
                "pacing is coarse: one probe in twenty left {:.0} us late or more, where gaps of {:.0} us were asked for; rates near --capacity are not what was sent",
                late as f64 / 1e3,
                self.least_gap_ns as f64 / 1e3
            ));
        }
        if self.least_gap_ns < STAMPS_NS {
            told.push(format!(
                "stamps are coarse: those of the kernel are worth some {} us, and gaps of {:.1} us were asked for",
                STAMPS_NS / 1_000,
                self.least_gap_ns as f64 / 1e3
            ));
        }
        if self.socket.lost() > 0 {
            told.push(format!(
                "{} replies reached this machine and found no room: they count as lost",
                number(self.socket.lost())
            ));
        }
        told
    }
}

fn text(it: &Sampled) -> String {
    let cost = format!(
        "{} packets in {} trains, {} lost, {:.1} MB, {:.2} s",
        number(it.packets),
        number(it.trains),
        number(it.lost),
        it.bytes as f64 / 1e6,
        it.took.as_secs_f64()
    );
    match &it.answer.estimate {
        Some(found) => format!(
            "{:<10} {:>12} ({} to {}); {cost}",
            it.method.name(),
            bits(found.value),
            bits(found.low),
            bits(found.high)
        ),
        None => format!(
            "{:<10} no answer: {}; {cost}",
            it.method.name(),
            it.answer.how
        ),
    }
}

fn object(it: &Sampled) -> Value {
    let found = it.answer.estimate.as_ref();
    json_line!("probe", "sample", {
        "method": it.method.name(), "available_bps": found.map(|it| it.value), "low_bps": found.map(|it| it.low), "high_bps": found.map(|it| it.high),
        "how": it.answer.how, "packets": it.packets, "lost": it.lost, "trains": it.trains, "bytes": it.bytes, "seconds": it.took.as_secs_f64(),
    })
}

/// A line for each method; false if the first one has no answer, or less than was asked for.
fn summarize(
    command: &Probe,
    host: &str,
    methods: &[Method],
    all: &[Sampled],
    warnings: &[String],
    stdout: &mut Output,
) -> anyhow::Result<bool> {
    let head = [
        "method",
        "answers",
        "available",
        "deviation",
        "packets",
        "lost",
        "cost",
        "each took",
    ];
    let (mut rows, mut good) = (vec![cells(&head)], true);
    for method in methods {
        let own: Vec<&Sampled> = all.iter().filter(|it| it.method == *method).collect();
        let values: Vec<f64> = own
            .iter()
            .filter_map(|it| Some(it.answer.estimate.as_ref()?.value))
            .collect();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean) * (value - mean));
        let deviation = (squares.sum::<f64>() / count).sqrt();
        let sum = |of: fn(&Sampled) -> u64| own.iter().map(|it| of(it)).sum::<u64>();
        let least = command
            .at_least
            .map_or(0.0, |rate| rate.bits_per_second() as f64);
        good &= !values.is_empty() && mean >= least;
        if command.json {
            let line = json_line!("probe", "available", {
                "method": method.name(), "host": host, "direction": "up", "samples": own.len(), "answers": values.len(),
                "available_bps": (count > 0.0).then_some(mean), "deviation_bps": (count > 0.0).then_some(deviation),
                "packets": sum(|it| it.packets), "lost": sum(|it| it.lost), "cost_bytes": sum(|it| it.bytes), "warnings": warnings,
            });
            stdout.tell(&format!("{line}\n"))?;
            continue;
        }
        let took: f64 = own.iter().map(|it| it.took.as_secs_f64()).sum();
        let [available, deviation] = match values.is_empty() {
            true => ["-".into(), "-".into()],
            false => [bits(mean), bits(deviation)],
        };
        rows.push(vec![
            method.name().into(),
            format!("{} of {}", values.len(), own.len()),
            available,
            deviation,
            number(sum(|it| it.packets)),
            number(sum(|it| it.lost)),
            format!("{:.1} MB", sum(|it| it.bytes) as f64 / 1e6),
            format!("{:.2} s", took / own.len().max(1) as f64),
        ]);
    }
    if !command.json {
        stdout.tell(&format!(
            "available bandwidth up to {host}, at the IP layer\n{}",
            Table::new(rows)
        ))?;
    }
    for warning in warnings {
        eprintln!("wire: warning: {warning}");
    }
    Ok(good)
}
