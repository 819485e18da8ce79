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

use node::event::{Event, What};
use node::{Port, Time};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Something that a program may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    Time,
    /// By which port a packet came.
    Port,
    /// What waits to leave by each port.
    Queue,
    /// Counters of each port's interface.
    Interface,
}

impl std::str::FromStr for Metadata {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Metadata, &'static str> {
        match text {
            "time" => Ok(Metadata::Time),
            "port" => Ok(Metadata::Port),
            "queue" => Ok(Metadata::Queue),
            "interface" => Ok(Metadata::Interface),
            _ => Err("it is time, port, queue or interface"),
        }
    }
}

/// Writes what is to be told.
#[derive(Debug, Default)]
pub struct Lines {
    what: Vec<Metadata>,
    port: Option<Port>,
    now: Option<Time>,
    /// The latest facts since the last packet, by port, and whether they are of its interface: as many as there are ports,
    /// however long no packet comes.
    facts: BTreeMap<(Port, bool), String>,
}

impl Lines {
    /// Of these things.
    pub fn new(what: &[Metadata]) -> Lines {
        Lines {
            what: what.to_vec(),
            ..Lines::default()
        }
    }

    /// Whether facts are among them.
    pub fn wants_statistics(&self) -> bool {
        self.what
            .iter()
            .any(|what| matches!(what, Metadata::Queue | Metadata::Interface))
    }

    /// A program that knows nothing yet.
    pub fn begin(&mut self) {
        (self.port, self.now) = (None, None);
    }

    /// A fact has come.
    pub fn record(&mut self, event: &Event) {
        let (port, taken) = (event.port, event.at.as_ns());
        let mut text = String::new();
        // Writing to a String does not fail.
        match event.what {
            What::Queue(queue) if queue.class == 0 && self.what.contains(&Metadata::Queue) => {
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
            What::Interface(interface) if self.what.contains(&Metadata::Interface) => {
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
            _ => return,
        }
        let of_interface = matches!(event.what, What::Interface(_));
        self.facts.insert((port, of_interface), text);
    }

    /// Appends what is to be known before a packet that came by `port`, or at a wake.
    pub fn write(&mut self, now: Time, port: Option<Port>, out: &mut Vec<u8>) {
        while let Some((_, event)) = self.facts.pop_first() {
            out.extend_from_slice(event.as_bytes());
        }
        let has = |what| self.what.contains(&what);
        let now = (has(Metadata::Time) && self.now != Some(now)).then_some(now);
        let port = port.filter(|&port| has(Metadata::Port) && self.port != Some(port));
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
    use node::event::{Interface, Queue};

    fn told(lines: &mut Lines, ms: u64, port: Option<u16>) -> String {
        let mut out = Vec::new();
        lines.write(Time::from_ms(ms), port.map(Port), &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn only_what_is_new_is_told_and_facts_before_it() {
        let mut lines = Lines::new(&[Metadata::Time, Metadata::Port, Metadata::Queue]);
        assert_eq!(told(&mut lines, 1, Some(0)), "# now_ns=1000000 port=0\n");
        assert_eq!(told(&mut lines, 1, Some(0)), "");
        assert_eq!(told(&mut lines, 1, Some(1)), "# port=1\n");
        let event = |what| Event {
            at: Time::from_ms(1),
            port: Port(1),
            what,
        };
        lines.record(&event(What::Interface(Interface::default())));
        lines.record(&event(What::Queue(Queue {
            packets: 2,
            bytes: 2_500,
            rate: Rate::from_bits_per_second(1_000_000),
            ..Queue::default()
        })));
        assert_eq!(
            told(&mut lines, 2, None),
            "# taken_ns=1000000 wait_ns.1=20000000 rate.1=1000000 queue_packets.1=2 queue_bytes.1=2500 queue_dropped.1=0\n\
             # now_ns=2000000\n"
        );
        // Only the latest is kept while no packet comes.
        for packets in 0..1_000 {
            lines.record(&event(What::Queue(Queue {
                packets,
                ..Queue::default()
            })));
        }
        assert_eq!(
            told(&mut lines, 2, None),
            "# taken_ns=1000000 queue_packets.1=999 queue_bytes.1=0 queue_dropped.1=0\n"
        );
        lines.begin();
        assert_eq!(told(&mut lines, 2, Some(1)), "# now_ns=2000000 port=1\n");
    }
}
