//! Links that go down and come up, interfaces that are removed and return, queues that are full, and an MTU that shrinks.

use super::{Pair, WAIT, frame, pair, receive};
use live::netns::{VethEnd, veth};
use live::port::{self, Link, Method, Options, Port, PortError};
use live::world;
use node::event::What;
use node::{Event, Frame, Node, Out, Properties, Time};
use std::sync::mpsc;
use std::time::Duration;

/// Maximum number of polls for a change of a link.
const MAX_POLLS: usize = 500;
/// Timeout of each poll for a frame.
const POLL_TIMEOUT: Duration = Duration::from_millis(10);

/// By calls and by rings, each way.
fn ways() -> [Options; 2] {
    [(false, Method::Send), (true, Method::Ring)].map(|(ring, method)| Options {
        ring,
        method: Some(method),
        returns: true,
        ..Options::default()
    })
}

impl Pair {
    /// Removes the pair; makes another with the same names.
    fn replace(&self) {
        self.b.remove("b").unwrap();
        self.make_again();
    }

    fn make_again(&self) {
        let end = |namespace, name| VethEnd {
            namespace,
            name,
            mac: None,
        };
        veth([end(&self.a, "a"), end(&self.b, "b")], 1500).unwrap();
    }
}

/// Looks at a link until it is as wanted.
fn wait_for_link(port: &mut Port, up: bool) -> Link {
    for _ in 0..MAX_POLLS {
        let _ = port.rx.receive(POLL_TIMEOUT, &mut |_| {});
        let link = port.rx.link().unwrap();
        if link.up == up {
            return link;
        }
    }
    panic!("{:?}", port.rx.link());
}

/// That frames pass from one to the other.
fn assert_passes(from: &mut Port, to: &mut Port, n: u16) {
    assert_eq!(from.tx.send(&[&frame(n), &frame(n + 1)]).unwrap(), 2);
    let got: Vec<Vec<u8>> = receive(to, 2).into_iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(got, [frame(n), frame(n + 1)]);
}

#[test]
fn a_link_that_is_set_down_and_up_again_leaves_the_port_at_work() {
    for options in ways() {
        let Some(pair) = pair(1500) else { return };
        let (mut a, mut b) = pair.open_with(&options);
        assert_eq!(b.rx.link().unwrap().downs, 0);
        a.tx.send(&[&frame(1)]).unwrap();
        pair.b.set_down("b").unwrap();
        assert_eq!(receive(&mut b, 1).len(), 1, "what came before is there");
        assert!(!wait_for_link(&mut b, false).up);
        // Its own end is down: a counted drop, for each frame, that ends nothing.
        for sent in 1..=2 {
            let error = b.tx.send(&[&frame(2), &frame(3)]).unwrap_err();
            assert!(matches!(error, PortError::Down { .. }), "{error}");
            assert!(!error.is_end());
            let counters = b.tx.counters();
            assert_eq!((counters.refused, counters.no_link), (sent, sent));
        }
        pair.b.set_up("b").unwrap();
        let link = wait_for_link(&mut b, true);
        assert_eq!(link.downs, 1);
        assert!(link.down_ns > 0);
        wait_for_link(&mut a, true);
        assert_passes(&mut a, &mut b, 10);
        // Nothing leaves late of what was refused.
        assert_passes(&mut b, &mut a, 20);
    }
}

#[test]
fn a_link_that_is_down_for_a_moment_is_seen() {
    for options in ways() {
        let Some(pair) = pair(1500) else { return };
        let (_, mut b) = pair.open_with(&options);
        pair.b.set_down("b").unwrap();
        pair.b.set_up("b").unwrap();
        let seen = (0..MAX_POLLS).any(|_| {
            b.rx.receive(POLL_TIMEOUT, &mut |_| {}).unwrap();
            b.rx.link().unwrap().downs > 0
        });
        assert!(seen);
        wait_for_link(&mut b, true);
    }
}

