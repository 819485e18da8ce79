//! TCP connections through a relay that splits them.

use crate::cast::{counter, link};
use hosts::host::{self, make};
use hosts::program::{Config as Program, bulk, http, sink};
use measure::distribution::Distribution;
use node::{Channel, Flow, Graph, NodeId, Outcome, Probability, QueueLimit, Time};
use relay::split::{Config, Split};

fn host(graph: &mut Graph, number: u8, programs: Vec<Program>) -> NodeId {
    host_with(graph, number, programs, false)
}

fn host_with(graph: &mut Graph, number: u8, programs: Vec<Program>, timestamps: bool) -> NodeId {
    let config = host::Config {
        address: vec![
            format!("10.0.0.{number}/24").parse().unwrap(),
            format!("fd00::{number}/64").parse().unwrap(),
        ],
        timestamps,
        ..host::Config::default()
    };
    let made = make(config, programs, number.into()).unwrap();
    graph.add(format!("h{number}"), made)
}

fn bulk(to: &str, bytes: u64, count: u64) -> bulk::Config {
    bulk::Config {
        bytes: Some(Distribution::Constant(bytes)),
        count: Some(count),
        buffer: 1 << 20,
        ..bulk::Config::new(to.parse().unwrap())
    }
}

fn sink() -> Program {
    Program::Sink(sink::Config::default())
}

fn always() -> Config {
    Config {
        bound: Time::ZERO,
        ..Config::default()
    }
}

/// A host, the relay, and another host.
fn between(
    programs: [Vec<Program>; 2],
    config: Config,
    links: [Channel; 2],
    seconds: u64,
) -> (Outcome, NodeId) {
    let mut graph = Graph::default();
    let [first, second] = programs;
    let a = host(&mut graph, 1, first);
    let b = host(&mut graph, 2, second);
    let split = graph.add("split", Box::new(Split::new(config).unwrap()));
    let [near, far] = links;
    graph.connect((a, 0), (split, 0), near);
    graph.connect((split, 1), (b, 0), far);
    let until = Some(Time::from_secs(seconds));
    let options = sim::Options {
        seed: 4,
        until,
        ..sim::Options::default()
    };
    (sim::run(graph, options).unwrap(), split)
}

fn flows<'a>(outcome: &'a Outcome, node: usize, program: &str) -> Vec<&'a Flow> {
    let flows = outcome.nodes[node].flows.iter();
    flows.filter(|flow| flow.program == program).collect()
}

fn delay(channel: Channel, ms: u64) -> Channel {
    Channel {
        delay: Time::from_ms(ms),
        ..channel
    }
}

fn lossy(channel: Channel, loss: f64) -> Channel {
    Channel {
        loss: Probability::new(loss).unwrap(),
        ..channel
    }
}

#[test]
fn every_byte_arrives_whatever_is_lost_on_either_half() {
    for to in ["10.0.0.2", "fd00::2"] {
        let programs = [vec![Program::Bulk(bulk(to, 1_000_000, 3))], vec![sink()]];
        let links = [lossy(link(100), 0.02), lossy(delay(link(20), 5), 0.02)];
        let (outcome, split) = between(programs, always(), links, 300);
        let came = flows(&outcome, 1, "sink");
        assert_eq!(came.len(), 3);
        assert!(
            came.iter().all(|flow| flow.bytes == 1_000_000 && flow.done),
            "{came:?}"
        );
        assert!(flows(&outcome, 0, "bulk").iter().all(|flow| flow.done));
        assert_eq!(counter(&outcome, split, "split"), 3);
        assert_eq!(counter(&outcome, split, "forth"), 3_000_000);
        // Nothing is left once closed ports have rested.
        assert_eq!(counter(&outcome, split, "open"), 0);
        assert_eq!(counter(&outcome, split, "reset"), 0);
    }
}

