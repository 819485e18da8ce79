//! What it costs to read a clock's page, beside the system's own ways to tell the time.
//!
//! `cargo bench -p wireline-live --bench page`

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use ::capture::clock::now_ns;
use live::page::{Publisher, Reader};
use measure::clock::ClockReading;
use std::hint::black_box;
use std::time::{Instant, SystemTime};

const CALLS: u32 = 1_000_000;

fn main() {
    let folder = std::env::temp_dir().join(format!("wire-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("clock");
    let mut publisher = Publisher::create(&path).expect("a page");
    let reading = ClockReading {
        shown_ps: 1_000_000_000_000_000_000_000,
        bound_ps: Some(1_000),
        ..ClockReading::default()
    };
    publisher.publish(&reading, now_ns());
    let reader = Reader::open(&path).expect("a page");
    println!("{}", reader.counter());
    let page = best(|| {
        black_box(reader.read());
    });
    let system = best(|| {
        black_box(SystemTime::now());
    });
    println!("a reading of the page      {page:6.1} ns");
    println!("clock_gettime(REALTIME)    {system:6.1} ns");
    println!("ratio                      {:6.2}", page / system);
    drop(publisher);
    std::fs::remove_dir_all(&folder).expect("the folder");
}

/// Nanoseconds a call, the best of twenty runs.
fn best(mut call: impl FnMut()) -> f64 {
    let runs = (0..20).map(|_| {
        let begin = Instant::now();
        (0..CALLS).for_each(|_| call());
        begin.elapsed().as_nanos() as f64 / f64::from(CALLS)
    });
    runs.fold(f64::MAX, f64::min)
}