#[test]
fn an_interface_that_returns_under_its_name_is_used_again() {
    for options in ways() {
        let Some(pair) = pair(1500) else { return };
        let (mut a, mut b) = pair.open_with(&options);
        assert_passes(&mut a, &mut b, 1);
        pair.b.remove("b").unwrap();
        wait_for_link(&mut b, false);
        let error = a.tx.send(&[&frame(3)]).unwrap_err();
        assert!(matches!(error, PortError::Away { .. }), "{error}");
        pair.make_again();
        for port in [&mut a, &mut b] {
            assert_eq!(wait_for_link(port, true).downs, 1);
        }
        assert_passes(&mut a, &mut b, 10);
        assert_passes(&mut b, &mut a, 20);
        // For other stations too, and stamped, as before.
        let promiscuous = |name: &str| {
            let shown = pair
                .b
                .command("ip")
                .args(["-d", "link", "show", name])
                .output();
            shown
                .is_ok_and(|shown| String::from_utf8_lossy(&shown.stdout).contains("promiscuity 1"))
        };
        assert!(promiscuous("b") || pair.b.command("ip").output().is_err());
        let before = ::capture::clock::now_ns();
        a.tx.send(&[&frame(30)]).unwrap();
        let (at, _) = receive(&mut b, 1)[0];
        assert!(at + 2_000 > before && at < ::capture::clock::now_ns());
        // And once more, with nobody who looks meanwhile.
        pair.replace();
        wait_for_link(&mut a, true);
        wait_for_link(&mut b, true);
        assert_passes(&mut b, &mut a, 40);
    }
}

#[test]
fn a_port_that_does_not_wait_ends_with_its_interface_even_if_there_is_another_of_its_name() {
    let Some(pair) = pair(1500) else { return };
    let (mut a, mut b) = pair.open();
    pair.replace();
    let error = loop {
        if let Err(error) = b.rx.receive(Duration::from_millis(10), &mut |_| {}) {
            break error;
        }
    };
    assert!(matches!(error, PortError::Gone { .. }), "{error}");
    assert!(a.tx.send(&[&frame(1)]).unwrap_err().is_end());
    pair.b.set_down("b").unwrap();
    let opened = pair
        .b
        .enter(|| port::open(&"b".parse().unwrap(), &Options::default()));
    assert!(matches!(opened.unwrap(), Err(PortError::Down { .. })));
}

#[test]
fn an_xdp_port_outlives_its_link_and_ends_with_its_interface() {
    let Some(pair) = pair(1500) else { return };
    let open = || port::open(&"xdp:b".parse().unwrap(), &Options::default());
    let mut b = match pair.b.enter(open).unwrap() {
        Ok(port) => port,
        Err(error) => return println!("skipped: {error}"),
    };
    let (mut a, _) = pair.open();
    assert_passes(&mut a, &mut b, 1);
    pair.b.set_down("b").unwrap();
    wait_for_link(&mut b, false);
    // What is in the ring leaves with the link's return; the next is refused.
    let _ = b.tx.send(&[&frame(3)]);
    let error = b.tx.send(&[&frame(4)]).unwrap_err();
    assert!(matches!(error, PortError::Down { .. }), "{error}");
    pair.b.set_up("b").unwrap();
    wait_for_link(&mut b, true);
    wait_for_link(&mut a, true);
    assert_passes(&mut a, &mut b, 10);
    b.tx.send(&[&frame(20)]).unwrap();
    assert!(
        receive(&mut a, 2)
            .iter()
            .any(|(_, bytes)| *bytes == frame(20))
    );
    pair.b.remove("b").unwrap();
    let error = b.rx.receive(WAIT, &mut |_| {}).unwrap_err();
    assert!(matches!(error, PortError::Gone { .. }), "{error}");
    let _ = b.tx.send(&[&frame(5)]);
    assert!(b.tx.send(&[&frame(5)]).unwrap_err().is_end());
}

#[test]
fn a_tap_outlives_its_link() {
    let Some(pair) = pair(1500) else { return };
    let open = || port::open(&"tap:t".parse().unwrap(), &Options::default());
    let mut tap = match pair.a.enter(open).unwrap() {
        Ok(port) => port,
        Err(error) => return println!("skipped: {error}"),
    };
    tap.tx.send(&[&frame(1)]).unwrap();
    pair.a.set_down("t").unwrap();
    assert!(!tap.rx.link().unwrap().up);
    let error = tap.tx.send(&[&frame(2)]).unwrap_err();
    assert!(matches!(error, PortError::Down { .. }), "{error}");
    assert_eq!(tap.tx.counters().no_link, 1);
    pair.a.set_up("t").unwrap();
    assert_eq!(tap.rx.link().unwrap().downs, 1);
    tap.tx.send(&[&frame(3)]).unwrap();
}

