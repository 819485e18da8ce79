//! Rules that hold for every discipline, whatever comes.

use crate::drive::{Sequence, drive};
use node::random::Random;
use node::{Rate, Size, Time};
use queue::classify::By;
use queue::{
    Backlog, Config, Decisions, Discipline, Ecn, Facts, Packet, Verdict, cake, codel, docsis_pie,
    drr, dualpi2, fifo, fq_codel, htb, pie, policer, prio, red, tbf, varying,
};
use std::collections::BTreeMap;

const MEGABIT: u64 = 1_000_000;

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).unwrap()
}

/// Each kind with small limits, and some in others.
fn all() -> Vec<Config> {
    let fifo = |limit| {
        Config::Fifo(fifo::Config {
            limit,
            ..fifo::Config::default()
        })
    };
    let codel = codel::Config {
        limit: 50,
        target: Time::from_us(50),
        interval: Time::from_us(500),
        ecn: true,
        ..codel::Config::default()
    };
    let fq_codel = fq_codel::Config {
        limit: 60,
        flows: 8,
        quantum: 300,
        target: codel.target,
        interval: codel.interval,
        ..fq_codel::Config::default()
    };
    let tbf = |child: Config| tbf::Config {
        peakrate: Some(rate(80 * MEGABIT)),
        child: Some(Box::new(child)),
        ..tbf::Config::new(rate(20 * MEGABIT), Size::from_bytes(5_000))
    };
    let classes = [300, 1_514, 4_000].map(|quantum| drr::Class {
        quantum,
        child: Config::Codel(codel.clone()),
    });
    vec![
        fifo(40),
        Config::Fifo(fifo::Config {
            head_drop: true,
            bytes: Some(Size::from_bytes(20_000)),
            time: Some(Time::from_us(800)),
            mark: Some(5),
            ..fifo::Config::default()
        }),
        Config::Codel(codel.clone()),
        Config::FqCodel(fq_codel.clone()),
        Config::DocsisPie(docsis_pie::Config {
            limit: Some(Size::from_bytes(60_000)),
            ..docsis_pie::Config::new(rate(50 * MEGABIT))
        }),
        Config::DocsisPie(docsis_pie::Config {
            limit: Some(Size::from_bytes(200_000)),
            target: Time::from_us(100),
            tupdate: Time::from_us(100),
            alpha: 2_000,
            beta: 20_000,
            max_burst: Time::from_us(400),
            burst_reset: Time::from_us(500),
            latency_low: Time::from_us(50),
            latency_high: Time::from_ms(1),
            ..docsis_pie::Config::new(rate(50 * MEGABIT))
        }),
        Config::DocsisPie(docsis_pie::Config {
            burst: Some(Size::from_bytes(30_000)),
            peakrate: Some(rate(90 * MEGABIT)),
            ..docsis_pie::Config::new(rate(50 * MEGABIT))
        }),
        Config::Pie(pie::Config {
            target: Time::from_us(100),
            tupdate: Time::from_us(100),
            alpha: 2_000,
            beta: 20_000,
            max_burst: Time::ZERO,
            ecn: true,
            ..pie::Config::default()
        }),
        Config::Red(red::Config {
            min: Size::from_bytes(3_000),
            max: Size::from_bytes(9_000),
            limit: Size::from_bytes(50_000),
            wlog: 3,
            adaptive: true,
            ecn: true,
            ..red::Config::default()
        }),
        Config::Tbf(tbf(fifo(50))),
        Config::Tbf(tbf(Config::FqCodel(fq_codel.clone()))),
        Config::Varying(varying::Config {
            rates: vec![
                (Time::ZERO, rate(30 * MEGABIT)),
                (Time::from_us(700), rate(1)),
                (Time::from_us(900), rate(200 * MEGABIT)),
            ],
            repeat: Some(Time::from_ms(1)),
            child: Some(Box::new(Config::FqCodel(fq_codel.clone()))),
        }),
        Config::Policer(policer::Config {
            rate: rate(40 * MEGABIT),
            burst: Size::from_bytes(8_000),
            child: None,
        }),
        Config::Drr(drr::Config {
            classes: classes.into(),
            ..drr::Config::default()
        }),
        Config::Prio(prio::Config {
            bands: vec![
                Config::Tbf(tbf(fifo(20))),
                Config::FqCodel(fq_codel),
                fifo(10),
            ],
            ..prio::Config::default()
        }),
        Config::DualPi2(dualpi2::Config {
            limit: 80,
            target: Time::from_us(100),
            tupdate: Time::from_us(100),
            alpha: 20.0,
            beta: 400.0,
            ..dualpi2::Config::default()
        }),
        Config::Cake(cake::Config {
            bandwidth: Some(rate(60 * MEGABIT)),
            diffserv: cake::Diffserv::Diffserv4,
            memlimit: Some(Size::from_bytes(60_000)),
            rtt: Time::from_ms(1),
            ..cake::Config::default()
        }),
        Config::Cake(cake::Config {
            memlimit: Some(Size::from_bytes(60_000)),
            ..cake::Config::default()
        }),
        Config::Htb(htb::Config {
            classes: vec![htb::Class {
                classes: vec![
                    htb::Class::leaf(rate(5 * MEGABIT), rate(50 * MEGABIT)),
                    htb::Class {
                        child: Some(Box::new(Config::Codel(codel))),
                        prio: 1,
                        ..htb::Class::leaf(rate(10 * MEGABIT), rate(20 * MEGABIT))
                    },
                ],
                ..htb::Class::leaf(rate(40 * MEGABIT), rate(40 * MEGABIT))
            }],
            by: By::Dscp,
            priomap: vec![0; 9],
        }),
        // A tree of others.
        Config::Prio(prio::Config {
            bands: vec![Config::Drr(drr::Config::default()), fifo(1)],
            by: By::Dscp,
            priomap: vec![0; 40],
        }),
    ]
}

