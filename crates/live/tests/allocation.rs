//! Receiving, sending and pacing allocate nothing per packet in steady state.

use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::pace::Pacer;
use live::port::{self, Options, Port};
use live::world;
use node::{Channel, Frame, Graph, Node, Out, Probability, Properties, Time};
use packet::{Departure, Tick};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

/// Sends and receives so many batches of 64; how many allocations this thread made.
fn allocations(a: &mut Port, b: &mut Port, batches: usize) -> u64 {
    let frame = [0x55; 200];
    let frames = [&frame[..]; 64];
    let before = allocations::of_this_thread();
    let mut got = 0;
    for batch in 1..=batches {
        a.tx.send(&frames).unwrap();
        while got < batch * 64 {
            let some =
                b.rx.receive(Duration::from_secs(5), &mut |_| got += 1)
                    .unwrap();
            assert!(some > 0, "{:?}", b.rx.counters());
        }
    }
    allocations::of_this_thread() - before
}

/// Sends so many frames, 20 us apart, and takes what comes.
struct Source {
    count: u64,
    next: u64,
}

impl Node for Source {
    fn properties(&self) -> Properties {
        Properties::of(1)
    }

    fn frames(&mut self, _: Time, _: node::Port, frames: &mut Vec<Frame>, out: &mut Out) {
        frames.drain(..).for_each(|frame| out.done(frame));
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        while self.next_wake().is_some_and(|at| at <= now) {
            let mut frame = out.frame();
            frame.extend(&[0x55; 100]);
            out.send(node::Port(0), frame);
            self.next += 1;
        }
    }

    fn next_wake(&self) -> Option<Time> {
        (self.next < self.count).then(|| Time::from_us(20) * self.next)
    }
}

/// Allocations of all threads in a run of a graph whose link duplicates each of so many frames.
fn allocations_of_duplicates(frames: u64) -> u64 {
    let mut graph = Graph::default();
    let [from, to] =
        [frames, 0].map(|count| graph.add(format!("{count}"), Box::new(Source { count, next: 0 })));
    let channel = Channel {
        delay: Time::from_us(100),
        duplicate: Probability::new(1.0).unwrap(),
        ..Channel::default()
    };
    graph.connect((from, 0), (to, 0), channel);
    let before = allocations::of_all_threads();
    let outcome = world::run(graph, world::Options::default()).unwrap();
    assert!(outcome.frames >= frames, "{}", outcome.frames);
    allocations::of_all_threads() - before
}

// One test: the counter of all threads is for it alone.
#[test]
fn nothing_is_allocated_for_a_packet_in_steady_state() {
    let namespaces = Namespace::new().and_then(|a| Ok((a, Namespace::new()?)));
    let (a, b) = match namespaces {
        Ok(namespaces) => namespaces,
        Err(NetnsError::Permission { doing }) => {
            println!("skipped: {doing} is not allowed here");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let end = |namespace, name| VethEnd {
        namespace,
        name,
        mac: None,
    };
    veth([end(&a, "a"), end(&b, "b")], 1500).unwrap();
    let open = |namespace: &Namespace, name: &str, ring| {
        let options = Options {
            ring,
            ..Options::default()
        };
        let port = namespace.enter(|| port::open(&name.parse().unwrap(), &options));
        port.unwrap()
    };
    let mut sender = open(&a, "a", true).unwrap();
    for (name, ring) in [("b", false), ("b", true), ("xdp:b", false)] {
        let mut receiver = match open(&b, name, ring) {
            Ok(port) => port,
            Err(error) => {
                println!("skipped: {error}");
                continue;
            }
        };
        allocations(&mut sender, &mut receiver, 2);
        let more = allocations(&mut sender, &mut receiver, 20);
        assert_eq!(more, 0, "receiving by {}", receiver.info.method);
        if name.starts_with("xdp") {
            allocations(&mut receiver, &mut sender, 2);
            assert_eq!(
                allocations(&mut receiver, &mut sender, 20),
                0,
                "sending by af_xdp"
            );
        }
    }
    // While the machine stops a thread, frames pile up, and a pile needs buffers: the least of some runs has none.
    let (mut few, mut many) = (u64::MAX, u64::MAX);
    for _ in 0..30 {
        few = few.min(allocations_of_duplicates(2_000));
        many = many.min(allocations_of_duplicates(6_000));
        if many < few + 400 {
            break;
        }
    }
    assert!(
        many < few + 400,
        "{many} allocations for 6,000 duplicates, {few} for 2,000"
    );
    let pacer = Pacer::start(sender.tx, Tick::EIGHT_NS).unwrap();
    let submit = |count: usize| {
        for _ in 0..count {
            pacer.submit(Departure::Now, &[0x55; 200]).unwrap();
        }
    };
    // Until both of its buffers have grown to their size.
    submit(50_000);
    let before = allocations::of_all_threads();
    submit(50_000);
    let more = allocations::of_all_threads() - before;
    assert!(more < 16, "{more} allocations for 50,000 packets");
    assert_eq!(pacer.finish().sent, 100_000);
}
