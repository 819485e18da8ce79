//! A host's channel to a program, in Verilog: packets of the host and of the network against the program in software.

use super::software::Software;
use cosim::p4::{Answer, Call, Host, MAX_PACKET};
use node::random::Random;
use pipeline::environment::Environment;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// The port of the host, and that of the network.
const HOST: usize = 3;
const NETWORK: usize = 0;
/// Cycles with traffic, and after them.
const CYCLES: u64 = 20_000;
const QUIET: u64 = 4_000;

/// Packets under way by source, host or network, and by destination in the same order.
type Ways = [[VecDeque<Vec<u8>>; 2]; 2];

/// Runs `runs` random patterns of traffic. Returns how many packets there were of each kind.
///
/// # Errors
/// The first packet that is wrong, or the first counter that does not account for all packets.
pub fn check(
    environment: &Arc<Environment>,
    test: &str,
    seed: u64,
    runs: u64,
) -> Result<BTreeMap<String, u64>, String> {
    let mut software = Software::new(environment, test)?;
    let mut random = Random::new(seed);
    let mut seen = BTreeMap::new();
    for run in 0..runs {
        let mut host =
            Host::new(environment, software.path()?).map_err(|error| error.to_string())?;
        host.load(environment);
        let bench = Bench {
            host,
            software: &mut software,
            random: &mut random,
            ways: Ways::default(),
            answers: Rc::default(),
            counts: Counts::default(),
            number: 0,
        };
        bench
            .run(&mut seen)
            .map_err(|fault| format!("seed {seed}, run {run}: {fault}"))?;
    }
    Ok(seen)
}

#[derive(Default)]
struct Counts {
    sent: u64,
    full: u64,
    offered: u64,
    received: u64,
    empty: u64,
    left: u64,
    expected: [u64; 2],
    dropped: u64,
}

/// A packet that was sent, for a call that sends.
type Answers = Rc<RefCell<VecDeque<(Option<Vec<u8>>, Answer)>>>;

struct Bench<'a> {
    host: Host,
    software: &'a mut Software,
    random: &'a mut Random,
    ways: Ways,
    answers: Answers,
    counts: Counts,
    number: u32,
}