fn sum(a: Backlog, b: Backlog) -> Backlog {
    Backlog {
        packets: a.packets + b.packets,
        bytes: a.bytes + b.bytes,
    }
}

fn balances(queue: &dyn Discipline) -> bool {
    let counters = queue.counters();
    counters.offered == sum(sum(counters.sent, counters.dropped), queue.backlog())
}

#[test]
fn packets_are_sent_or_dropped_once_whatever_comes() {
    for config in all() {
        for seed in 0..6 {
            let mut random = Random::new(seed);
            let mut queue = config.build(seed).unwrap();
            let (mut out, mut now) = (Decisions::new(), Time::ZERO);
            // The last rounds are at the end of time.
            let mut inside = std::collections::BTreeSet::new();
            for handle in 0..1_500 {
                now += match random.below(60) {
                    0..20 => Time::ZERO,
                    20..58 => Time::from_ps(random.below(200_000_000)),
                    58 => Time::from_ms(random.below(300)),
                    _ if handle > 1_300 => Time::from_ps(random.bits() >> random.below(8)),
                    _ => Time::from_ps(1),
                };
                if random.below(2) == 0 {
                    let len = match random.below(100) {
                        0 => 0,
                        1 => u32::MAX,
                        2..20 => 60,
                        _ => random.below(9_001) as u32,
                    };
                    let facts = Facts {
                        flow: random.below(9) as u32,
                        source: random.below(3) as u32,
                        destination: random.below(3) as u32,
                        dscp: random.below(64) as u8,
                        ecn: Ecn::from_bits(random.below(4) as u8),
                        priority: random.below(256) as u8,
                        queue: random.below(9) as u32,
                    };
                    inside.insert(handle);
                    queue.enqueue(now, Packet::new(handle, len, facts), &mut out);
                } else if let Some(packet) = queue.dequeue(now, &mut out) {
                    assert!(inside.remove(&packet.handle), "{config:?}");
                } else if now < Time::MAX {
                    let next = queue.next_time(now);
                    assert!(next.is_none_or(|next| next > now), "{next:?} {queue:?}");
                }
                for decision in out.drain(..) {
                    let is_gone = decision.verdict == Verdict::Dropped;
                    assert!(!is_gone || inside.remove(&decision.packet.handle));
                    let capable = decision.packet.facts.ecn == Ecn::Ce;
                    assert!(is_gone || capable, "{decision:?}");
                }
                assert!(balances(&*queue), "{config:?} {queue:?}");
                assert_eq!(queue.backlog().packets, inside.len() as u64);
                let next = queue.next_time(now);
                assert_eq!(next.is_some(), !inside.is_empty(), "{queue:?}");
                assert!(next.is_none_or(|next| next >= now));
            }
        }
    }
}

