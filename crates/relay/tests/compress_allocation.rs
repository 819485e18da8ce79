//! In steady state neither compressing nor restoring allocates.

use crate::cast::payload::{json, random};
use crate::cast::udp;
use node::{Departure, Frame, Node, Out, Port, Rate, Time};
use relay::codec::Algorithm;
use relay::compress::{Choice, Compress, Config, Mode};

/// Sends each frame through both nodes and back into the pool.
fn round(
    nodes: &mut [Compress; 2],
    out: &mut Out,
    (sent, lot): (&mut Vec<Departure>, &mut Vec<Frame>),
    frames: &[Vec<u8>],
    now: &mut Time,
) {
    for bytes in frames {
        *now += Time::from_us(50);
        let mut frame: Frame = out.pool().take_with(bytes);
        for (node, port) in nodes.iter_mut().zip([0, 1]) {
            lot.push(frame);
            node.frames(*now, Port(port), lot, out);
            sent.extend(out.sends());
            frame = sent.pop().expect("one in, one out").frame;
        }
        assert_eq!(frame[..], bytes[..]);
        out.pool().give(frame);
    }
}

#[test]
fn in_steady_state_no_packet_costs_an_allocation() {
    let dictionary =
        b"\"name\":\"user-1\",\"active\":true,\"score\":1,\"tags\":[\"alpha\",\"beta\"]}";
    let one = Algorithm::ALL.map(Choice::One);
    for (choice, mode) in one
        .into_iter()
        .map(|choice| (choice, Mode::Always))
        .chain([(Choice::Auto, Mode::Adaptive), (Choice::Auto, Mode::Never)])
    {
        let make = || {
            let config = Config {
                mode,
                algorithm: choice,
                dictionary: Some("given".into()),
                // More is offered than that, so that packets wait.
                rate: Rate::from_bits_per_second(20_000_000),
                flows: 16,
                ..Config::default()
            };
            Compress::new(config, dictionary).unwrap()
        };
        let mut nodes = [make(), make()];
        // More flows than there is room for, of all sizes, some of which do not shrink.
        let frames: Vec<Vec<u8>> = (0..200u64)
            .map(|n| {
                let len = (n as usize * 37) % 1_400;
                let payload = if n % 3 == 0 {
                    random(n, len)
                } else {
                    json(n, len)
                };
                udp((n as u16 % 40, 9), &payload)
            })
            .collect();
        let (mut out, mut now) = (Out::default(), Time::ZERO);
        let (mut sent, mut lot) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            round(
                &mut nodes,
                &mut out,
                (&mut sent, &mut lot),
                &frames,
                &mut now,
            );
        }
        let before = allocations::of_this_thread();
        for _ in 0..20 {
            round(
                &mut nodes,
                &mut out,
                (&mut sent, &mut lot),
                &frames,
                &mut now,
            );
        }
        assert_eq!(allocations::of_this_thread() - before, 0, "{choice:?}");
    }
}