#[test]
fn a_queue_that_is_full_is_waited_for_with_patience_and_given_up_in_the_end() {
    for method in Method::ALL {
        let Some(pair) = pair(1500) else { return };
        // 1,500 bytes take 12 ms.
        let slow = "tc qdisc add dev a root tbf rate 1mbit burst 2000 limit 3000";
        if !pair
            .a
            .command("sh")
            .args(["-c", slow])
            .status()
            .unwrap()
            .success()
        {
            return println!("skipped: there is no tbf here");
        }
        let options = Options {
            method: Some(method),
            ..Options::default()
        };
        let (mut a, mut b) = pair.open_with(&options);
        let long = vec![7; 1500];
        // A stamp that nobody reads must not cut waits short.
        a.tx.ask_for_stamp();
        assert_eq!(a.tx.send(&[&long]).unwrap(), 1);
        assert_eq!(receive(&mut b, 1).len(), 1);
        let frames = vec![&long[..]; 20];
        assert_eq!(a.tx.send(&frames).unwrap(), 20, "none is lost");
        assert_eq!(receive(&mut b, 20).len(), 20);
        let shown = pair
            .a
            .command("tc")
            .args(["-s", "qdisc", "show", "dev", "a"])
            .output();
        let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
        let dropped = shown.split("(dropped ").nth(1).unwrap();
        let dropped: u64 = dropped.split(',').next().unwrap().parse().unwrap();
        // Each try that finds no room is a drop there: with a try every 50 us there were thousands.
        assert!(dropped < 500, "{shown}");
        assert!(a.tx.counters().waited > 0);
        let impatient = Options {
            patience: Duration::from_millis(1),
            ..options
        };
        let (mut a, _) = pair.open_with(&impatient);
        let (mut sent, mut full) = (0, 0);
        while sent + full < 200 {
            match a.tx.send(&[&long]) {
                Ok(_) => sent += 1,
                Err(PortError::Full { .. }) => full += 1,
                Err(error) => panic!("{error}"),
            }
        }
        let counters = a.tx.counters();
        assert!(full > 0);
        assert_eq!(
            (counters.sent, counters.full, counters.refused),
            (sent, full, full)
        );
    }
}

#[test]
fn an_mtu_that_shrinks_and_grows_is_followed() {
    for method in Method::ALL {
        let Some(pair) = pair(1500) else { return };
        let (mut a, mut b) = pair.open_with(&Options {
            method: Some(method),
            ..Options::default()
        });
        let mtu = |mtu: &str| {
            let words = ["link", "set", "dev", "a", "mtu", mtu];
            pair.a.command("ip").args(words).status().unwrap();
        };
        let (long, short) = (vec![7; 1400], frame(1));
        a.tx.send(&[&long]).unwrap();
        mtu("1000");
        // In the middle of a batch: those before it leave, and those behind it do.
        assert_eq!(a.tx.send(&[&short, &long, &short]).unwrap(), 1);
        for _ in 0..100 {
            let error = a.tx.send(&[&long, &short]).unwrap_err();
            assert!(
                matches!(error, PortError::TooLong { mtu: 1000, .. }),
                "{error}"
            );
        }
        assert_eq!(a.tx.send(&[&short]).unwrap(), 1);
        mtu("1500");
        assert_eq!(a.tx.send(&[&long]).unwrap(), 1);
        let lens: Vec<usize> = receive(&mut b, 4)
            .iter()
            .map(|(_, bytes)| bytes.len())
            .collect();
        assert_eq!(lens, [1400, short.len(), short.len(), 1400]);
    }
}

