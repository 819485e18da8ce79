//! Cost of a packet in each discipline: one `enqueue` and one `dequeue` at 10 Gb/s with about 100
//! packets of 16 flows in the queue, as a ratio to a FIFO, and with the bound where there is one.
//!
//! `cargo bench -p wireline-queue`

use node::{Rate, Time};
use queue::cake::AckFilter;
use queue::{
    Config, Decisions, Ecn, Facts, Packet, Segment, cake, codel, docsis_pie, dualpi2, fq_codel,
    pie, red,
};
use std::hint::black_box;

/// Packets of a run: few enough that one of many runs has the processor for itself.
const PACKETS: u32 = 20_000;
const RUNS: u32 = 150;
/// Bounds in ns a packet, for one core.
const BOUNDS: [(&str, f64); 4] = [
    ("fifo", 20.0),
    ("fq_codel", 150.0),
    ("cake", 400.0),
    ("dualpi2", 120.0),
];
/// Packets that wait.
const BACKLOG: u32 = 100;
/// Length of a packet in bytes, and its time at 10 Gb/s.
const LEN: u32 = 1_250;
const PACKET_TIME: Time = Time::from_us(1);

/// An Ethernet frame with a pure TCP ACK, whose number is at byte 42.
fn ack() -> [u8; 60] {
    let mut frame = [0; 60];
    frame[12..18].copy_from_slice(&[8, 0, 0x45, 0, 0, 40]);
    frame[22..24].copy_from_slice(&[64, 6]);
    (frame[46], frame[47]) = (0x50, 0x10);
    frame
}

/// Nanoseconds a packet, the best of several runs: other work on the machine only adds.
fn nanoseconds(config: &Config) -> f64 {
    let runs = (0..RUNS).map(|_| {
        let mut queue = config.build(1).expect("a good configuration");
        let reads = queue.reads_segments();
        let mut ack = ack();
        let mut out = Decisions::new();
        let facts: Vec<Facts> = (0..16_u32)
            .map(|flow| Facts {
                flow: flow.wrapping_mul(0x9E37_79B9),
                source: flow % 4,
                destination: flow % 3,
                ecn: Ecn::from_bits((flow % 3) as u8),
                ..Facts::default()
            })
            .collect();
        let packet = |n: u32| Packet::new(n, LEN, facts[(n * 7 % 16) as usize]);
        let mut now = Time::ZERO;
        (0..BACKLOG).for_each(|n| queue.enqueue(now, packet(n), &mut out));
        #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
        let start = std::time::Instant::now();
        for n in 0..PACKETS {
            now += PACKET_TIME;
            let segment = reads.then(|| {
                ack[42..46].copy_from_slice(&n.to_be_bytes());
                Segment::of(&ack)
            });
            queue.enqueue_segment(now, packet(n), segment.flatten().as_ref(), &mut out);
            black_box(queue.dequeue(now, &mut out));
            out.clear();
        }
        start.elapsed().as_nanos() as f64 / f64::from(PACKETS)
    });
    runs.fold(f64::INFINITY, f64::min)
}

fn main() {
    let kinds = [
        ("fifo", Config::default()),
        ("codel", Config::Codel(codel::Config::default())),
        ("fq_codel", Config::FqCodel(fq_codel::Config::default())),
        ("pie", Config::Pie(pie::Config::default())),
        (
            "docsis_pie",
            Config::DocsisPie(docsis_pie::Config::new(Rate::TEN_GIGABIT)),
        ),
        ("red", Config::Red(red::Config::default())),
        ("drr", Config::Drr(Default::default())),
        ("prio", Config::Prio(Default::default())),
        ("dualpi2", Config::DualPi2(dualpi2::Config::default())),
        (
            "cake",
            Config::Cake(cake::Config {
                bandwidth: Some(Rate::TEN_GIGABIT),
                ..cake::Config::default()
            }),
        ),
        // Each packet is an ACK that makes an earlier one unnecessary.
        (
            "cake acks",
            Config::Cake(cake::Config {
                bandwidth: Some(Rate::TEN_GIGABIT),
                ack_filter: AckFilter::On,
                ..cake::Config::default()
            }),
        ),
    ];
    let mut base = None;
    for (name, config) in kinds {
        let cost = nanoseconds(&config);
        let base = *base.get_or_insert(cost);
        let bound = BOUNDS.iter().find(|(kind, _)| *kind == name);
        let bound = bound.map_or(String::new(), |(_, bound)| {
            let held = if cost < *bound { "held" } else { "missed" };
            format!(", bound {bound} ns {held}")
        });
        println!(
            "{name:10} {cost:7.1} ns a packet, {:5.2} x fifo{bound}",
            cost / base
        );
    }
}
