//! What it costs to read what the kernel knows of an interface, beside the ways in which other programs ask.
//!
//! `cargo bench -p wireline-live --bench facts`, as root

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use live::netns::{Namespace, VethEnd, veth};
use live::statistics::Feed;
use node::{Port, Time};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let bed = Namespace::new().and_then(|near| {
        let far = Namespace::new()?;
        let end = |namespace, name| VethEnd {
            namespace,
            name,
            mac: None,
        };
        veth([end(&near, "v0"), end(&far, "v1")], 1500)?;
        near.add_address("v0", [10, 0, 0, 1].into(), 24)?;
        Ok((near, far))
    });
    let (near, _far) = match bed {
        Ok(bed) => bed,
        Err(error) => return println!("skipped: {error}"),
    };
    let tc = |line: &str| {
        let words = line.split(' ');
        let status = near.command("tc").args(words).status();
        assert!(status.is_ok_and(|status| status.success()), "tc {line}");
    };
    println!(
        "{:<44} {:>10} {:>14}",
        "microseconds a reading", "wire", "/proc and /sys"
    );
    measure(&near, "an interface without a discipline");
    tc("qdisc add dev v0 root handle 1: tbf rate 100mbit burst 20k limit 1500k");
    measure(&near, "TBF");
    tc("qdisc del dev v0 root");
    tc("qdisc add dev v0 root handle 1: htb default 10");
    for class in 10..18 {
        tc(&format!(
            "class add dev v0 parent 1: classid 1:{class} htb rate 10mbit quantum 2000"
        ));
    }
    measure(&near, "HTB with 8 classes");
}

/// One row: the feed, and the files that give an interface's counters alone.
fn measure(namespace: &Namespace, what: &str) {
    let row = namespace.enter(|| {
        let mut feed = Feed::open(&[(Port(0), "v0")]).expect("the interface is there");
        let mut at = 0;
        let ours = best(|| {
            at += 1;
            let read = feed.read(Time::from_ms(at), &mut |event| {
                black_box(event);
            });
            read.expect("nothing changes");
        });
        let theirs = best(|| {
            let text = std::fs::read_to_string("/proc/thread-self/net/dev");
            drop(black_box(text.expect("Linux has that file")));
        });
        (ours, theirs)
    });
    let (ours, theirs) = row.expect("the namespace is ours");
    println!("{what:<44} {ours:>10.1} {theirs:>14.1}");
}

/// The least of several times, us.
fn best(mut body: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        for _ in 0..200 {
            body();
        }
        least = least.min(start.elapsed().as_secs_f64() * 1e6 / 200.0);
    }
    least
}
