//! In steady state no discipline allocates for a packet.

use crate::acks::ipv4;
use node::{Rate, Size, Time};
use queue::cake::AckFilter;
use queue::{
    Config, Decisions, Ecn, Facts, Packet, Segment, cake, codel, docsis_pie, dualpi2, fq_codel,
    pie, red, tbf,
};

fn kinds() -> Vec<Config> {
    let rate = Rate::from_bits_per_second(2_000_000_000).unwrap();
    vec![
        Config::default(),
        Config::Codel(codel::Config::default()),
        Config::FqCodel(fq_codel::Config::default()),
        Config::Pie(pie::Config::default()),
        Config::DocsisPie(docsis_pie::Config::new(rate)),
        Config::Red(red::Config::default()),
        Config::Tbf(tbf::Config::new(rate, Size::from_bytes(10_000))),
        Config::Drr(Default::default()),
        Config::Prio(Default::default()),
        Config::DualPi2(dualpi2::Config::default()),
        Config::Cake(cake::Config {
            bandwidth: Some(rate),
            ..cake::Config::default()
        }),
        Config::Cake(cake::Config {
            bandwidth: Some(rate),
            ack_filter: AckFilter::On,
            ..cake::Config::default()
        }),
    ]
}

#[test]
fn no_discipline_allocates_in_steady_state() {
    for config in kinds() {
        let mut queue = config.build(0).unwrap();
        let (mut out, mut now) = (Decisions::with_capacity(256), Time::ZERO);
        let mut ack = [0; 20];
        (ack[12], ack[13]) = (0x50, 0x10);
        let mut frame = ipv4(&ack);
        let mut turn = |n: u32| {
            frame[42..46].copy_from_slice(&n.to_be_bytes());
            let segment = Segment::of(&frame);
            now += Time::from_us(8);
            let facts = Facts {
                flow: n % 97,
                ecn: Ecn::from_bits((n % 4) as u8),
                priority: (n % 16) as u8,
                ..Facts::default()
            };
            let packet = Packet::new(n, 1_000, facts);
            queue.enqueue_segment(now, packet, segment.as_ref(), &mut out);
            // At times more arrives than leaves, at times less.
            for _ in 0..[0, 1, 2, 1][n as usize / 500 % 4] {
                queue.dequeue(now, &mut out);
            }
            out.clear();
        };
        (0..20_000).for_each(&mut turn);
        let before = allocations::of_this_thread();
        (20_000..40_000).for_each(&mut turn);
        let made = allocations::of_this_thread() - before;
        assert_eq!(made, 0, "{config:?}");
    }
}
