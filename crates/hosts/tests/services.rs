//! A service that brings a host its address and its default route, as a DHCP client does.

use hosts::host::{self, with_services};
use hosts::program::{self, ping};
use ip::discovery;
use ip::header::{self, UDP};
use ip::service::{Change, Link, ROUTED, Service};
use node::{Frame, Out, Port, Time};

/// Sets an address after one second, and says so to 192.0.2.1.
#[derive(Debug, Default)]
struct Late {
    changes: Vec<Change>,
    done: bool,
}

impl Service for Late {
    fn handle_frame(&mut self, _: Time, _: &Link<'_>, frame: Frame, _: &mut Out) -> Option<Frame> {
        Some(frame)
    }

    fn wake(&mut self, now: Time, links: &[Link<'_>], out: &mut Out) {
        if self.done || now < Time::from_secs(1) {
            return;
        }
        self.done = true;
        let port = links[0].port;
        self.changes = vec![
            Change::Route {
                to: any(),
                via: Some([10, 0, 0, 1].into()),
                port,
                present: true,
            },
            Change::Address {
                port,
                network: "10.0.0.7/24".parse().expect("an address"),
                present: true,
            },
        ];
        let mut frame = out.frame();
        frame.resize(14 + 20 + 8 + 4);
        header::write(&mut frame, [0; 4].into(), [192, 0, 2, 1].into(), UDP);
        header::write_udp(&mut frame, ([0; 4].into(), 68), ([192, 0, 2, 1].into(), 67));
        out.send(ROUTED, frame);
    }

    fn next_wake(&self) -> Option<Time> {
        (!self.done).then_some(Time::from_secs(1))
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.changes.pop()
    }
}

fn any() -> ip::address::InterfaceAddress {
    ip::address::InterfaceAddress {
        address: [0; 4].into(),
        prefix: 0,
    }
}

#[test]
fn a_host_without_an_address_gets_one_from_its_service_and_its_programs_use_it() {
    let ping = program::Config::Ping(ping::Config {
        to: "192.0.2.9".parse().expect("an address"),
        count: Some(1),
        interval: Time::from_secs(1),
        size: 56,
        start: Time::from_secs(2),
        timeout: Time::from_secs(1),
    });
    let make = |services: Vec<Box<dyn Service>>| {
        with_services(host::Config::default(), vec![ping.clone()], services, 1)
    };
    assert!(make(Vec::new()).is_err(), "a host without an address");
    let mut host = make(vec![Box::new(Late::default())]).expect("a host");
    let mut out = Out::default();
    let mut sent = Vec::new();
    let mut now = Time::ZERO;
    while now < Time::from_secs(4) {
        let Some(next) = host.next_wake() else { break };
        now = next.max(now);
        host.wake(now, &mut out);
        let frames: Vec<Frame> = out.sends().map(|departure| departure.frame).collect();
        for mut frame in frames {
            let Some(arp) = discovery::read_arp(&frame) else {
                sent.push((now, header::read(&frame).expect("a packet")));
                continue;
            };
            assert_eq!(arp.sender.octets(), [10, 0, 0, 7]);
            assert_eq!(arp.target.octets(), [10, 0, 0, 1]);
            discovery::answer_arp(&mut frame, &arp, [2, 0, 0, 0, 0, 1]);
            host.frames(now, Port(0), &mut vec![frame], &mut out);
        }
        for departure in out.sends() {
            sent.push((now, header::read(&departure.frame).expect("a packet")));
        }
    }
    let ends = |index: usize| (sent[index].1.source, sent[index].1.destination);
    assert_eq!(sent[0].0, Time::from_secs(1));
    assert_eq!(ends(0), ([10, 0, 0, 7].into(), [192, 0, 2, 1].into()));
    assert_eq!(ends(1), ([10, 0, 0, 7].into(), [192, 0, 2, 9].into()));
}
