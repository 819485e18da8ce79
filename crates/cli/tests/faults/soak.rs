//! A soak: programs in namespaces, one behind the other, for SOAK_SECONDS (3 in a test, 600 in `make soak`), while links
//! flap. In the end every part has given on what it got, or has counted it, to the frame.

use super::bed::{Program, counter, ip, link};
use super::case::packets;
use crate::shell::{Place, is_root};
use crate::testbed::await_packet_sockets;
use live::netns::{Namespace, NetnsError};
use node::random::Random;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Frames a second at the beginning of the chain.
const RATE: u64 = 2_000;

/// Where the programs are: `a` sends through the delay box of `box`, from d0 to d1, and the switch of `fork`, from p0 to
/// p1 and p2, to `b` and `c`.
struct Chain {
    a: Namespace,
    delay: Namespace,
    fork: Namespace,
    b: Namespace,
    c: Namespace,
}

impl Chain {
    fn new() -> Result<Chain, NetnsError> {
        let new = Namespace::new;
        let chain = Chain {
            a: new()?,
            delay: new()?,
            fork: new()?,
            b: new()?,
            c: new()?,
        };
        let Chain {
            a,
            delay,
            fork,
            b,
            c,
        } = &chain;
        link((a, "s0"), (delay, "d0"))?;
        link((delay, "d1"), (fork, "p0"))?;
        link((fork, "p1"), (b, "k0"))?;
        link((fork, "p2"), (c, "o0"))?;
        Ok(chain)
    }

    /// Takes links down and up again, until some time before the end.
    fn flap(&self, seconds: u64, random: &mut Random) -> u64 {
        let ends = [
            (&self.fork, "p2"),
            (&self.c, "o0"),
            (&self.fork, "p1"),
            (&self.delay, "d1"),
            (&self.fork, "p0"),
        ];
        let end = Instant::now() + Duration::from_secs(seconds).mul_f64(0.8);
        let mut flaps = 0;
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50 + random.below(400)));
            let (namespace, name) = ends[random.below(ends.len() as u64) as usize];
            ip(namespace, &format!("link set {name} down"));
            std::thread::sleep(Duration::from_millis(random.below(300)));
            ip(namespace, &format!("link set {name} up"));
            flaps += 1;
        }
        flaps
    }
}

/// A sum that has to come out even: what went in, and what became of it.
struct Balance {
    part: String,
    within: u64,
    out: Vec<(String, u64)>,
    /// So much more may be told to have come out: the kernel counts some of the frames that it refuses, as it takes an
    /// interface down, as dropped too.
    twice: u64,
}

impl Balance {
    fn text(&self) -> String {
        let out: Vec<String> = self
            .out
            .iter()
            .filter(|(_, n)| *n > 0)
            .map(|(what, n)| format!("{n} {what}"))
            .collect();
        let verdict = if self.is_even() { "even" } else { "NOT EVEN" };
        format!(
            "{:28} {:>9} in = {}: {verdict}",
            self.part,
            self.within,
            out.join(" + ")
        )
    }

