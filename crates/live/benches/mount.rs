//! A port's files in a mount against a pipe and a file in memory with the same bytes.
//!
//! The port gives frames as fast as they are taken, as EtherPIPE's dummy driver did (paper 000, table
//! 6.1). GB/s of the bytes that the shell's tool sees; best of several runs.
#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use live::port::{
    Port, PortError, PortInfo, Receive, Received, RxCounters, Stamps, Transmit, TxCounters,
};
use live::world::mount::{Mount, Settings};
use packet::{Packet, Stamp, Tick, line, record};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 5;
/// Bytes read in one run.
const BYTES: u64 = 1 << 30;
/// Bytes written in one run, and kept in memory for it.
const WRITTEN: usize = 64 << 20;

/// Gives the same frame for ever.
struct Firehose(Vec<u8>, RxCounters);

impl Receive for Firehose {
    fn receive(
        &mut self,
        _: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        for _ in 0..64 {
            self.1.received += 1;
            let at_ns = self.1.received * 68;
            sink(Received {
                bytes: &self.0,
                at_ns,
            });
        }
        Ok(64)
    }

    fn counters(&self) -> RxCounters {
        self.1
    }
}

/// Gives nothing.
struct Silence;

impl Receive for Silence {
    fn receive(
        &mut self,
        wait: Duration,
        _: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        std::thread::sleep(wait);
        Ok(0)
    }

    fn counters(&self) -> RxCounters {
        RxCounters::default()
    }
}

/// Takes everything and forgets it.
struct Drain(TxCounters);

impl Transmit for Drain {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        self.0.sent += frames.len() as u64;
        Ok(frames.len())
    }

    fn counters(&self) -> TxCounters {
        self.0
    }
}

fn port(rx: Box<dyn Receive>) -> Port {
    Port {
        info: PortInfo {
            name: "bench".into(),
            epoch_ns: 0,
            on_demand: false,
            tick: Tick::EIGHT_NS,
            stamps: Stamps::Software,
            mac: None,
            mtu: 1500,
            method: "bench",
            driver: String::new(),
            link: true,
            hardware_stamps: false,
        },
        rx,
        tx: Box::new(Drain(TxCounters::default())),
    }
}

/// GB/s of the best of some runs that move so many bytes.
fn best(bytes: u64, mut run: impl FnMut()) -> f64 {
    let times = (0..RUNS).map(|_| {
        let began = Instant::now();
        run();
        began.elapsed()
    });
    bytes as f64 / times.min().unwrap_or_default().as_secs_f64() / 1e9
}

/// Reads [`BYTES`] in the blocks that `cat` takes.
fn dd(input: Stdio) -> std::process::Child {
    Command::new("dd")
        .args([
            "bs=128k",
            "of=/dev/null",
            "iflag=count_bytes,fullblock",
            "status=none",
        ])
        .arg(format!("count={BYTES}"))
        .stdin(input)
        .spawn()
        .expect("dd is everywhere")
}

fn read(path: &Path) -> f64 {
    best(BYTES, || {
        let file = File::open(path).expect("it is there");
        assert!(dd(file.into()).wait().expect("dd ends").success());
    })
}

fn pipe(bytes: &[u8]) -> f64 {
    best(BYTES, || {
        let mut child = dd(Stdio::piped());
        let mut pipe = child.stdin.take().expect("it was asked for");
        while pipe.write_all(bytes).is_ok() {}
        child.wait().expect("dd ends");
    })
}

fn write(from: &Path, to: &Path) -> f64 {
    best(WRITTEN as u64, || {
        let to = File::options().write(true).open(to).expect("it is there");
        let status = Command::new("cat")
            .arg(from)
            .stdout(to)
            .status()
            .expect("cat is everywhere");
        assert!(status.success());
    })
}

fn repeat(encode: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(WRITTEN + 64 * 1024);
    while bytes.len() < WRITTEN {
        encode(&mut bytes);
    }
    bytes
}

/// A mount of one port.
fn mount(rx: Box<dyn Receive>) -> Option<Mount> {
    let dir = std::env::temp_dir().join(format!("wireline-bench-{}", std::process::id()));
    match Mount::start(&dir, vec![port(rx)], &Settings::default()) {
        Ok(mount) => Some(mount),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn main() {
    println!("GB/s                 read from mount  pipe  file   mount/pipe   written to mount");
    for len in [60, 1514] {
        let frame: Vec<u8> = (0..len).map(|n| n as u8).collect();
        let packet = Packet {
            stamp: Some(Stamp::Word(0)),
            hash: None,
            bytes: &frame,
        };
        let whole = "a frame of this length has a line and a record";
        let lines = repeat(|out| line::encode(&packet, line::Form::default(), out).expect(whole));
        let records = repeat(|out| record::encode(&packet, out).expect(whole));
        for (what, name, bytes) in [("lines", "0", lines), ("records", "r0", records)] {
            let file = Path::new("/dev/shm").join(format!("wireline-bench-{}", std::process::id()));
            std::fs::write(&file, &bytes).expect("there is room in memory");
            let firehose = Firehose(frame.clone(), RxCounters::default());
            let Some(source) = mount(Box::new(firehose)) else {
                return;
            };
            let mounted = read(&source.path().join(name));
            source.finish();
            let Some(target) = mount(Box::new(Silence)) else {
                return;
            };
            let written = write(&file, &target.path().join(name));
            target.finish();
            let piped = pipe(&bytes[..1 << 20]);
            // Sparse: a file of so many bytes does not fit into every memory, and costs the same copies.
            let sparse = File::options()
                .write(true)
                .open(&file)
                .expect("it was just written");
            sparse.set_len(BYTES).expect("no room is needed");
            let filed = read(&file);
            let _ = std::fs::remove_file(&file);
            println!(
                "{what:7} of {len:4} B {mounted:16.2} {piped:5.2} {filed:5.2} {:12.2} {written:18.2}",
                mounted / piped,
            );
        }
    }
}
