//! One link with a VLAN for each port (IEEE 802.1Q): `nodes::vlan` in front of each port of our router, and the kernel's interfaces
//! of type `vlan`. Some frames have other numbers, priorities, two tags, or none.

use super::{
    MTUS, PLAIN, Sent, Setup, compare_frames, count_of_packets, packets, peer_mac, router,
    router_mac,
};
use live::netns::{Namespace, VethEnd, veth};
use live::port::{self, Options, Port};
use node::random::Random;
use node::{Frame, Node, Out, Time};
use nodes::vlan::{Config, Vlan};
use packet::arp::Arp;
use packet::ethernet::Mac;
use router::router::Router;

const VLAN: &str =
    "ip link add v0 type veth peer name v1 && ip link add link v0 name v2 type vlan id 10";
const VLANS: [u16; 3] = [10, 20, 4094];

/// Puts a tag on a frame: its type, and priority and number.
fn tag(frame: &[u8], kind: u16, number: u16) -> Vec<u8> {
    let mut tagged = frame[..12].to_vec();
    tagged.extend(kind.to_be_bytes());
    tagged.extend(number.to_be_bytes());
    tagged.extend(&frame[12..]);
    tagged
}

/// The port of a tagged frame that leaves, and the frame without its tag.
fn untag(frame: &[u8]) -> Option<(usize, Vec<u8>)> {
    if frame.get(12..14) != Some(&[0x81, 0]) {
        return None;
    }
    let number = u16::from_be_bytes([frame[14], frame[15]]);
    let port = VLANS.iter().position(|vlan| *vlan == number)?;
    let mut plain = frame[..12].to_vec();
    plain.extend(&frame[16..]);
    Some((port, plain))
}

/// A kernel whose ports are VLANs on one link.
struct Trunk {
    _namespaces: [Namespace; 2],
    port: Port,
    sentinels: u8,
}

impl Trunk {
    fn new() -> Trunk {
        let (kernel, outside) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        let end = |namespace, name, mac| VethEnd {
            namespace,
            name,
            mac: Some(mac),
        };
        let ends = [
            end(&kernel, "trunk", router_mac(0)),
            end(&outside, "n", peer_mac(0, 2)),
        ];
        veth(ends, 1500).unwrap();
        let mut before = String::new();
        for (port, vlan) in VLANS.iter().enumerate() {
            let mac = Mac(router_mac(port));
            before += &format!(
                "ip link add link trunk name k{port} type vlan id {vlan}; ip link set k{port} address {mac} up\n"
            );
        }
        // Untagged frames belong to no port: reverse path filtering drops their sources.
        before += "cd /proc/sys/net; echo 0 >ipv4/conf/trunk/forwarding; \
                   echo 1 >ipv4/conf/trunk/rp_filter; echo 1 >ipv4/conf/trunk/arp_ignore\n";
        // Interfaces that come later are no members of all groups of routers.
        before += "echo 0 >ipv6/conf/all/forwarding; echo 1 >ipv6/conf/all/forwarding";
        let setup = Setup {
            before: &before,
            ..PLAIN
        };
        setup.apply(&kernel);
        let open = || port::open(&"n".parse().unwrap(), &Options::default());
        Trunk {
            port: outside.enter(open).unwrap().expect("a port"),
            _namespaces: [kernel, outside],
            sentinels: 0,
        }
    }

