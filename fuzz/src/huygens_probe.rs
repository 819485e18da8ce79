//! Coded probes: what is read of one writes back the same, and a clock stands any of them.

use node::{Frame, Node, Out, Port, Time};
use packet::huygens::{LENGTH, PORT, Probe};

pub fn target(data: &[u8]) {
    if let Ok(probe) = Probe::parse(data) {
        let mut written = Vec::new();
        probe.build(&mut written);
        assert_eq!(Probe::parse(&written), Ok(probe));
        assert_eq!(written.len(), LENGTH);
    }
    // A client whose server says this, and a server that is asked so, in every frame and several times.
    let own = "198.18.0.1".parse().unwrap();
    let other = "198.18.0.2".parse().unwrap();
    for server in [None, Some(other)] {
        let config = nodes::huygens::Config {
            server,
            window: Time::from_ms(5),
            ..Default::default()
        };
        let mac = config.mac;
        let mut clock = nodes::huygens::Huygens::new(config).unwrap();
        let mut out = Out::default();
        let mut bytes = Vec::new();
        let ethernet = packet::ethernet::Ethernet {
            destination: mac,
            source: packet::ethernet::Mac([2, 0, 0, 0, 0, 9]),
            tags: &[],
            ethertype: packet::ethernet::ethertype::IPV4,
        };
        let ip = packet::ipv4::Ipv4::new(other, own, packet::ipv4::protocol::UDP);
        let udp = packet::udp::Udp {
            source_port: PORT,
            destination_port: PORT,
        };
        ethernet.build(&mut bytes, |out| {
            ip.build(out, |out| {
                udp.build(ip.pseudo(), out, |out| out.extend(data))
            });
        });
        for ms in 0..20 {
            let now = Time::from_ms(ms);
            clock.wake(now, &mut out);
            clock.frames(now, Port(0), &mut vec![Frame::new(&bytes)], &mut out);
            out.sends().for_each(drop);
        }
        clock.statistics();
    }
}