/// Shapers and a policer around classes, which hold a packet of a class.
fn around_classes() -> Vec<Config> {
    let fifo = |limit| {
        Config::Fifo(fifo::Config {
            limit,
            ..fifo::Config::default()
        })
    };
    let codel = Config::Codel(codel::Config {
        target: Time::from_us(50),
        interval: Time::from_us(500),
        limit: 30,
        ..codel::Config::default()
    });
    let drr = Config::Drr(drr::Config {
        classes: [fifo(20), codel.clone(), fifo(3)]
            .map(|child| drr::Class {
                quantum: 700,
                child,
            })
            .into(),
        ..drr::Config::default()
    });
    let prio = Config::Prio(prio::Config {
        bands: vec![drr.clone(), codel, fifo(10)],
        by: By::Flow,
        priomap: vec![],
    });
    vec![
        Config::Varying(varying::Config {
            rates: vec![
                (Time::ZERO, rate(30 * MEGABIT)),
                (Time::from_us(700), rate(3 * MEGABIT)),
            ],
            repeat: Some(Time::from_ms(1)),
            child: Some(Box::new(prio.clone())),
        }),
        Config::Tbf(tbf::Config {
            child: Some(Box::new(prio.clone())),
            ..tbf::Config::new(rate(20 * MEGABIT), Size::from_bytes(5_000))
        }),
        Config::Policer(policer::Config {
            rate: rate(60 * MEGABIT),
            burst: Size::from_bytes(20_000),
            child: Some(Box::new(prio)),
        }),
        Config::Prio(prio::Config {
            bands: vec![
                Config::Varying(varying::Config {
                    rates: vec![(Time::ZERO, rate(20 * MEGABIT))],
                    repeat: None,
                    child: Some(Box::new(drr)),
                }),
                fifo(5),
            ],
            by: By::Flow,
            priomap: vec![],
        }),
    ]
}

/// The backlog of a decision is that of the queue that decided: the packets of its classes that
/// came and have neither left nor been dropped.
#[test]
fn a_decision_has_the_backlog_of_the_queue_that_decided() {
    let (mut checked, mut deepest) = (0, 0);
    for config in all().into_iter().chain(around_classes()) {
        for seed in 0..20 {
            let mut sequence = Sequence::random(&mut Random::new(seed), 400);
            // The limits and times of these configurations are for this line.
            sequence.byte = 80_000;
            let mut queue = config.build(seed).unwrap();
            let same = config.build(seed).unwrap();
            let (mut out, mut inside) = (Decisions::new(), BTreeMap::new());
            let (mut now, mut free) = (Time::ZERO, Time::ZERO);
            let mut arrivals = sequence.arrivals.iter().peekable();
            loop {
                let poll = queue.next_time(now.max(free));
                let mut sent = None;
                if let Some(arrival) =
                    arrivals.next_if(|next| poll.is_none_or(|poll| next.at <= poll))
                {
                    now = arrival.at.max(now);
                    inside.insert(arrival.packet.handle, arrival.packet);
                    queue.enqueue(now, arrival.packet, &mut out);
                } else if let Some(poll) = poll {
                    now = poll;
                    sent = queue.dequeue(now, &mut out);
                } else {
                    break;
                }
                for decision in out.drain(..) {
                    let mut backlog = Backlog::default();
                    for packet in inside.values() {
                        if same.shares_queue(&decision.packet, packet, decision.depth) {
                            backlog.add(packet.len);
                        }
                    }
                    assert_eq!(backlog, decision.backlog, "{config:?}\n{decision:?}");
                    let mut path = Vec::new();
                    same.classes_of(&decision.packet, &mut path);
                    assert!(path.len() >= decision.depth as usize, "{decision:?}");
                    if decision.verdict == Verdict::Dropped {
                        inside.remove(&decision.packet.handle);
                    }
                    checked += 1;
                    deepest = deepest.max(decision.depth);
                }
                if let Some(packet) = sent {
                    inside.remove(&packet.handle);
                    free = now + Time::from_ps(sequence.byte) * u64::from(packet.len);
                }
            }
        }
    }
    assert!(checked > 20_000 && deepest == 2, "{checked} {deepest}");
}