#[test]
fn a_long_way_with_a_lossy_hop_at_its_end_carries_more() {
    let run = |config| {
        let programs = [
            vec![Program::Bulk(bulk("10.0.0.2", 1 << 40, 1))],
            vec![sink()],
        ];
        let links = [delay(link(20), 45), lossy(delay(link(20), 2), 0.01)];
        let (outcome, split) = between(programs, config, links, 30);
        (
            flows(&outcome, 1, "sink")[0].goodput(),
            counter(&outcome, split, "split"),
        )
    };
    let (apart, one) = run(always());
    let (whole, none) = run(Config {
        bound: Time::from_secs(100),
        ..Config::default()
    });
    assert_eq!((one, none), (1, 0));
    assert!(apart > 4.0 * whole, "{apart} and {whole}");
}

#[test]
fn questions_and_answers_go_both_ways() {
    let ask = http::Config {
        count: Some(20),
        users: 2,
        size: Some(Distribution::Constant(50_000)),
        buffer: 65_536,
        ..http::Config::new("10.0.0.2".parse().unwrap())
    };
    let programs = [
        vec![Program::Http(ask)],
        vec![Program::HttpServer(http::ServerConfig::default())],
    ];
    let (outcome, split) = between(programs, always(), [link(100), delay(link(20), 5)], 60);
    let answered: u64 = outcome.nodes[0].flows.iter().map(|flow| flow.bytes).sum();
    assert!(answered >= 20 * 50_000, "{:?}", outcome.nodes[0].flows);
    assert_eq!(counter(&outcome, split, "split"), 2);
    assert!(counter(&outcome, split, "back") > 1_000_000);
    assert!(counter(&outcome, split, "forth") > 100);
}

#[test]
fn who_is_refused_by_the_far_end_is_told() {
    let programs = [
        vec![Program::Bulk(bulk("10.0.0.2:99", 1_000, 1))],
        vec![sink()],
    ];
    let (outcome, split) = between(programs, always(), [link(100), link(20)], 30);
    assert!(counter(&outcome, split, "refused") >= 1);
    assert_eq!(counter(&outcome, split, "open"), 0);
    let tried = flows(&outcome, 0, "bulk");
    assert!(tried.iter().all(|flow| flow.bytes == 0), "{tried:?}");
}

#[test]
fn what_one_end_does_not_take_the_other_is_not_asked_for() {
    // The far half is a hundred times slower.
    let programs = [
        vec![Program::Bulk(bulk("10.0.0.2", 1 << 40, 1))],
        vec![sink()],
    ];
    let config = Config {
        buffer: 65_536,
        ..always()
    };
    let (outcome, _) = between(programs, config, [link(100), link(1)], 20);
    let sent = flows(&outcome, 0, "bulk")[0].bytes;
    let came = flows(&outcome, 1, "sink")[0].bytes;
    assert!(came > 2_000_000, "{came}");
    // One buffer that receives and one that sends.
    assert!(sent - came <= 2 * 65_536, "{sent} and {came}");
}

#[test]
fn a_connection_keeps_the_way_that_it_began_with() {
    // One flow fills the queue of 100 kB; those that begin later find it long, and are split.
    let late = bulk::Config {
        start: Time::from_secs(5),
        ..bulk("10.0.0.2", 100_000, 2)
    };
    let programs = [
        vec![
            Program::Bulk(bulk("10.0.0.2", 1 << 40, 1)),
            Program::Bulk(late),
        ],
        vec![sink()],
    ];
    let narrow = Channel {
        queue: QueueLimit::Bytes(200_000),
        ..delay(link(10), 5)
    };
    let config = Config {
        bound: Time::from_ms(20),
        ..Config::default()
    };
    let (outcome, split) = between(programs, config, [link(100), narrow], 20);
    assert_eq!(counter(&outcome, split, "unsplit"), 1);
    assert_eq!(counter(&outcome, split, "split"), 2);
    assert_eq!(counter(&outcome, split, "forth"), 200_000);
    let came = flows(&outcome, 1, "sink");
    assert!(came.iter().all(|flow| flow.bytes >= 100_000), "{came:?}");
}

