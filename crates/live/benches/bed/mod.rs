//! Three namespaces in a row, and what happens at their interfaces: `a`, whose other end is `b` in the one in the middle, and
//! from there `out` to `c`.
#![allow(dead_code, reason = "each benchmark uses a part of it")]

use ::capture::clock::now_ns;
use live::netns::{Namespace, VethEnd, veth};
use live::port::{self, Options, Port};
use std::path::PathBuf;
use std::time::Duration;

/// Where a benchmark runs; its folder goes with it.
pub struct Bed {
    pub a: Namespace,
    pub b: Namespace,
    pub c: Namespace,
    /// For captures, scripts and sockets.
    pub place: PathBuf,
    /// How long a measurement lasts.
    pub time: Duration,
}

impl Bed {
    /// For the benchmark of this name, whose measurements last so many seconds, or `BENCH_SECONDS`. `None`, with a word why, without the
    /// rights for it.
    pub fn new(name: &str, seconds: f64) -> Option<Bed> {
        let wanted = std::env::var("BENCH_SECONDS").ok();
        let seconds = wanted.and_then(|text| text.parse().ok()).unwrap_or(seconds);
        let (Ok(a), Ok(b), Ok(c)) = (Namespace::new(), Namespace::new(), Namespace::new()) else {
            println!("skipped: making network namespaces needs root");
            return None;
        };
        let end = |namespace, name| VethEnd {
            namespace,
            name,
            mac: None,
        };
        veth([end(&a, "a"), end(&b, "b")], 1500).expect("a veth pair");
        veth([end(&b, "out"), end(&c, "c")], 1500).expect("a veth pair");
        let place = std::env::temp_dir().join(format!("wl-{name}-bench-{}", std::process::id()));
        std::fs::create_dir_all(&place).expect("a place for files");
        Some(Bed {
            a,
            b,
            c,
            place,
            time: Duration::from_secs_f64(seconds),
        })
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.place);
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark lasts its time")]
pub fn pause(time: Duration) {
    std::thread::sleep(time);
}

pub fn open(namespace: &Namespace, name: &str, options: &Options) -> Result<Port, String> {
    let spec = name.parse().expect("a port's name");
    let port = namespace.enter(|| port::open(&spec, options));
    port.expect("a namespace")
        .map_err(|error| error.to_string())
}

/// Packets that an interface has received, by the kernel's counter.
pub fn counter(namespace: &Namespace, name: &str) -> u64 {
    let text = namespace.enter(|| std::fs::read_to_string("/proc/thread-self/net/dev"));
    let text = text.expect("a namespace").expect("/proc");
    let row = text
        .lines()
        .find_map(|row| row.trim().strip_prefix(&format!("{name}:")));
    let fields = row.unwrap_or_default().split_whitespace();
    fields.skip(1).flat_map(str::parse).next().unwrap_or(0)
}

/// Packets at an interface, while something else makes them: how many, and how many a second.
pub fn rate(namespace: &Namespace, name: &str, time: Duration) -> (u64, f64) {
    let (packets, began) = (counter(namespace, name), now_ns());
    pause(time);
    let packets = counter(namespace, name) - packets;
    (packets, packets as f64 * 1e9 / (now_ns() - began) as f64)
}

/// What a process has taken of the processor so far, ns.
pub fn processor(process: u32) -> u64 {
    let mut sum = 0;
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return 0;
    };
    for task in tasks.flatten() {
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let ns = text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
        sum += ns.unwrap_or(0);
    }
    sum
}