#[test]
fn packets_of_a_flow_leave_in_order_and_all_leave_in_the_end() {
    for config in all() {
        for seed in 0..20 {
            let mut random = Random::new(100 + seed);
            let mut sequence = Sequence::random(&mut random, 300);
            // A flow is of one class in every sense.
            for arrival in &mut sequence.arrivals {
                let facts = &mut arrival.packet.facts;
                facts.dscp = (facts.flow % 64) as u8;
                facts.priority = facts.dscp % 16;
                facts.ecn = Ecn::from_bits((facts.flow >> 8) as u8);
            }
            let mut queue = config.build(seed).unwrap();
            let mut last = BTreeMap::new();
            drive(&mut *queue, &sequence, |_, packet, _| {
                // A mark on the way would move a packet from one queue of L4S to the other only at
                // the next hop.
                let before = last.insert(packet.facts.flow, packet.handle);
                assert!(
                    before.is_none_or(|before| before < packet.handle),
                    "{config:?}"
                );
            });
            assert!(queue.backlog().is_empty() && balances(&*queue));
        }
    }
}

#[test]
fn limits_are_kept() {
    for seed in 0..30 {
        let sequence = Sequence::random(&mut Random::new(seed), 300);
        let check = |config: Config, packets: u64, bytes: u64| {
            let mut queue = config.build(seed).unwrap();
            let mut out = Decisions::new();
            for arrival in &sequence.arrivals {
                queue.enqueue(arrival.at, arrival.packet, &mut out);
                let backlog = queue.backlog();
                assert!(
                    backlog.packets <= packets && backlog.bytes <= bytes,
                    "{config:?}"
                );
            }
        };
        let limit = 1 + (seed as u32);
        let fifo = fifo::Config {
            limit,
            bytes: Some(Size::from_bytes(9_000)),
            head_drop: seed % 2 == 0,
            ..fifo::Config::default()
        };
        check(Config::Fifo(fifo), limit.into(), 9_000);
        let fq_codel = fq_codel::Config {
            limit,
            memory_limit: Size::from_bytes(12_000),
            ..fq_codel::Config::default()
        };
        check(Config::FqCodel(fq_codel), limit.into(), 12_000);
        let cake = cake::Config {
            memlimit: Some(Size::from_bytes(15_000)),
            ..cake::Config::default()
        };
        check(Config::Cake(cake), u64::MAX, 15_000);
        let dualpi2 = dualpi2::Config {
            limit,
            ..dualpi2::Config::default()
        };
        check(Config::DualPi2(dualpi2), limit.into(), u64::MAX);
    }
}

