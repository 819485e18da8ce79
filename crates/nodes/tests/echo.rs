use crate::hand::Hand;
use node::{Node, Out, Time};
use nodes::echo::{Config, Echo, Swap};
use nodes::generator::{self, Generator};
use packet::ethernet::Mac;

/// A UDP frame from the generator, over IPv4 or IPv6.
fn datagram(ends: [&str; 2], ports: [u16; 2], macs: [[u8; 6]; 2]) -> Vec<u8> {
    let config = generator::Config {
        source: Mac(macs[0]),
        destination: Mac(macs[1]),
        ip_source: ends[0].parse().unwrap(),
        ip_destination: ends[1].parse().unwrap(),
        udp_source: ports[0],
        udp_destination: ports[1],
        size: generator::Sizes::One(100),
        vlan: Some(5),
        probe: false,
        ..Default::default()
    };
    let mut generator = Generator::new(config).unwrap();
    let mut out = Out::default();
    generator.wake(Time::ZERO, &mut out);
    let first = out.sends().next();
    first.unwrap().frame.to_vec()
}

const A: [u8; 6] = [2, 0, 0, 0, 0, 0xA];
const B: [u8; 6] = [2, 0, 0, 0, 0, 0xB];

fn echoed(swap: Swap, frame: &[u8]) -> Vec<u8> {
    let mut echo = Hand::new(Echo::new(Config { swap, ports: 1 }).unwrap());
    let sent = echo.frame(0, frame);
    assert_eq!((sent.len(), sent[0].0), (1, 0));
    sent.into_iter().next().unwrap().2
}

#[test]
fn swapping_everything_gives_the_frame_that_the_other_end_would_send() {
    for ends in [["10.0.0.1", "10.0.0.2"], ["fd00::1", "fd00::2"]] {
        let there = datagram(ends, [1024, 53], [A, B]);
        let back = datagram([ends[1], ends[0]], [53, 1024], [B, A]);
        // Checksums too: sums do not mind the order.
        assert_eq!(echoed(Swap::Transport, &there), back);
    }
}

#[test]
fn each_layer_is_swapped_only_if_asked() {
    let ends = ["10.0.0.1", "10.0.0.2"];
    let there = datagram(ends, [1024, 53], [A, B]);
    assert_eq!(echoed(Swap::Nothing, &there), there);
    assert_eq!(
        echoed(Swap::Ethernet, &there),
        datagram(ends, [1024, 53], [B, A])
    );
    let ip = datagram([ends[1], ends[0]], [1024, 53], [B, A]);
    assert_eq!(echoed(Swap::Ip, &there), ip);
}

#[test]
fn a_frame_that_is_cut_short_is_swapped_as_far_as_it_goes() {
    let there = datagram(["10.0.0.1", "10.0.0.2"], [1024, 53], [A, B]);
    for len in 14..there.len() {
        let back = echoed(Swap::Transport, &there[..len]);
        assert_eq!(
            (back.len(), &back[..6], &back[6..12]),
            (len, &A[..], &B[..])
        );
    }
    let mut echo = Hand::new(Echo::new(Config::default()).unwrap());
    assert_eq!(echo.ports(0, &[0; 13]), []);
    assert_eq!(echo.drops("shorter than an Ethernet header"), 1);
}
