//! What a program is told besides packets: lines that begin with `#` and hold `KEY=VALUE`, each in force until the next of its key.
//!
//! | asked for | keys |
//! |---|---|
//! | `time` | `now_ns`: the time, before each lot of packets and with each wake |
//! | `port` | `port`: by which port of the node the packets behind it came |
//! | `queue` | for each port N: `wait_ns.N`, how long a packet that is sent now would wait (W), `rate.N`, bits a second (B), `queue_packets.N`, `queue_bytes.N`, `queue_dropped.N` |
//! | `interface` | for each port N: `up.N`, and packets, bytes and drops both ways, as `received_packets.N` and `sent_bytes.N` |
//!
//! With `queue` or `interface` there is `taken_ns`, too: when that was so.

use node::fact::{Fact, What};
use node::{Port, Time};
use std::fmt::Write;

/// Something that a program may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// The time.
    Time,
    /// By which port a packet came.
    Port,
    /// What waits to leave by each port.
    Queue,
    /// Counters of each port's interface.
    Interface,
}

impl std::str::FromStr for Tell {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Tell, &'static str> {
        match text {
            "time" => Ok(Tell::Time),
            "port" => Ok(Tell::Port),
            "queue" => Ok(Tell::Queue),
            "interface" => Ok(Tell::Interface),
            _ => Err("it is time, port, queue or interface"),
        }
    }
}

/// Writes what is to be told.
#[derive(Debug, Default)]
pub struct Teller {
    what: Vec<Tell>,
    port: Option<Port>,
    now: Option<Time>,
    /// Facts that have come since the last packet.
    facts: String,
}

impl Teller {
    /// Of these things.
    pub fn new(what: &[Tell]) -> Teller {
        Teller {
            what: what.to_vec(),
            ..Teller::default()
        }
    }

    /// Whether facts are among them.
    pub fn wants_facts(&self) -> bool {
        self.what
            .iter()
            .any(|what| matches!(what, Tell::Queue | Tell::Interface))
    }

    /// A program that knows nothing yet.
    pub fn begin(&mut self) {
        (self.port, self.now) = (None, None);
    }

    /// A fact has come.
    pub fn hear(&mut self, fact: &Fact) {
        let (port, text) = (fact.port, &mut self.facts);
        let taken = fact.taken.as_ns();
        // Writing to a String does not fail.
        match fact.what {
            What::Queue(queue) if queue.class == 0 && self.what.contains(&Tell::Queue) => {
                let _ = write!(text, "# taken_ns={taken}");
                if let (Some(wait), Some(rate)) = (queue.wait(), queue.rate) {
                    let (wait, rate) = (wait.as_ns(), rate.bits_per_second());
                    let _ = write!(text, " wait_ns.{port}={wait} rate.{port}={rate}");
                }
                let _ = writeln!(
                    text,
                    " queue_packets.{port}={} queue_bytes.{port}={} queue_dropped.{port}={}",
                    queue.packets, queue.bytes, queue.dropped
                );
            }
            What::Interface(interface) if self.what.contains(&Tell::Interface) => {
                let up = u8::from(interface.up);
                let _ = write!(text, "# taken_ns={taken} up.{port}={up}");
                for (way, counts) in [("received", interface.received), ("sent", interface.sent)] {
                    let _ = write!(
                        text,
                        " {way}_packets.{port}={} {way}_bytes.{port}={} {way}_dropped.{port}={}",
                        counts.packets, counts.bytes, counts.dropped
                    );
                }
                text.push('\n');
            }
            _ => {}
        }
    }

    /// Appends what is to be known before a packet that came by `port`, or at a wake.
    pub fn write(&mut self, now: Time, port: Option<Port>, out: &mut Vec<u8>) {
        out.extend_from_slice(self.facts.as_bytes());
        self.facts.clear();
        let has = |what| self.what.contains(&what);
        let now = (has(Tell::Time) && self.now != Some(now)).then_some(now);
        let port = port.filter(|&port| has(Tell::Port) && self.port != Some(port));
        if now.is_none() && port.is_none() {
            return;
        }
        out.push(b'#');
        if let Some(now) = now {
            self.now = Some(now);
            out.extend_from_slice(format!(" now_ns={}", now.as_ns()).as_bytes());
        }
        if let Some(port) = port {
            self.port = Some(port);
            out.extend_from_slice(format!(" port={port}").as_bytes());
        }
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::Rate;
    use node::fact::{Interface, Queue};

    fn told(teller: &mut Teller, ms: u64, port: Option<u16>) -> String {
        let mut out = Vec::new();
        teller.write(Time::from_ms(ms), port.map(Port), &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn only_what_is_new_is_told_and_facts_before_it() {
        let mut teller = Teller::new(&[Tell::Time, Tell::Port, Tell::Queue]);
        assert_eq!(told(&mut teller, 1, Some(0)), "# now_ns=1000000 port=0\n");
        assert_eq!(told(&mut teller, 1, Some(0)), "");
        assert_eq!(told(&mut teller, 1, Some(1)), "# port=1\n");
        let fact = |what| Fact {
            taken: Time::from_ms(1),
            port: Port(1),
            what,
        };
        teller.hear(&fact(What::Interface(Interface::default())));
        teller.hear(&fact(What::Queue(Queue {
            packets: 2,
            bytes: 2_500,
            rate: Rate::from_bits_per_second(1_000_000),
            ..Queue::default()
        })));
        assert_eq!(
            told(&mut teller, 2, None),
            "# taken_ns=1000000 wait_ns.1=20000000 rate.1=1000000 queue_packets.1=2 queue_bytes.1=2500 queue_dropped.1=0\n\
             # now_ns=2000000\n"
        );
        teller.begin();
        assert_eq!(told(&mut teller, 2, Some(1)), "# now_ns=2000000 port=1\n");
    }
}
