//! Hooks, rules and queues.

use super::*;

#[test]
fn every_hook_gives_what_passes_it() {
    let Some(bed) = Bed::new() else { return };
    let ports = Arc::new(Mutex::new(Vec::new()));
    for (hook, on, entered) in [
        (Hook::Prerouting, "r0", 0),
        (Hook::Input, "r0", 0),
        (Hook::Forward, "r0", 0),
        (Hook::Output, "r0", 1),
        (Hook::Postrouting, "r0", 1),
    ] {
        let config = Config {
            hook,
            on: vec![on.into()],
            ..matching("icmp[icmptype] == icmp-echo or icmp[icmptype] == icmp-echoreply")
        };
        let seen = ports.clone();
        let relay = bed.relay(
            &config,
            each(move |_, port, frame, out| {
                seen.lock().unwrap().push(port.0);
                out.send(other(port), frame);
            }),
        );
        // To the router itself, but where only what passes through is seen.
        let to = match hook {
            Hook::Forward => B[0],
            _ => ROUTER[0][0],
        };
        assert_eq!(ping(&bed.a, to, 2).len(), 2, "{}", hook.name());
        let counts = end(relay);
        let seen = std::mem::take(&mut *ports.lock().unwrap());
        assert!(counts.accepted >= 2, "{}: {counts:?}", hook.name());
        assert_eq!(counts.accepted, counts.packets, "{}", hook.name());
        assert_eq!(seen.first(), Some(&entered), "{}", hook.name());
    }
}

#[test]
fn rules_go_with_the_relay_and_numbers_are_chosen() {
    let Some(bed) = Bed::new() else { return };
    let first = bed.relay(&config(), through());
    let second = bed.relay(&matching("udp"), through());
    assert_ne!(first.queues(), second.queues());
    let taken = Config {
        queue: Some(first.queues()[0]),
        ..config()
    };
    let refused = bed.r.enter(|| Runner::start(&taken, through())).unwrap();
    assert!(
        matches!(refused, Err(HookError::Queue(QueueError::Taken(_)))),
        "{refused:?}"
    );
    // Both see a packet, one behind the other.
    assert_eq!(bed.ping(0, 2).len(), 2);
    drop((first, second));
    match bed.r.command("nft").args(["list", "ruleset"]).output() {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), ""),
        Err(_) => println!("skipped in part: nft is not installed"),
    }
}

#[test]
fn what_cannot_be_is_told_with_a_mend() {
    let Some(bed) = Bed::new() else { return };
    let start = |config: Config| {
        let started = bed.r.enter(|| Runner::start(&config, through())).unwrap();
        started
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let on = |names: &[&str]| Config {
        on: names.iter().map(|name| name.to_string()).collect(),
        ..Config::default()
    };
    assert!(start(on(&["r0", "nope"])).contains("no interface `nope` here; there are: "));
    assert!(start(on(&["r0", "r0"])).contains("named twice"));
    assert!(start(on(&["r0", "r1", "r2"])).contains("takes 2 interface(s), or one less"));
    assert!(start(matching("port 99999")).starts_with("filter `port 99999`"));
    let long: Vec<String> = (0..200).map(|port| format!("port {}", port * 3)).collect();
    assert!(start(matching(&long.join(" or "))).contains("the kernel takes 64"));
}

#[test]
fn a_queue_that_somebodys_rules_fill_is_a_port() {
    let Some(bed) = Bed::new() else { return };
    let led = Config {
        queue: Some(40),
        ..matching("udp port 7012")
    };
    let _rules = bed.r.enter(|| lead(&led, 2, 1)).unwrap().unwrap();
    let spec = "nfqueue:40".parse().unwrap();
    let opened = bed.r.enter(|| port::open(&spec, &Options::default()));
    let mut port = opened.unwrap().unwrap_or_else(|error| panic!("{error}"));
    let (sink, source) = (bed.sink(0, 7012), bed.source(0, 7012));
    source.send(b"read and accepted").unwrap();
    let mut frames = Vec::new();
    let wait = Duration::from_secs(20);
    let mut keep = |packet: live::port::Received<'_>| frames.push(packet.bytes.to_vec());
    assert_eq!(port.rx.receive(wait, &mut keep).unwrap(), 1);
    assert_eq!(next(&sink).as_deref(), Some(&b"read and accepted"[..]));
    // What is sent goes where the kernel routes it.
    assert!(frames[0].ends_with(b"read and accepted"));
    port.tx.send(&[&frames[0]]).unwrap();
    assert_eq!(next(&sink).as_deref(), Some(&b"read and accepted"[..]));
    assert!(port.tx.send(&[&b"no packet"[..]]).is_err());
    assert_eq!(port.rx.counters().received, 1);
    assert_eq!(
        (port.tx.counters().sent, port.tx.counters().refused),
        (1, 1)
    );
}

#[test]
fn a_node_answers_about_packets_of_queues_that_somebodys_rules_fill() {
    let Some(bed) = Bed::new() else { return };
    let led = Config {
        queue: Some(41),
        ..config()
    };
    let _rules = bed.r.enter(|| lead(&led, 2, 1)).unwrap().unwrap();
    let relay = bed.r.enter(|| {
        let node = through().remove(0);
        Runner::on_queues(&[41], &Config::default(), node)
    });
    let relay = relay.unwrap().unwrap();
    assert_eq!(bed.ping(0, 3).len(), 3);
    let counts = end(relay);
    assert_eq!(counts.accepted, counts.packets);
    assert!(counts.accepted >= 6);
    // Nobody answers any more, and the rule says that packets are dropped then.
    let mut ping = bed.a.command("ping");
    let ping = ping.args(["-n", "-c1", "-W1", B[0]]).output().unwrap();
    assert_eq!(ping.status.code(), Some(1), "{ping:?}");
}
