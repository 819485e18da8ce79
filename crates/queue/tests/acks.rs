//! Random TCP segments, most of them pure ACKs, for ACK filters; and the fields that are read from them.

use crate::drive::Sequence;
use node::random::Random;
use node::{Rate, Size, Time};
use queue::cake::AckFilter;
use queue::classify::By;
use queue::{
    Config, Decisions, Discipline, Facts, Packet, Reason, Segment, cake, drr, htb, policer, prio,
    tbf, varying,
};
use std::collections::BTreeMap;

/// A connection's receiver: its next acknowledgement, and its clock.
#[derive(Clone, Copy, Default)]
struct Receiver {
    acknowledgement: u32,
    clock: u32,
    echo: u32,
    /// SACK blocks, as sequence numbers.
    blocks: [[u32; 2]; 3],
    sacks: usize,
}

impl Receiver {
    fn new(random: &mut Random) -> Receiver {
        // Many of the numbers wrap around soon.
        let start = |random: &mut Random| (random.bits() as u32) >> random.below(2) | 0xFFFF_0000;
        Receiver {
            acknowledgement: start(random),
            clock: start(random),
            echo: start(random),
            ..Receiver::default()
        }
    }

    /// Receives data, in order or not.
    fn advance(&mut self, random: &mut Random) {
        self.clock = self.clock.wrapping_add(random.below(3) as u32);
        match random.below(8) {
            0..4 => {
                let step = 1_448 * random.below(3) as u32;
                self.acknowledgement = self.acknowledgement.wrapping_add(step);
                self.echo = self.echo.wrapping_add(random.below(3) as u32);
                self.sacks = if random.below(3) == 0 { 0 } else { self.sacks };
            }
            4..7 => {
                // A block that grows, or another.
                let place = random.index(3);
                self.sacks = self.sacks.max(place + 1).min(3);
                let [first, end] = &mut self.blocks[place];
                if random.below(2) == 0 {
                    *first = self
                        .acknowledgement
                        .wrapping_add(1_448 * random.below(9) as u32);
                    *end = *first;
                }
                *end = end.wrapping_add(1_448 * random.below(4) as u32);
            }
            // A duplicate.
            _ => self.blocks[0][0] = self.acknowledgement.wrapping_sub(1_448),
        }
    }

    /// The segment that it sends.
    fn segment(&self, random: &mut Random, with_stamps: bool) -> Vec<u8> {
        let mut options = Vec::new();
        if with_stamps {
            options.extend([1, 1, 8, 10]);
            options.extend(self.clock.to_be_bytes());
            options.extend(self.echo.to_be_bytes());
        }
        if self.sacks > 0 {
            options.extend([1, 1, 5, 2 + 8 * self.sacks as u8]);
            let blocks = self.blocks[..self.sacks].iter().flatten();
            options.extend(blocks.flat_map(|number| number.to_be_bytes()));
        }
        // At times another option, an end, an option that is cut off, or one twice.
        match random.below(30) {
            0 if options.len() <= 36 => options.extend([2, 4, 5, 180]),
            1 if options.len() <= 32 => options.extend([19, 6, 1, 2, 3, 4, 0, 9]),
            2 if options.len() <= 36 => options.extend([0, 5, 2, 0]),
            3 if options.len() <= 36 => options.extend([5, 30, 0, 0]),
            4 if options.len() <= 36 => options.extend([1, 1, 5, 2]),
            5 if options.len() <= 36 => options.extend([8, 4, 0, 0]),
            _ => {}
        }
        options.truncate(40);
        let flags = match random.below(30) {
            0 => 0x11,
            1 => 0x18,
            2 => 0x02,
            3 => 0x12,
            4 => 0x04,
            5 | 6 => 0x50,
            7 => 0x90,
            _ => 0x10,
        };
        let mut bytes = vec![0; 20];
        bytes[8..12].copy_from_slice(&self.acknowledgement.to_be_bytes());
        let reserved = u8::from(random.below(40) == 0);
        bytes[12] = (5 + options.len() as u8 / 4) << 4 | reserved;
        bytes[13] = flags;
        bytes.extend(options);
        if random.below(12) == 0 {
            bytes.push(7);
        }
        bytes
    }
}