#[test]
fn frames_of_a_ring_that_the_kernel_puts_off_are_not_in_the_way_of_others_when_the_mtu_shrinks() {
    let Some(pair) = pair(9000) else { return };
    let run = |program: &str, words: &str| {
        let mut command = pair.a.command(program);
        command.args(words.split(' ')).status().unwrap().success()
    };
    // 9,000 bytes take 1.4 ms, and count for the socket until they are gone.
    let slow = "qdisc add dev a root tbf rate 50mbit burst 20000 limit 10000000";
    if !run("tc", slow) {
        return println!("skipped: there is no tbf here");
    }
    let (mut a, mut b) = pair.open_with(&Options {
        method: Some(Method::Ring),
        ..Options::default()
    });
    let (long, short) = (vec![7; 9000], frame(1));
    // More than the socket has memory for.
    assert_eq!(a.tx.send(&[&long[..]; 40]).unwrap(), 40);
    assert!(run("ip", "link set dev a mtu 1000"));
    for _ in 0..100 {
        assert_eq!(a.tx.send(&[&short]).unwrap(), 1);
    }
    let lens: Vec<usize> = receive(&mut b, 140)
        .iter()
        .map(|(_, bytes)| bytes.len())
        .collect();
    assert_eq!(lens, [vec![9000; 40], vec![short.len(); 100]].concat());
}

/// Sends what comes out of the other port, and tells of links.
struct Wire(mpsc::Sender<(u16, bool)>);

impl Node for Wire {
    fn properties(&self) -> Properties {
        Properties::of(2)
    }

    fn frames(&mut self, _: Time, port: node::Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.send(node::Port(1 - port.0), frame);
        }
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        if let What::Link(up) = event.what {
            self.0.send((event.port.0, up)).unwrap();
        }
    }
}

#[test]
fn a_node_is_told_of_its_links_and_goes_on_with_the_ports_that_are_left() {
    let (Some(left), Some(right)) = (pair(1500), pair(1500)) else {
        return;
    };
    let options = Options {
        returns: false,
        ..Options::of_nodes(2)
    };
    let (mut from, near) = left.open_with(&options);
    let (mut to, far) = right.open_with(&options);
    let (tell, told) = mpsc::channel();
    let run = std::thread::spawn(move || {
        let node = Box::new(Wire(tell));
        world::on_ports("wire", node, vec![near, far], Some(Time::from_secs(60))).unwrap()
    });
    let next = || told.recv_timeout(WAIT).expect("the node is told");
    let pass = |from: &mut Port, to: &mut Port, n: u16| {
        from.tx.send(&[&frame(n)]).unwrap();
        assert_eq!(receive(to, 1)[0].1, frame(n));
    };
    pass(&mut from, &mut to, 1);
    // The far side goes down: a carrier that is lost, of which a call that sends knows nothing.
    right.a.set_down("a").unwrap();
    assert_eq!(next(), (1, false));
    from.tx.send(&[&frame(2), &frame(3)]).unwrap();
    right.a.set_up("a").unwrap();
    assert_eq!(next(), (1, true));
    wait_for_link(&mut to, true);
    pass(&mut from, &mut to, 4);
    // Its own end goes down.
    left.b.set_down("b").unwrap();
    assert_eq!(next(), (0, false));
    left.b.set_up("b").unwrap();
    assert_eq!(next(), (0, true));
    wait_for_link(&mut from, true);
    pass(&mut from, &mut to, 5);
    // One of two ports is left: the run goes on, until that has gone too.
    left.b.remove("b").unwrap();
    assert_eq!(next(), (0, false));
    to.tx.send(&[&frame(6)]).unwrap();
    assert!(!run.is_finished());
    right.b.remove("b").unwrap();
    let ended = run.join().unwrap();
    assert!(matches!(ended.trouble, Some(PortError::Gone { .. })));
    let downs: Vec<_> = ended.links.iter().map(|link| link.unwrap().downs).collect();
    assert_eq!(downs, [2, 2]);
    let drops = &ended.outcome.nodes[0].drops;
    let lost = drops
        .iter()
        .find(|(reason, _)| reason == "sent by a port that has no link");
    // Those of the lost carrier, and, if it came in time, the last one.
    assert!(
        lost.is_some_and(|(_, count)| (2..=3).contains(count)),
        "{drops:?}"
    );
}