    fn answers(&mut self, frame: &[u8]) -> Sent {
        self.sentinels = self.sentinels % 100 + 1;
        assert_eq!(self.port.tx.send(&[frame]).unwrap(), 1);
        let mut all = vec![Vec::new(); MTUS.len()];
        // The answer to the last question comes after all others, as they leave by one link.
        let sender = [10, 0, 0, 140 + self.sentinels];
        let mut last = Vec::new();
        Arp::request(Mac(peer_mac(0, 2)), sender.into(), [10, 0, 0, 1].into())
            .build_frame(&mut last);
        let last = tag(&last, 0x8100, VLANS[0]);
        assert_eq!(self.port.tx.send(&[&last]).unwrap(), 1);
        let mut ended = false;
        while !ended {
            let receive = &mut |packet: port::Received<'_>| {
                let Some((port, plain)) = untag(packet.bytes) else {
                    return;
                };
                ended |= plain.get(38..42) == Some(&sender) && plain[12..14] == [8, 6];
                if !super::is_own_business(&plain) && plain[12..14] != [8, 6] {
                    all[port].push(super::normal(&plain));
                }
            };
            let wait = std::time::Duration::from_millis(100);
            self.port.rx.receive(wait, receive).unwrap();
        }
        all
    }
}

/// The same through our nodes.
fn ours(vlans: &mut [Vlan], router: &mut Router, frame: &[u8]) -> (Sent, Vec<(&'static str, u64)>) {
    let mut all = vec![Vec::new(); MTUS.len()];
    let mut drops = Vec::new();
    let now = Time::from_secs(1);
    let pass = |node: &mut dyn Node, port: u16, frame: &[u8], drops: &mut Vec<_>| {
        let mut out = Out::default();
        node.frames(
            now,
            node::Port(port),
            &mut vec![Frame::new(frame)],
            &mut out,
        );
        drops.extend_from_slice(out.drops());
        out.sends()
            .map(|sent| (sent.port.0, sent.frame.to_vec()))
            .collect::<Vec<_>>()
    };
    for port in 0..VLANS.len() {
        for (_, plain) in pass(&mut vlans[port], 1, frame, &mut Vec::new()) {
            for (to, answer) in pass(router, port as u16, &plain, &mut drops) {
                if super::is_own_business(&answer) || answer[12..14] == [8, 6] {
                    continue;
                }
                for (_, tagged) in pass(&mut vlans[usize::from(to)], 0, &answer, &mut drops) {
                    let (port, plain) = untag(&tagged).expect("a tag of a port");
                    all[port].push(super::normal(&plain));
                }
            }
        }
    }
    (all, drops)
}

/// A frame as it is on the link of all ports.
fn on_trunk(random: &mut Random, port: usize, plain: &[u8]) -> Vec<u8> {
    let number = VLANS[port];
    match random.below(24) {
        0 => plain.to_vec(),
        1 => tag(plain, 0x8100, [11, 30, 4093][random.index(3)]),
        // Two tags, and one of a provider.
        2 => tag(&tag(plain, 0x8100, 5), 0x8100, number),
        3 => tag(plain, 0x88A8, number),
        4 => {
            let mut cut = tag(plain, 0x8100, number);
            cut.truncate(14 + random.index(6));
            cut
        }
        _ => tag(plain, 0x8100, number | (random.bits() as u16 & 0xF000)),
    }
}

fn compare(seed: u64, make: fn(&mut Random, usize) -> Vec<u8>) {
    if !Setup::is_possible("VLANs", VLAN) {
        return;
    }
    let mut kernel = Trunk::new();
    let mut router = router();
    let mut vlans: Vec<Vlan> = VLANS
        .iter()
        .map(|vlan| {
            let config = Config {
                vlan: *vlan,
                ..Config::default()
            };
            Vlan::new(config).expect("a VLAN")
        })
        .collect();
    // Both sides get the same random tags.
    let mut tags = [Random::new(seed), Random::new(seed)];
    let [first, second] = &mut tags;
    compare_frames(
        (seed, count_of_packets()),
        make,
        &mut |port, frame| kernel.answers(&on_trunk(first, port, frame)),
        &mut |port, frame| ours(&mut vlans, &mut router, &on_trunk(second, port, frame)),
    );
}

#[test]
fn random_packets_of_ipv4_are_forwarded_between_vlans_as_by_linux() {
    compare(21, packets::v4);
}

#[test]
fn random_packets_of_ipv6_are_forwarded_between_vlans_as_by_linux() {
    compare(22, packets::v6);
}