    fn is_even(&self) -> bool {
        let out = self.out.iter().map(|(_, n)| n).sum::<u64>();
        (self.within..=self.within + self.twice).contains(&out)
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// All numbers of an object, with their names.
fn each(value: &Value) -> Vec<(String, u64)> {
    let entries = value.as_object().into_iter().flatten();
    entries
        .map(|(name, value)| (name.clone(), number(value)))
        .collect()
}

/// What an interface let through of what a program says that it sent.
fn link_balance(namespace: &Namespace, name: &str, sent: u64, refused: u64) -> Balance {
    let count = |what| counter(namespace, name, what);
    Balance {
        twice: refused,
        part: format!("the kernel at {name}"),
        within: sent,
        out: vec![
            ("on the link".into(), count("tx_packets")),
            ("dropped".into(), count("tx_dropped")),
        ],
    }
}

#[test]
fn what_goes_into_a_chain_of_programs_comes_out_or_is_counted() {
    let seconds = std::env::var("SOAK_SECONDS")
        .ok()
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(3);
    let test = "a soak through live ports";
    if !is_root(test) {
        return;
    }
    let chain = match Chain::new() {
        Ok(chain) => chain,
        Err(error) => return println!("skipped: {test}: {error}"),
    };
    let place = Place::new("soak");
    let start = |namespace: &Namespace, name: &str, line: &str| {
        Program::start(&place.path, namespace, name, line)
    };
    let Chain {
        a,
        delay,
        fork,
        b,
        c,
    } = &chain;
    let readers = [("b", b, "k0"), ("c", c, "o0")]
        .map(|(name, namespace, port)| start(namespace, name, &format!("wire cat {port} --raw")));
    let boxed = start(
        delay,
        "delay",
        "wire delay delay 2ms 500us loss 1% duplicate 0.5% --on d0 d1 --json",
    );
    let switch = start(
        fork,
        "switch",
        "wire run switch --on p0 --on p1 --on p2 --json",
    );
    for (namespace, sockets) in [(b, 1), (c, 1), (delay, 2), (fork, 3)] {
        await_packet_sockets(namespace, sockets);
    }
    let generator = start(
        a,
        "gen",
        &format!("wire gen s0 --pps {RATE} --duration {seconds}s --json"),
    );
    let flaps = chain.flap(seconds, &mut Random::new(seconds));
    let sent = generator.wait().report("sent");
    // What is under way arrives.
    std::thread::sleep(Duration::from_millis(500));
    let boxed = boxed.stop().report("delay");
    std::thread::sleep(Duration::from_millis(200));
    let switch = switch.stop().report("run");
    std::thread::sleep(Duration::from_millis(200));
    let readers = readers.map(Program::stop);

    let mut sums = vec![Balance {
        twice: 0,
        part: "wire gen".into(),
        within: RATE * seconds,
        out: vec![
            ("sent".into(), number(&sent["sent"])),
            ("refused".into(), number(&sent["refused"])),
            ("unsent".into(), number(&sent["unsent"])),
        ],
    }];
    sums.push(link_balance(a, "s0", number(&sent["sent"]), 0));
    let forth = &boxed["directions"][0];
    let arrived = |namespace, name| counter(namespace, name, "rx_packets");
    sums.push(Balance {
        twice: 0,
        part: "into the delay box".into(),
        within: arrived(delay, "d0"),
        out: vec![
            ("given to it".into(), number(&forth["packets"])),
            ("not read in time".into(), number(&forth["unread"])),
        ],
    });
    let mut out = vec![
        ("sent".into(), number(&forth["sent"])),
        ("lost as asked".into(), number(&forth["lost"])),
    ];
    out.push(("held at the end".into(), number(&forth["held"])));
    out.extend(
        each(&boxed["drops"])
            .into_iter()
            .filter(|(reason, _)| reason != "lost"),
    );
    sums.push(Balance {
        twice: 0,
        part: "wire delay".into(),
        within: number(&forth["packets"]) + number(&forth["duplicated"]),
        out,
    });
    sums.push(link_balance(
        delay,
        "d1",
        number(&forth["sent"]),
        number(&forth["refused"]),
    ));
    let ports = &switch["ports"];
    sums.push(Balance {
        twice: 0,
        part: "into the switch".into(),
        within: arrived(fork, "p0"),
        out: vec![
            ("given to it".into(), number(&ports[0]["received"])),
            ("lost".into(), number(&ports[0]["lost"])),
        ],
    });
    // Nobody behind it ever sends: each frame floods to both.
    let mut out = each(&switch["nodes"][0]["drops"]);
    out.extend([1, 2].map(|index| (format!("sent by p{index}"), number(&ports[index]["sent"]))));
    sums.push(Balance {
        twice: 0,
        part: "wire run switch, to two".into(),
        within: 2 * number(&ports[0]["received"]),
        out,
    });
    for (index, reader) in [1, 2].into_iter().zip(&readers) {
        let port = &ports[index];
        sums.push(link_balance(
            fork,
            &format!("p{index}"),
            number(&port["sent"]),
            number(&port["refused"]),
        ));
        let (namespace, name) = if index == 1 { (b, "k0") } else { (c, "o0") };
        let (read, sound) = packets(&reader.out);
        assert!(sound, "records of {name} are damaged");
        sums.push(Balance {
            twice: 0,
            part: format!("wire cat {name}"),
            within: arrived(namespace, name),
            out: vec![
                ("written".into(), read.len() as u64),
                ("lost".into(), reader.number_before("lost because")),
            ],
        });
    }
    println!("soak: {seconds} s, {flaps} flaps");
    for sum in &sums {
        println!("{}", sum.text());
    }
    assert!(number(&sent["sent"]) > 0);
    assert!(
        sums.iter().all(Balance::is_even),
        "{}",
        sums.iter()
            .map(Balance::text)
            .collect::<Vec<_>>()
            .join("\n")
    );
}
