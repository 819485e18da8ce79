//! BBR against losses and other flows.

use crate::transfer::{bulk, channel, pair, sink};
use hosts::program::{Config as Program, Congestion, bulk};
use node::{Channel, Probability, QueueLimit, Time};

/// Goodputs of flows with these kinds of congestion control and times of their begin over 50 Mb/s and 10 ms, in Mb/s.
fn goodputs(flows: &[(Congestion, u64)], loss: f64, queue: u32, seconds: u64) -> Vec<f64> {
    let programs = flows.iter().map(|&(congestion, begins)| {
        Program::Bulk(bulk::Config {
            congestion,
            start: Time::from_secs(begins),
            buffer: 8 << 20,
            ..bulk(2)
        })
    });
    let channel = Channel {
        loss: Probability::new(loss).unwrap(),
        queue: QueueLimit::Packets(queue),
        ..channel(50, Time::from_ms(10))
    };
    let outcome = pair([programs.collect(), vec![sink()]], channel, seconds);
    let flows = outcome.nodes[0].flows.iter();
    flows.map(|flow| flow.goodput() / 1e6).collect()
}

#[test]
fn random_losses_do_not_slow_bbr_down() {
    for loss in [0.0, 0.01, 0.05] {
        let bbr = goodputs(&[(Congestion::Bbr, 0)], loss, 200, 20)[0];
        let most = 50.0 * 1460.0 / 1538.0 * (1.0 - loss);
        assert!(bbr > 0.9 * most, "{loss}: {bbr} of {most}");
        if loss > 0.0 {
            let cubic = goodputs(&[(Congestion::Cubic, 0)], loss, 200, 20)[0];
            assert!(cubic < 0.6 * bbr, "{loss}: {bbr}, Cubic {cubic}");
        }
    }
}

#[test]
fn flows_of_bbr_share_a_link_and_a_short_queue() {
    for queue in [20, 80, 1_000] {
        let flows = goodputs(
            &[(Congestion::Bbr, 0), (Congestion::Bbr, 5)],
            0.0,
            queue,
            60,
        );
        let sum = flows[0] + flows[1];
        let ratio = flows[0] / flows[1];
        assert!(ratio > 0.4 && ratio < 2.5, "{queue} packets: {flows:?}");
        assert!(
            sum > 0.85 * 50.0 * 1460.0 / 1538.0,
            "{queue} packets: {flows:?}"
        );
    }
}