#[test]
fn more_connections_than_there_is_room_for_pass_untouched() {
    let many = bulk::Config {
        flows: Some(10),
        ..bulk("10.0.0.2", 200_000, 10)
    };
    let config = Config {
        connections: 4,
        ..always()
    };
    let programs = [vec![Program::Bulk(many)], vec![sink()]];
    let (outcome, split) = between(programs, config, [link(100), delay(link(20), 5)], 60);
    let came = flows(&outcome, 1, "sink");
    assert_eq!(came.len(), 10);
    assert!(came.iter().all(|flow| flow.bytes == 200_000 && flow.done));
    assert_eq!(counter(&outcome, split, "split"), 4);
    assert_eq!(counter(&outcome, split, "no_room"), 6);
}

#[test]
fn an_end_that_is_gone_is_given_up_and_the_other_told() {
    let gone = Channel {
        down: vec![[Time::from_secs(2), Time::from_secs(900)]],
        ..link(20)
    };
    let config = Config {
        timeout: Time::from_secs(5),
        ..always()
    };
    let programs = [
        vec![Program::Bulk(bulk("10.0.0.2", 1 << 40, 1))],
        vec![sink()],
    ];
    let (outcome, split) = between(programs, config, [link(100), gone], 60);
    assert_eq!(counter(&outcome, split, "reset"), 1);
    assert_eq!(counter(&outcome, split, "open"), 0);
}

#[test]
fn a_configuration_that_cannot_be_is_refused_with_its_key() {
    let wrong = |config: Config| Split::new(config).err().unwrap().key;
    let base = Config::default;
    assert_eq!(
        wrong(Config {
            connections: 1 << 20,
            ..base()
        }),
        "connections"
    );
    assert_eq!(
        wrong(Config {
            buffer: 100,
            ..base()
        }),
        "buffer"
    );
    assert_eq!(wrong(Config { mtu: 576, ..base() }), "mtu");
}

/// A router between two ports that carries packets of at most 1,000 or 1,400 bytes by port 1, and says so to who sends longer ones.
struct Narrow {
    told: u64,
}

impl node::Node for Narrow {
    fn properties(&self) -> node::Properties {
        node::Properties::of(2)
    }

    fn frames(
        &mut self,
        _: Time,
        port: node::Port,
        frames: &mut Vec<node::Frame>,
        out: &mut node::Out,
    ) {
        for frame in frames.drain(..) {
            self.carry(port, frame, out);
        }
    }
}

impl Narrow {
    fn carry(&mut self, port: node::Port, frame: node::Frame, out: &mut node::Out) {
        let is_v4 = frame[14] >> 4 == 4;
        let (header, most) = if is_v4 { (20, 1_000) } else { (40, 1_400) };
        let long = frame.len() - 14 > most && port.0 == 0;
        if !long || frame[12] == 0x08 && frame[13] == 0x06 {
            return out.send(node::Port(1 - port.0), frame);
        }
        self.told += 1;
        let quoted = &frame[14..14 + header + 8];
        let mut icmp = match is_v4 {
            true => vec![3, 4, 0, 0, 0, 0, 0x03, 0xE8],
            false => vec![2, 0, 0, 0, 0, 0, 0x05, 0x78],
        };
        icmp.extend_from_slice(quoted);
        let mut error = vec![0; 14 + header];
        error[..6].copy_from_slice(&frame[6..12]);
        error[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 99]);
        error[12..14].copy_from_slice(&frame[12..14]);
        let length = icmp.len() as u16;
        let (sum, at) = match is_v4 {
            true => {
                error[14] = 0x45;
                error[16..18].copy_from_slice(&(20 + length).to_be_bytes());
                (error[22], error[23]) = (64, 1);
                error[26..30].copy_from_slice(&[10, 9, 9, 9]);
                error[30..34].copy_from_slice(&frame[26..30]);
                let sum = packet::checksum::checksum(&error[14..34]);
                error[24..26].copy_from_slice(&sum.to_be_bytes());
                (packet::checksum::checksum(&icmp), 2)
            }
            false => {
                error[14] = 0x60;
                error[18..20].copy_from_slice(&length.to_be_bytes());
                (error[20], error[21]) = (58, 64);
                let router: [u8; 16] = std::array::from_fn(|at| frame[22 + at]);
                let to: [u8; 16] = std::array::from_fn(|at| frame[22 + at]);
                error[22..38].copy_from_slice(&router);
                error[38..54].copy_from_slice(&to);
                let pseudo = packet::checksum::Pseudo::ipv6(router, to, 58);
                (pseudo.sum(icmp.len()).plus(&icmp).checksum(), 2)
            }
        };
        icmp[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        error.extend_from_slice(&icmp);
        out.done(frame);
        out.send(port, node::Frame::new(&error));
    }
}