impl Bench<'_> {
    fn run(mut self, seen: &mut BTreeMap<String, u64>) -> Result<(), String> {
        // One in this many cycles: a send, a receive, a packet of the network, a change of the network's readiness.
        let mut every = |choices: [u64; 3]| choices[self.random.below(3) as usize];
        let sends = every([1, 200, 2_000]);
        let receives = every([1, 400, 5_000]);
        let offers = every([1, 100, 1_000]);
        let turns = every([10, 500, 1_000_000]);
        let mut ready = true;
        for _ in 0..CYCLES {
            if self.host.pending() < 4 && self.random.below(sends) == 0 {
                let packet = self.packet();
                self.post(Call::Send(packet.clone()), Some(packet));
            }
            if self.host.pending() < 4 && self.random.below(receives) == 0 {
                self.post(Call::Receive, None);
            }
            if !self.host.is_arriving() && self.random.below(offers) == 0 {
                let packet = self.packet();
                self.host.offer(&packet);
                self.counts.offered += 1;
                self.expect(1, &packet);
            }
            if self.random.below(turns) == 0 {
                ready = !ready;
                self.host.set_ready(ready);
            }
            self.cycle()?;
        }
        self.host.set_ready(true);
        let mut quiet = 0;
        while quiet < QUIET {
            if self.host.pending() == 0 {
                self.post(Call::Receive, None);
            }
            let before = (self.counts.received, self.counts.left);
            self.cycle()?;
            quiet = match before == (self.counts.received, self.counts.left) {
                true => quiet + 1,
                false => 0,
            };
        }
        self.finish(seen)
    }

    /// A packet of the test with a random payload behind it.
    fn packet(&mut self) -> Vec<u8> {
        let packets = &self.software.packets;
        let mut packet = packets[self.random.below(packets.len() as u64) as usize].clone();
        let longest = [64, 300, MAX_PACKET as u64 - 512][self.random.below(3) as usize];
        let (length, size) = (packet.len(), self.random.below(longest) as usize);
        let seed = self.random.below(1 << 56);
        // No two packets are the same.
        self.number += 1;
        packet.extend((length..size).map(|place| (seed >> (8 * (place % 7))) as u8 ^ place as u8));
        packet.extend(self.number.to_be_bytes());
        packet
    }

    fn post(&mut self, call: Call, packet: Option<Vec<u8>>) {
        let answers = Rc::clone(&self.answers);
        self.host.post(call, move |answer| {
            answers.borrow_mut().push_back((packet, answer))
        });
    }

    /// The packets of the program in software for one from the host (0) or the network (1).
    fn expect(&mut self, source: usize, packet: &[u8]) {
        let port = [HOST, NETWORK][source];
        let out = self.software.send(port, packet);
        self.counts.dropped += u64::from(out.is_empty());
        for (port, bytes) in out {
            let to = usize::from(port != HOST);
            self.counts.expected[to] += 1;
            self.ways[source][to].push_back(bytes);
        }
    }

    fn cycle(&mut self) -> Result<(), String> {
        self.host.run(1);
        while let Some(packet) = self.host.left() {
            self.counts.left += 1;
            self.arrived(1, &packet)?;
        }
        let answers = std::mem::take(&mut *self.answers.borrow_mut());
        for (packet, answer) in answers {
            match (answer, packet) {
                (Answer::Sent, Some(packet)) => {
                    self.counts.sent += 1;
                    self.expect(0, &packet);
                }
                (Answer::Full, _) => self.counts.full += 1,
                (Answer::Empty, _) => self.counts.empty += 1,
                (Answer::Packet(packet), _) => {
                    self.counts.received += 1;
                    self.arrived(0, &packet)?;
                }
                (other, _) => return Err(format!("answer {other:?}")),
            }
        }
        Ok(())
    }

    /// A packet for the host (0) or the network (1). Those before it on the same way were lost.
    fn arrived(&mut self, to: usize, packet: &[u8]) -> Result<(), String> {
        for ways in &mut self.ways {
            if let Some(place) = ways[to].iter().position(|sent| sent == packet) {
                ways[to].drain(..=place);
                return Ok(());
            }
        }
        let name = ["host", "network"][to];
        Err(format!(
            "the {name} received {} bytes that the program in software does not send there, or not in this order",
            packet.len()
        ))
    }

    fn finish(mut self, seen: &mut BTreeMap<String, u64>) -> Result<(), String> {
        let Answer::Counters([sent, received, lost]) = self.host.call(Call::Counters) else {
            return Err("no counters".into());
        };
        let counts = &self.counts;
        same("sent", sent.into(), counts.sent)?;
        same("received", received.into(), counts.received)?;
        let (lost_of_network, dropped) = self.host.losses();
        if lost_of_network == 0 {
            let missing = counts.expected[0] - counts.received;
            same("lost at the host", lost.into(), missing)?;
            same("left", counts.left, counts.expected[1])?;
            same("dropped", dropped, counts.dropped)?;
        }
        let all = counts.received + u64::from(lost) + counts.left + dropped;
        let given = counts.sent + counts.offered - lost_of_network;
        same("the sum", all, given)?;
        let counts = [
            ("sent", counts.sent),
            ("send refused", counts.full),
            ("received", counts.received),
            ("nothing to receive", counts.empty),
            ("lost at the host", lost.into()),
            ("offered", counts.offered),
            ("lost of the network", lost_of_network),
            ("left", counts.left),
            ("dropped", dropped),
        ];
        for (name, count) in counts {
            *seen.entry(name.into()).or_default() += count;
        }
        Ok(())
    }
}

fn same(what: &str, verilog: u64, expected: u64) -> Result<(), String> {
    match verilog == expected {
        true => Ok(()),
        false => Err(format!("{what}: {verilog}, not {expected}")),
    }
}
