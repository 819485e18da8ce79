//! Ports on veth pairs between namespaces that these tests make. Without the rights to make them each
//! test says that it was skipped.

mod links;

use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::calibrate::{self, CalibrateError};
use live::port::{self, Method, Options, Port, PortError};
use packet::ipv4::Ipv4;
use packet::tcp::{Tcp, TcpOption};
use std::time::Duration;

/// Longer than any machine pauses. Only what fails waits for so long.
const WAIT: Duration = Duration::from_secs(60);

/// Two namespaces with a veth pair: `a` in the first, `b` in the second.
struct Pair {
    a: Namespace,
    b: Namespace,
}

/// A pair, or `None` and a word on why.
fn pair(mtu: u32) -> Option<Pair> {
    match make_pair(mtu) {
        Ok(pair) => Some(pair),
        Err(NetnsError::Permission { doing }) => {
            println!("skipped: {doing} is not allowed here");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn make_pair(mtu: u32) -> Result<Pair, NetnsError> {
    let (a, b) = (Namespace::new()?, Namespace::new()?);
    let end = |namespace, name| VethEnd {
        namespace,
        name,
        mac: None,
    };
    veth([end(&a, "a"), end(&b, "b")], mtu)?;
    Ok(Pair { a, b })
}

impl Pair {
    fn open(&self) -> (Port, Port) {
        self.open_by(true)
    }

    /// By messages, or by a ring.
    fn open_by(&self, ring: bool) -> (Port, Port) {
        self.open_with(&Options {
            ring,
            ..Options::default()
        })
    }

    fn open_with(&self, options: &Options) -> (Port, Port) {
        let open = |namespace: &Namespace, name: &str| {
            namespace
                .enter(|| port::open(&name.parse().unwrap(), options))
                .unwrap()
                .unwrap()
        };
        (open(&self.a, "a"), open(&self.b, "b"))
    }
}

fn frame(n: u16) -> Vec<u8> {
    let mut frame = b"\x02\0\0\0\0\x0b\x02\0\0\0\0\x0a\x88\xb5".to_vec();
    frame.extend(n.to_be_bytes());
    frame.resize(60 + usize::from(n % 1000), n as u8);
    frame
}

/// Receives until there are `count` frames, or nothing comes any more.
fn receive(port: &mut Port, count: usize) -> Vec<(u64, Vec<u8>)> {
    let mut frames = Vec::new();
    while frames.len() < count {
        let got = port
            .rx
            .receive(WAIT, &mut |packet| {
                frames.push((packet.at_ns, packet.bytes.to_vec()));
            })
            .unwrap();
        if got == 0 {
            break;
        }
    }
    frames
}

#[test]
fn what_goes_in_at_one_end_comes_out_at_the_other_in_order_and_stamped() {
    for ring in [false, true] {
        let Some(pair) = pair(1500) else { return };
        let (mut a, mut b) = pair.open_by(ring);
        let frames: Vec<_> = (0..200).map(frame).collect();
        let slices: Vec<_> = frames.iter().map(|f| &f[..]).collect();
        let before = ::capture::clock::now_ns();
        assert_eq!(a.tx.send(&slices).unwrap(), 200);
        let got = receive(&mut b, 200);
        let after = ::capture::clock::now_ns();
        assert!(got.iter().map(|(_, bytes)| bytes).eq(&frames));
        assert!(got.is_sorted_by_key(|(at, _)| *at));
        // The offset between the clocks is read to within some 100 ns.
        assert!(
            got.iter()
                .all(|(at, _)| *at + 1000 >= before && *at <= after)
        );
        assert_eq!(b.rx.counters().received, 200);
        assert_eq!(a.tx.counters().sent, 200);
    }
}

#[test]
fn frames_sent_together_cross_in_one_buffer_and_come_out_as_they_went_in() {
    let Some(pair) = pair(16_000) else { return };
    let (mut a, mut b) = pair.open_with(&Options {
        aggregates: true,
        ..Options::default()
    });
    let (_, mut plain) = pair.open();
    let mut frames: Vec<_> = (0..100).map(frame).collect();
    // It begins as an aggregate does.
    frames.push(b"\0\0\0\0\0\0\0\0\0\0\0\0\x88\xb5 and is none".to_vec());
    let slices: Vec<_> = frames.iter().map(|f| &f[..]).collect();
    for (together, buffers) in [(true, 1), (false, 101)] {
        let sent = match together {
            true => a.tx.send_together(&slices),
            false => a.tx.send(&slices),
        };
        assert_eq!(sent.unwrap(), 101);
        let got = receive(&mut b, 101);
        assert!(got.iter().map(|(_, bytes)| bytes).eq(&frames));
        assert_eq!(receive(&mut plain, buffers).len(), buffers);
        assert_eq!(plain.rx.receive(Duration::ZERO, &mut |_| {}).unwrap(), 0);
    }
    assert_eq!((a.tx.counters().sent, b.rx.counters().received), (202, 202));
    assert_eq!((b.rx.counters().dropped, b.rx.counters().refused), (0, 0));
    // What is sent the other way comes out, too: each end does both.
    b.tx.send_together(&slices[..2]).unwrap();
    assert!(
        receive(&mut a, 2)
            .iter()
            .map(|(_, bytes)| bytes)
            .eq(&frames[..2])
    );
}

#[test]
fn tcp_segments_sent_together_cross_as_super_frames_and_come_out_as_they_went_in() {
    let Some(pair) = pair(1500) else { return };
    let (mut a, mut b) = pair.open_with(&Options {
        coalesces: true,
        ..Options::default()
    });
    // Frames that are not segments come before and after the segments.
    let mut frames: Vec<_> = (0..3).map(frame).collect();
    let mut sequence = u32::MAX - 99_999;
    let lengths = [1448; 100].into_iter().chain([700; 40]).chain(1..60);
    for (identification, length) in (65_500..=u16::MAX).chain(0..).zip(lengths) {
        frames.push(segment(identification, sequence, length));
        sequence = sequence.wrapping_add(length as u32);
    }
    frames.extend((3..6).map(frame));
    let slices: Vec<_> = frames.iter().map(|f| &f[..]).collect();
    // The receiver splits super-frames. Without segmentation offload the sending kernel segments them.
    for (offload, super_frames) in [("on", true), ("off", false)] {
        let mut ethtool = pair.a.command("ethtool");
        let set = ethtool.args(["-K", "a", "tso", offload, "gso", "on"]);
        let Ok(set) = set.output() else {
            println!("skipped in part: there is no ethtool");
            break;
        };
        assert!(set.status.success(), "{set:?}");
        let before = b.rx.counters().split;
        assert_eq!(a.tx.send_together(&slices).unwrap(), frames.len());
        let got = receive(&mut b, frames.len());
        for (index, ((_, got), sent)) in got.iter().zip(&frames).enumerate() {
            assert_eq!(got, sent, "frame {index}, offload {offload}");
        }
        assert_eq!(b.rx.counters().split > before, super_frames, "{offload}");
    }
    assert_eq!((b.rx.counters().dropped, b.rx.counters().refused), (0, 0));
}

/// A TCP segment.
fn segment(identification: u16, sequence: u32, length: usize) -> Vec<u8> {
    let ip = Ipv4 {
        identification,
        ..Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 6)
    };
    let tcp = Tcp {
        source_port: 80,
        destination_port: 258,
        sequence,
        acknowledgement: 5,
        flags: 0x10,
        window: 256,
        urgent: 0,
        options: &[TcpOption::Timestamps(7, 9)],
    };
    let mut frame = b"\x02\0\0\0\0\x0b\x02\0\0\0\0\x0a\x08\x00".to_vec();
    ip.build(&mut frame, |out| {
        tcp.build(ip.pseudo(), out, |out| {
            out.extend((0..length).map(|at| (at * 7) as u8 ^ identification as u8));
        });
    });
    frame
}

#[test]
fn what_is_lost_with_an_aggregate_is_counted_in_frames() {
    let Some(pair) = pair(16_000) else { return };
    let (mut a, mut b) = pair.open_with(&Options {
        aggregates: true,
        // Room for a few of them.
        buffer: 64 << 10,
        ..Options::default()
    });
    let frames: Vec<_> = (0..50).map(frame).collect();
    let slices: Vec<_> = frames.iter().map(|f| &f[..]).collect();
    for _ in 0..200 {
        assert_eq!(a.tx.send_together(&slices).unwrap(), 50);
    }
    while b.rx.receive(Duration::ZERO, &mut |_| {}).unwrap() > 0 {}
    // Behind what was lost comes one that tells so.
    assert_eq!(a.tx.send_together(&slices).unwrap(), 50);
    receive(&mut b, 50);
    let counters = b.rx.counters();
    assert!(counters.dropped > 0, "{counters:?}");
    assert_eq!(counters.received + counters.dropped, 201 * 50);
}

#[test]
fn what_this_machine_sends_is_not_received() {
    for ring in [false, true] {
        let Some(pair) = pair(1500) else { return };
        let (mut a, mut b) = pair.open_by(ring);
        a.tx.send(&[&frame(1)]).unwrap();
        b.tx.send(&[&frame(2)]).unwrap();
        assert_eq!(receive(&mut a, 1)[0].1, frame(2));
        let nothing = a.rx.receive(Duration::ZERO, &mut |_| {}).unwrap();
        assert_eq!(nothing, 0);
    }
}

#[test]
fn a_tag_that_the_kernel_takes_off_is_put_back() {
    for ring in [false, true] {
        let Some(pair) = pair(1500) else { return };
        let (mut a, mut b) = pair.open_by(ring);
        for tags in [
            &b"\x81\x00\x20\x05"[..],
            b"\x88\xa8\x00\x07\x81\x00\x20\x05",
        ] {
            let mut tagged = frame(9);
            tagged.splice(12..12, tags.iter().copied());
            a.tx.send(&[&tagged]).unwrap();
            assert_eq!(receive(&mut b, 1)[0].1, tagged);
        }
    }
}

#[test]
fn a_frame_too_long_for_the_interface_is_refused_with_its_mtu() {
    let Some(pair) = pair(1200) else { return };
    let (mut a, mut b) = pair.open();
    let (short, long) = (vec![1; 1214], vec![2; 1219]);
    assert_eq!(a.tx.send(&[&short, &long, &short]).unwrap(), 1);
    let error = a.tx.send(&[&long, &short]).unwrap_err();
    assert!(!error.is_end());
    assert!(error.to_string().contains("MTU of 1200"), "{error}");
    assert!(matches!(
        a.tx.send(&[&long[..13]]),
        Err(PortError::TooShort { len: 13 })
    ));
    assert_eq!(a.tx.send(&[&short]).unwrap(), 1);
    assert_eq!(receive(&mut b, 2).len(), 2);
    assert_eq!(a.tx.counters().refused, 2);
}

#[test]
fn both_ways_of_sending_refuse_the_same_and_send_the_rest_in_order() {
    for method in Method::ALL {
        let Some(pair) = pair(1200) else { return };
        let (mut a, mut b) = pair.open_with(&Options {
            method: Some(method),
            ..Options::default()
        });
        assert_eq!(a.tx.method(), method.name());
        // More than a ring holds.
        let frames: Vec<_> = (0..300).map(frame).collect();
        let slices: Vec<_> = frames.iter().map(|f| &f[..]).collect();
        assert_eq!(a.tx.send(&slices[..1]).unwrap(), 1);
        assert_eq!(a.tx.send(&slices[1..]).unwrap(), 299);
        let long = vec![2; 1219];
        assert_eq!(a.tx.send(&[slices[0], &long, slices[1]]).unwrap(), 1);
        let error = a.tx.send(&[&long]).unwrap_err();
        assert!(error.to_string().contains("MTU of 1200"), "{error}");
        assert!(matches!(
            a.tx.send(&[&long[..13]]),
            Err(PortError::TooShort { len: 13 })
        ));
        // What has been got ready is sent once, whatever is asked for between.
        a.tx.prepare(slices[7]);
        a.tx.warm();
        assert!(a.tx.ask_for_stamp());
        let began = ::capture::clock::now_ns();
        assert_eq!(a.tx.send(&[slices[7]]).unwrap(), 1);
        let stamp = a.tx.take_stamp().expect("veth stamps inside the call");
        assert!(stamp + 1_000 >= began && stamp <= ::capture::clock::now_ns());
        a.tx.prepare(slices[8]);
        assert_eq!(a.tx.send(&[slices[9]]).unwrap(), 1);
        let got = receive(&mut b, 303);
        let expected = frames.iter().chain([&frames[0], &frames[7], &frames[9]]);
        assert!(
            got.iter().map(|(_, bytes)| bytes).eq(expected),
            "by {}: {} frames",
            method.name(),
            got.len()
        );
        assert_eq!((a.tx.counters().sent, a.tx.counters().refused), (303, 2));
    }
}

#[test]
fn a_pair_of_ports_is_measured_there_and_back() {
    let Some(pair) = pair(1500) else { return };
    let end = |name| VethEnd {
        namespace: &pair.a,
        name,
        mac: None,
    };
    veth([end("near"), end("far")], 1500).unwrap();
    let plan = calibrate::Plan {
        count: 100,
        gap: Duration::from_micros(200),
    };
    let measure = |from: &str, to: &str| {
        let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
        let measured = pair.a.enter(|| calibrate::measure(&from, &to, plan));
        measured.unwrap()
    };
    for way in measure("near", "far").unwrap() {
        let methods: Vec<_> = way.trials.iter().map(|trial| trial.method).collect();
        assert_eq!(methods, ["send", "ring"]);
        for trial in &way.trials {
            assert_eq!((trial.sent, trial.received), (100, 100));
            assert!(trial.lead_ns <= live::port::pace::MAX_LEAD_NS);
            assert!(trial.least_latency > node::Time::ZERO);
            assert!(trial.jitter.p50 <= trial.jitter.max);
        }
        assert!(methods.contains(&way.best().method));
    }
    // Nobody is at the other end.
    let error = measure("near", "a").unwrap_err();
    assert!(
        matches!(error, CalibrateError::NotConnected { received: 0, .. }),
        "{error}"
    );
}

#[test]
fn an_interface_that_vanishes_ends_the_port_after_what_it_had_received() {
    for ring in [false, true] {
        let Some(pair) = pair(1500) else { return };
        let (mut a, mut b) = pair.open_by(ring);
        a.tx.send(&[&frame(1), &frame(2)]).unwrap();
        pair.b.remove("b").unwrap();
        let mut frames = 0;
        let error = loop {
            match b.rx.receive(WAIT, &mut |_| frames += 1) {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(frames, 2);
        assert!(matches!(error, PortError::Gone { .. }), "{error}");
        assert!(error.to_string().contains("was removed"), "{error}");
        let error = a.tx.send(&[&frame(3)]).unwrap_err();
        assert!(error.is_end(), "{error}");
        // Asked again it says the same, and does not wait.
        assert!(b.rx.receive(WAIT, &mut |_| {}).is_err());
    }
}

#[test]
fn a_checksum_that_the_sending_stack_left_open_is_completed() {
    for ring in [false, true] {
        let Some(pair) = pair(1500) else { return };
        let (_, mut b) = pair.open_by(ring);
        let address = "192.0.2.1".parse().unwrap();
        pair.a.add_address("a", address, 24).unwrap();
        pair.a
            .enter(|| {
                let socket = std::net::UdpSocket::bind("192.0.2.1:4000").unwrap();
                socket.set_broadcast(true).unwrap();
                socket.send_to(b"odd", "192.0.2.255:4001").unwrap();
            })
            .unwrap();
        let frames = receive(&mut b, 1);
        let ip = &frames[0].1[14..];
        assert_eq!((ip[0], ip[9]), (0x45, 17));
        let mut sum = 17 + 8 + 3;
        for half in ip[12..31].chunks(2) {
            sum += u32::from(half[0]) << 8 | half.get(1).map_or(0, |&byte| byte.into());
        }
        let sum = (sum & 0xFFFF) + (sum >> 16);
        assert_eq!(sum, 0xFFFF, "over the pseudo-header and all of UDP");
        assert_eq!(b.rx.counters().completed, 1);
    }
}

#[test]
fn a_super_frame_is_given_as_the_frames_that_a_wire_would_carry() {
    for ring in [false, true] {
        let Some(pair) = pair(1500) else { return };
        let (_, mut b) = pair.open_by(ring);
        for (namespace, name, address) in [(&pair.a, "a", "192.0.2.1"), (&pair.b, "b", "192.0.2.2")]
        {
            let address = address.parse().unwrap();
            namespace.add_address(name, address, 24).unwrap();
        }
        let listener = pair
            .b
            .enter(|| std::net::TcpListener::bind("192.0.2.2:5000"))
            .unwrap()
            .unwrap();
        let sent: Vec<u8> = (0..200_000u32).map(|n| (n / 7) as u8).collect();
        pair.a
            .enter(|| {
                use std::io::Write;
                let mut stream = std::net::TcpStream::connect("192.0.2.2:5000").unwrap();
                let reader = std::thread::spawn(move || {
                    let (mut stream, _) = listener.accept().unwrap();
                    std::io::copy(&mut stream, &mut std::io::sink()).unwrap()
                });
                stream.write_all(&sent).unwrap();
                drop(stream);
                assert_eq!(reader.join().unwrap(), 200_000);
            })
            .unwrap();
        let mut data = std::collections::BTreeMap::new();
        let mut first = None;
        let wait = Duration::from_millis(100);
        while b
            .rx
            .receive(wait, &mut |packet| {
                let frame = packet.bytes;
                assert!(frame.len() <= 1514, "{}", frame.len());
                if frame[12..14] != [8, 0]
                    || frame[23] != 6
                    || frame[36..38] != 5000u16.to_be_bytes()
                {
                    return;
                }
                let header = 34 + usize::from(frame[46] >> 4) * 4;
                let end = 14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
                let number = u32::from_be_bytes(frame[38..42].try_into().unwrap());
                let first = *first.get_or_insert(number.wrapping_add(1));
                data.insert(number.wrapping_sub(first), frame[header..end].to_vec());
            })
            .unwrap()
            > 0
        {}
        data.retain(|_, bytes| !bytes.is_empty());
        let got: Vec<u8> = data.into_values().flatten().collect();
        assert_eq!(got.len(), sent.len());
        assert!(got == sent);
        assert!(b.rx.counters().split > 0);
        assert_eq!(b.rx.counters().refused, 0);
    }
}

#[test]
fn an_xdp_port_sends_and_receives_and_gives_the_traffic_back_when_it_is_closed() {
    let Some(pair) = pair(1500) else { return };
    let open = |spec: &str| {
        let spec = spec.parse().unwrap();
        let opened = pair.b.enter(|| port::open(&spec, &Options::default()));
        opened.unwrap()
    };
    // A pair of veth has no zero copy: the kernel copies, asked to or not, and who demands it is told.
    let asked = match open("xdp:b:copy=on") {
        Ok(port) => port,
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    assert!(
        asked.info.method.ends_with(", copy"),
        "{}",
        asked.info.method
    );
    drop(asked);
    let refused = open("xdp:b:zerocopy=on").err().unwrap();
    assert!(matches!(refused, PortError::Unsupported { .. }));
    assert!(refused.to_string().contains("`zerocopy=on`"), "{refused}");
    let mut b = open("xdp:b").unwrap();
    assert!(b.info.method.ends_with(", copy"), "{}", b.info.method);
    assert_eq!(b.tx.method(), "af_xdp, copy");
    assert_eq!(b.info.name, "xdp:b");
    let (mut a, mut beside) = pair.open();
    let frames: Vec<_> = (0..3000).map(|n| frame(n % 900)).collect();
    let mut got = Vec::new();
    for batch in frames.chunks(100) {
        let slices: Vec<_> = batch.iter().map(|f| &f[..]).collect();
        assert_eq!(a.tx.send(&slices).unwrap(), 100);
        let before = got.len();
        while got.len() < before + 100 {
            let sink = &mut |packet: port::Received<'_>| got.push(packet.bytes.to_vec());
            assert!(
                b.rx.receive(WAIT, sink).unwrap() > 0,
                "{:?}",
                b.rx.counters()
            );
        }
    }
    assert!(got == frames);
    let mut back = Vec::new();
    // The kernel drops what comes to an interface while 1000 frames wait, which a busy machine lets them.
    for batch in frames.chunks(100) {
        let slices: Vec<_> = batch.iter().map(|f| &f[..]).collect();
        assert_eq!(b.tx.send(&slices).unwrap(), 100);
        let came = receive(&mut a, 100);
        assert_eq!(came.len(), 100, "{:?}", a.rx.counters());
        back.extend(came.into_iter().map(|(_, bytes)| bytes));
    }
    assert!(back == frames);
    let long = vec![0; 1515];
    assert!(matches!(
        b.tx.send(&[&long]),
        Err(PortError::TooLong { .. })
    ));
    if b.info.method.contains("driver") {
        // What was given to us never came to the stack, nor to anybody who listens there.
        assert_eq!(beside.rx.counters().received, 0);
        assert_eq!(beside.rx.receive(Duration::ZERO, &mut |_| {}).unwrap(), 0);
    }
    let nothing = b.rx.receive(Duration::from_millis(1), &mut |_| {}).unwrap();
    assert_eq!(nothing, 0);
    drop(b);
    a.tx.send(&[&frame(1)]).unwrap();
    let last = receive(&mut beside, 1).pop().map(|(_, bytes)| bytes);
    assert_eq!(last, Some(frame(1)));
}

#[test]
fn nothing_is_left_of_a_namespace_whose_body_panicked() {
    let name = format!("wl-live-{}", std::process::id());
    let namespace = match Namespace::named(&name) {
        Ok(namespace) => namespace,
        Err(error @ NetnsError::Permission { .. }) => {
            println!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let path = std::path::Path::new("/run/netns").join(&name);
    assert!(path.exists());
    assert!(Namespace::named(&name).is_err(), "the name is taken");
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        namespace.enter(|| panic!("as a test may")).unwrap();
    }));
    assert!(result.is_err());
    assert!(!path.exists());
}

#[test]
fn an_interface_that_is_not_there_is_told_with_those_that_are() {
    let error = port::open(&"no-such-if".parse().unwrap(), &Options::default())
        .err()
        .unwrap();
    assert!(error.to_string().contains("there are: lo"), "{error}");
}