#[test]
fn segments_that_are_too_long_for_the_way_are_sent_again_in_pieces() {
    for to in ["10.0.0.2", "fd00::2"] {
        let mut graph = Graph::default();
        let programs = vec![Program::Bulk(bulk(to, 1_000_000, 2))];
        let a = host(&mut graph, 1, programs);
        let b = host(&mut graph, 2, vec![sink()]);
        let split = graph.add("split", Box::new(Split::new(always()).unwrap()));
        let narrow = graph.add("narrow", Box::new(Narrow { told: 0 }));
        graph.connect((a, 0), (split, 0), link(100));
        graph.connect((split, 1), (narrow, 0), lossy(delay(link(50), 3), 0.01));
        graph.connect((narrow, 1), (b, 0), lossy(link(50), 0.01));
        let options = sim::Options {
            seed: 4,
            until: Some(Time::from_secs(200)),
            ..sim::Options::default()
        };
        let outcome = sim::run(graph, options).unwrap();
        let came = flows(&outcome, 1, "sink");
        assert_eq!(came.len(), 2);
        assert!(
            came.iter().all(|flow| flow.bytes == 1_000_000 && flow.done),
            "{came:?}"
        );
        // Once for each connection, or when what was said was lost.
        let shortened = counter(&outcome, split, "shortened");
        assert!((2..=4).contains(&shortened), "{shortened}");
        assert_eq!(counter(&outcome, split, "reset"), 0);
    }
}

/// Sees segments pass: how many there are, and what stamps they have.
#[derive(Default)]
struct Watch {
    segments: u64,
    stamped: u64,
    longest: u64,
    /// Segments that do not fit what passed the other way before: an echo that nobody has sent.
    strange: u64,
    shown: [Vec<u32>; 2],
}

impl node::Node for Watch {
    fn properties(&self) -> node::Properties {
        node::Properties::of(2)
    }

    fn frames(
        &mut self,
        _: Time,
        port: node::Port,
        frames: &mut Vec<node::Frame>,
        out: &mut node::Out,
    ) {
        for frame in frames.drain(..) {
            let ip = packet::ipv4::Ipv4View::new(&frame[14..]);
            if let Ok(tcp) = ip.and_then(|ip| packet::tcp::TcpView::new(ip.payload())) {
                self.segments += 1;
                self.longest = self.longest.max(frame.len() as u64 - 14);
                for option in tcp.options() {
                    if let packet::tcp::TcpOption::Timestamps(own, echo) = option {
                        self.stamped += 1;
                        self.shown[port.index()].push(own);
                        let first = tcp.flags() & packet::tcp::flag::ACK == 0;
                        let known = self.shown[1 - port.index()].contains(&echo);
                        self.strange += u64::from(known == first);
                    }
                }
            }
            out.send(node::Port(1 - port.0), frame);
        }
    }

    fn statistics(&self) -> node::Statistics {
        node::Statistics::from([
            ("segments", self.segments),
            ("stamped", self.stamped),
            ("longest", self.longest),
            ("strange", self.strange),
        ])
    }
}