/// An Ethernet frame with IPv4, padded to 60 bytes.
pub fn ipv4(tcp: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 34];
    frame[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
    frame[16..18].copy_from_slice(&(20 + tcp.len() as u16).to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 6]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(tcp);
    frame.resize(frame.len().max(60), 0);
    frame
}

impl Sequence {
    /// Gives most packets a TCP segment.
    pub fn with_segments(mut self, random: &mut Random) -> Sequence {
        let mut receivers: BTreeMap<u32, Receiver> = BTreeMap::new();
        let stamps = random.below(3);
        self.tcp = self.arrivals.iter().map(|_| None).collect();
        for (arrival, tcp) in self.arrivals.iter_mut().zip(&mut self.tcp) {
            if random.below(12) == 0 {
                continue;
            }
            let flow = arrival.packet.facts.flow;
            let receiver = receivers
                .entry(flow)
                .or_insert_with(|| Receiver::new(random));
            receiver.advance(random);
            let with_stamps = stamps > 0 && (stamps > 1 || random.below(9) > 0);
            let bytes = receiver.segment(random, with_stamps);
            arrival.segment = Segment::of(&ipv4(&bytes));
            *tcp = Some(bytes);
        }
        self
    }
}

/// A header of 20 bytes with these flags, and its options and data.
fn tcp(flags: u8, options: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 20];
    bytes[8..12].copy_from_slice(&7_000_u32.to_be_bytes());
    bytes[12] = (5 + options.len() as u8 / 4) << 4;
    bytes[13] = flags;
    [&bytes, options, data].concat()
}

#[test]
fn a_segment_has_the_fields_of_its_header() {
    let mut options = vec![1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4, 1, 1, 5, 10];
    options.extend([0, 0, 0, 9, 0, 0, 1, 0]);
    let segment = Segment::of(&ipv4(&tcp(0x50, &options, &[]))).unwrap();
    assert_eq!((segment.flags, segment.ecn_flags()), (0x50, 0x40));
    assert_eq!(
        (segment.acknowledgement, segment.timestamps),
        (7_000, [3, 4])
    );
    assert_eq!(segment.blocks(), [[9, 256]]);
    assert!(segment.is_pure_ack() && segment.acknowledges());
}

#[test]
fn a_pure_ack_has_no_data_no_other_flag_and_no_unknown_option() {
    let is_pure = |bytes: Vec<u8>| Segment::of(&ipv4(&bytes)).unwrap().is_pure_ack();
    // Padding of the frame is no data.
    assert!(is_pure(tcp(0x10, &[], &[])));
    assert!(!is_pure(tcp(0x10, &[], &[1])));
    for flags in [0, 0x11, 0x12, 0x14, 0x18, 0x30] {
        assert!(!is_pure(tcp(flags, &[], &[])), "{flags:#x}");
    }
    for options in [
        [2, 4, 5, 180],
        [3, 3, 7, 0],
        [4, 2, 0, 0],
        [8, 4, 0, 0],
        [34, 2, 0, 0],
    ] {
        assert!(!is_pure(tcp(0x10, &options, &[])), "{options:?}");
    }
    let mut accurate = tcp(0x10, &[], &[]);
    accurate[12] |= 1;
    assert!(!is_pure(accurate));
}

#[test]
fn other_frames_have_no_segment() {
    let good = ipv4(&tcp(0x10, &[1; 12], &[5; 30]));
    assert!(Segment::of(&good).is_some());
    for len in 0..good.len() {
        assert_eq!(Segment::of(&good[..len]), None, "{len}");
    }
    let changed = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        Segment::of(&frame)
    };
    // UDP, two fragments, and a header length below 20 and above the segment.
    for (at, byte) in [(23, 17), (20, 0x20), (21, 1), (46, 0x40), (46, 0xF0 | 0xF)] {
        let is_segment = changed(at, byte).is_some();
        assert_eq!(is_segment, byte == 0xFF, "{at} {byte:#x}");
    }
}