#[test]
fn a_shaper_sends_no_more_than_its_rate_and_burst_and_no_less_than_its_rate() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let sequence = Sequence::random(&mut random, 200);
        let bits = 1 + 8_000_000_000_000 / sequence.byte / (1 + random.below(4));
        let burst = 4_542 + random.below(10_000);
        let tbf = tbf::Config::new(rate(bits), Size::from_bytes(burst));
        let cake = cake::Config {
            bandwidth: Some(rate(bits)),
            ..cake::Config::default()
        };
        // CAKE has no burst beyond the packet itself, and what a busy line held up.
        for (config, burst) in [
            (Config::Tbf(tbf), burst),
            (Config::Cake(cake), 27_000 + 27_000),
        ] {
            let mut queue = config.build(seed).unwrap();
            let mut sent: Vec<(Time, u64)> = Vec::new();
            drive(&mut *queue, &sequence, |now, packet, _| {
                sent.push((now, packet.len.into()));
            });
            for (n, first) in sent.iter().enumerate() {
                let mut bytes = 0;
                for (at, len) in &sent[n..] {
                    bytes += len;
                    let time = u128::from((*at - first.0).as_ps());
                    let allowed = u128::from(bits) * time / 8_000_000_000_000 + u128::from(burst);
                    assert!(u128::from(bytes) <= allowed + 1, "{config:?} {seed}");
                }
            }
        }
    }
    // Always backlogged: the long-term rate is exact.
    let tbf = tbf::Config::new(rate(7_777_777), Size::from_bytes(2_000));
    let mut queue = Config::Tbf(tbf).build(0).unwrap();
    let (mut out, mut now) = (Decisions::new(), Time::ZERO);
    for handle in 0..900 {
        queue.enqueue(now, Packet::new(handle, 1_000, Facts::default()), &mut out);
    }
    let mut sent = 0;
    while let Some(next) = queue.next_time(now) {
        now = next;
        sent += u64::from(queue.dequeue(now, &mut out).is_some());
    }
    assert_eq!(sent, 900);
    let exact = 898 * 8_000 * 1_000_000_000_000_u128;
    assert_eq!(u128::from(now.as_ps()), exact.div_ceil(7_777_777));
}

/// Shreedhar and Varghese: bytes that two classes with backlog have sent, over their quanta, differ
/// by less than one quantum and one packet.
#[test]
fn drr_is_fair_within_a_quantum() {
    let quanta = [500, 1_000, 3_000];
    let classes = quanta.map(|quantum| drr::Class {
        quantum,
        child: Config::Fifo(fifo::Config {
            limit: 100_000,
            ..fifo::Config::default()
        }),
    });
    let config = drr::Config {
        classes: classes.into(),
        by: By::Priority,
        priomap: vec![0, 1, 2],
    };
    let mut queue = Config::Drr(config).build(0).unwrap();
    let mut random = Random::new(3);
    let mut out = Decisions::new();
    for handle in 0..9_000 {
        let facts = Facts {
            priority: (handle % 3) as u8,
            ..Facts::default()
        };
        let len = 60 + random.below(1_455) as u32;
        queue.enqueue(Time::ZERO, Packet::new(handle, len, facts), &mut out);
    }
    let mut sent = [0_f64; 3];
    for _ in 0..3_000 {
        let packet = queue.dequeue(Time::ZERO, &mut out).unwrap();
        sent[usize::from(packet.facts.priority)] += f64::from(packet.len);
        let rounds = [0, 1, 2].map(|class| sent[class] / f64::from(quanta[class]));
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let slack = 1.0 + 1_514.0 / f64::from(quanta[a]) + 1_514.0 / f64::from(quanta[b]);
            assert!((rounds[a] - rounds[b]).abs() <= slack, "{rounds:?}");
        }
    }
}

#[test]
fn cake_shares_among_hosts() {
    // One host with 7 flows, another with one: each gets half, and the flows of the first a seventh
    // of that.
    let config = cake::Config {
        isolation: cake::Isolation::DualSrcHost,
        ..cake::Config::default()
    };
    let mut queue = Config::Cake(config).build(1).unwrap();
    let (mut out, mut sent) = (Decisions::new(), [0_u32; 2]);
    let packet = |flow: u32| {
        let facts = Facts {
            flow: 1_000 + flow,
            source: u32::from(flow == 7),
            ..Facts::default()
        };
        Packet::new(flow, 1_000, facts)
    };
    for flow in 0..8 {
        for _ in 0..50 {
            queue.enqueue(Time::ZERO, packet(flow), &mut out);
        }
    }
    for n in 0..4_000 {
        let leaves = queue.dequeue(Time::ZERO, &mut out).unwrap();
        sent[usize::from(leaves.handle == 7)] += u32::from(n >= 100);
        queue.enqueue(Time::ZERO, packet(leaves.handle), &mut out);
    }
    assert!(out.is_empty());
    let share = f64::from(sent[1]) / f64::from(sent[0] + sent[1]);
    assert!((0.48..0.52).contains(&share), "{sent:?}");
}