#[test]
fn each_half_has_timestamps_if_both_its_ends_offer_them() {
    for (near, far) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut graph = Graph::default();
        let programs = vec![Program::Bulk(bulk("10.0.0.2", 300_000, 2))];
        let a = host_with(&mut graph, 1, programs, near);
        let b = host_with(&mut graph, 2, vec![sink()], far);
        let split = graph.add("split", Box::new(Split::new(always()).unwrap()));
        let watch: [NodeId; 2] =
            ["one", "other"].map(|name| graph.add(name, Box::new(Watch::default())));
        graph.connect((a, 0), (watch[0], 0), link(100));
        graph.connect((watch[0], 1), (split, 0), lossy(delay(link(100), 2), 0.02));
        graph.connect((split, 1), (watch[1], 0), lossy(delay(link(50), 3), 0.02));
        graph.connect((watch[1], 1), (b, 0), link(50));
        let options = sim::Options {
            seed: 4,
            until: Some(Time::from_secs(200)),
            ..sim::Options::default()
        };
        let outcome = sim::run(graph, options).unwrap();
        let came = flows(&outcome, 1, "sink");
        assert!(came.iter().all(|flow| flow.bytes == 300_000 && flow.done));
        assert_eq!(came.len(), 2);
        // The far half has them only if the near end knows them, for it takes that end's place.
        for (watch, stamped) in watch.into_iter().zip([near, near && far]) {
            let count = |name| counter(&outcome, watch, name);
            match stamped {
                true => assert_eq!(count("stamped"), count("segments")),
                // First segments that offer them, and perhaps are sent again.
                false => assert!(count("stamped") <= u64::from(near) * 4),
            }
            assert!(count("segments") > 400);
            assert_eq!((count("longest"), count("strange")), (1500, 0));
        }
    }
}

#[test]
fn a_segment_of_before_is_dropped_by_its_timestamp_and_its_sender_told() {
    // A connection between the two ends of which this test is one, whose other one is a host.
    use node::{Frame, Out, Port};
    let config = host::Config {
        address: vec!["10.0.0.2/24".parse().unwrap()],
        timestamps: true,
        ..host::Config::default()
    };
    let mut host = make(config, vec![sink()], 7).unwrap();
    let mut out = Out::default();
    let mut step = |ms: u64, frame: Vec<u8>| -> Vec<Vec<u8>> {
        let now = Time::from_ms(ms);
        host.frames(now, Port(0), &mut vec![Frame::new(&frame)], &mut out);
        // What may be delayed is said.
        host.wake(now + Time::from_ms(50), &mut out);
        let sent = out.sends().map(|sent| sent.frame.to_vec());
        sent.filter(|frame| frame[12..14] == [8, 0]).collect()
    };
    let segment = |flags: u8, sequence: u32, ack: u32, shown: u32, payload: &[u8]| {
        use packet::tcp::{Tcp, TcpOption};
        let options = [TcpOption::Timestamps(shown, 0)];
        let tcp = Tcp {
            source_port: 4000,
            destination_port: 5001,
            sequence,
            acknowledgement: ack,
            flags,
            window: 60_000,
            urgent: 0,
            options: &options,
        };
        let mut frame = vec![2, 0, 0x0A, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        packet::ipv4::Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 6).build(
            &mut frame,
            |out| {
                let pseudo = packet::checksum::Pseudo::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 6);
                tcp.build(pseudo, out, |out| out.extend_from_slice(payload));
            },
        );
        frame
    };
    let arp = {
        let mut frame = vec![2, 0, 0x0A, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 6];
        frame.extend([0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1]);
        frame.extend([0, 0, 0, 0, 0, 0, 10, 0, 0, 2]);
        frame
    };
    step(0, arp);
    let read = |frame: &[u8]| {
        let tcp = packet::tcp::TcpView::new(&frame[34..]).unwrap();
        let stamps = tcp.options().find_map(|option| match option {
            packet::tcp::TcpOption::Timestamps(own, echo) => Some((own, echo)),
            _ => None,
        });
        (tcp.sequence(), tcp.acknowledgement(), stamps)
    };
    let opened = step(10, segment(2, 99, 0, 1_000, b""));
    let (number, 100, Some((_, 1_000))) = read(&opened[0]) else {
        panic!("{:?}", read(&opened[0]))
    };
    let ack = number.wrapping_add(1);
    assert_eq!(step(20, segment(16, 100, ack, 1_010, b"")), [[0u8; 0]; 0]);
    let taken = step(30, segment(16, 100, ack, 1_020, b"12345678"));
    assert_eq!(taken.len(), 1);
    let (_, 108, Some((clock, 1_020))) = read(&taken[0]) else {
        panic!("{:?}", read(&taken[0]))
    };
    // A late one of an earlier connection, whose numbers fit.
    let told = step(500, segment(16, 108, ack, 900, b"XXXX"));
    assert_eq!(told.len(), 1);
    assert_eq!(read(&told[0]), (ack, 108, Some((clock + 470, 1_020))));
    let good = step(600, segment(16, 108, ack, 1_600, b"9"));
    assert_eq!(read(&good[0]).1, 109);
    let drops = out.drops().to_vec();
    assert_eq!(drops, [("old segment", 1)]);
}