#[test]
fn a_tag_and_ipv6_hide_no_segment() {
    let tcp = tcp(0x10, &[], &[]);
    let mut tagged = ipv4(&tcp);
    tagged.splice(12..12, [0x81, 0, 0, 7]);
    assert_eq!(Segment::of(&tagged), Segment::of(&ipv4(&tcp)));
    let mut frame = vec![0; 54];
    frame[12..15].copy_from_slice(&[0x86, 0xDD, 0x60]);
    frame[19] = 20;
    frame[20] = 6;
    frame.extend(&tcp);
    assert_eq!(Segment::of(&frame), Segment::of(&ipv4(&tcp)));
    assert!(Segment::of(&frame).is_some());
}

/// CAKE with a filter.
fn cake(ack_filter: AckFilter) -> Config {
    Config::Cake(cake::Config {
        ack_filter,
        ..cake::Config::default()
    })
}

/// Offers a pure ACK of one connection for each number, and returns the numbers that are dropped.
fn filtered(queue: &mut dyn Discipline, numbers: &[u32]) -> Vec<u32> {
    let mut out = Decisions::new();
    for number in numbers {
        let mut bytes = tcp(0x10, &[], &[]);
        bytes[8..12].copy_from_slice(&number.to_be_bytes());
        let frame = ipv4(&bytes);
        let packet = Packet::new(*number, frame.len() as u32, Facts::of(&frame));
        queue.enqueue_segment(Time::ZERO, packet, Segment::of(&frame).as_ref(), &mut out);
    }
    assert_eq!(queue.counters().filtered, out.len() as u64);
    assert_eq!(queue.backlog().packets, (numbers.len() - out.len()) as u64);
    assert!(
        out.iter()
            .all(|decision| decision.reason == Reason::AckFilter)
    );
    out.iter().map(|decision| decision.packet.handle).collect()
}

#[test]
fn the_filter_keeps_two_acks_and_the_aggressive_one_keeps_one() {
    let numbers = [1, 2, 3, 4, 5];
    for (filter, dropped) in [
        (AckFilter::Off, &[][..]),
        (AckFilter::On, &[1, 2, 3]),
        (AckFilter::Aggressive, &[1, 2, 3, 4]),
    ] {
        let mut queue = cake(filter).build(0).unwrap();
        assert_eq!(queue.reads_segments(), filter != AckFilter::Off);
        assert_eq!(filtered(&mut *queue, &numbers), dropped, "{filter:?}");
    }
    // Three duplicates are a report of a loss: all of them stay.
    let mut queue = cake(AckFilter::Aggressive).build(0).unwrap();
    assert!(filtered(&mut *queue, &[7, 7, 7, 7]).is_empty());
}

#[test]
fn a_filter_works_below_every_discipline_with_children() {
    let rate = Rate::TEN_GIGABIT;
    let inner = || Box::new(cake(AckFilter::Aggressive));
    let parents = [
        Config::Tbf(tbf::Config {
            child: Some(inner()),
            ..tbf::Config::new(rate, Size::from_bytes(10_000))
        }),
        Config::Policer(policer::Config {
            rate,
            burst: Size::from_bytes(10_000),
            child: Some(inner()),
        }),
        Config::Prio(prio::Config {
            bands: vec![*inner()],
            priomap: vec![0],
            ..prio::Config::default()
        }),
        Config::Drr(drr::Config {
            classes: vec![drr::Class {
                quantum: 1_514,
                child: *inner(),
            }],
            ..drr::Config::default()
        }),
        Config::Htb(htb::Config {
            classes: vec![htb::Class {
                child: Some(inner()),
                ..htb::Class::leaf(rate, rate)
            }],
            by: By::Flow,
            priomap: Vec::new(),
        }),
    ];
    for parent in parents {
        let mut queue = parent.build(0).unwrap();
        assert!(queue.reads_segments(), "{parent:?}");
        assert_eq!(filtered(&mut *queue, &[1, 2, 3]), [1, 2], "{parent:?}");
    }
    // Its first packet is on the line at once.
    let line = Config::Varying(varying::Config {
        rates: vec![(Time::ZERO, rate)],
        repeat: None,
        child: Some(inner()),
    });
    let mut queue = line.build(0).unwrap();
    assert_eq!(filtered(&mut *queue, &[1, 2, 3]), [2]);
}