#[test]
fn an_error_about_a_first_segment_gets_the_number_that_its_sender_knows() {
    use node::{Frame, Node, Out, Port};
    let mut split = Split::new(always()).unwrap();
    let mut step = |port: u16, frame: &[u8]| -> Vec<(u16, Vec<u8>)> {
        let mut out = Out::default();
        split.frames(
            Time::ZERO,
            Port(port),
            &mut vec![Frame::new(frame)],
            &mut out,
        );
        let sent = out.sends().map(|sent| (sent.port.0, sent.frame.to_vec()));
        sent.collect()
    };
    // A first segment with the number 0x01020304 opens one with another number.
    let mut syn = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
    let mut ip = vec![
        0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    let sum = packet::checksum::checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut tcp = vec![
        0x12, 0x34, 0, 80, 1, 2, 3, 4, 0, 0, 0, 0, 0x50, 2, 0xFF, 0xFF, 0, 0, 0, 0,
    ];
    let pseudo = packet::checksum::Pseudo::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 6);
    let sum = pseudo.sum(20).plus(&tcp).checksum();
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    syn.extend(ip.iter().chain(&tcp));
    let sent = step(0, &syn);
    let (port, opening) = &sent[0];
    assert_eq!((*port, sent.len()), (1, 1));
    assert_ne!(opening[38..42], [1, 2, 3, 4]);
    let error = |code: u8, quoted: &[u8]| {
        let mut icmp = vec![3, code, 0, 0, 0, 0, 0, 0];
        icmp.extend_from_slice(&quoted[14..42]);
        let sum = packet::checksum::checksum(&icmp);
        icmp[2..4].copy_from_slice(&sum.to_be_bytes());
        let mut frame = syn[..34].to_vec();
        frame[16..18].copy_from_slice(&56u16.to_be_bytes());
        (frame[23], frame[24], frame[25]) = (1, 0, 0);
        frame[26..34].copy_from_slice(&[10, 9, 9, 9, 10, 0, 0, 1]);
        let sum = packet::checksum::checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend(icmp);
        frame
    };
    // Host unreachable: the near end learns it of its own segment, with a right checksum.
    let sent = step(1, &error(1, opening));
    let (port, told) = &sent[0];
    assert_eq!((*port, &told[62 + 4..62 + 8]), (0, &[1, 2, 3, 4][..]));
    assert_eq!(packet::checksum::checksum(&told[34..]), 0);
    // An error about a connection of somebody else passes as it is.
    let mut other = opening.clone();
    other[35] = 0x99;
    let passed = error(1, &other);
    assert_eq!(step(1, &passed), [(0, passed.clone())]);
    // One of a segment that is too long, of which there is none: it ends here.
    assert_eq!(step(1, &error(4, opening)), []);
}
