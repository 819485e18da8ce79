//! The parts of the PHY against other crates and other forms, and the whole way against the line.
//!
//! `cargo bench -p wireline-phy` prints the best of many short turns, which the contenders of a table
//! take by rotation. Ratios are to the first contender of each table; `x line` is the rate over
//! 10.3125 Gb/s.
#![allow(clippy::disallowed_methods)] // a benchmark reads the clock

use phy::scramble::Form;
use phy::{
    Block, Blocks, Descrambler, Encoder, Item, Line, Receiver, Scrambler, Sink, Stamp, Start,
};
use std::hint::black_box;
use std::time::{Duration, Instant};

const TURNS: usize = 300;
const TURN: Duration = Duration::from_micros(200);
const LINE: f64 = 10.3125e9;

type Contender<'a> = (String, Box<dyn FnMut() + 'a>);

/// Gives every contender its turns; the shortest time of one batch each, in seconds.
fn race(contenders: &mut [Contender<'_>]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; contenders.len()];
    for _ in 0..TURNS {
        for ((_, batch), best) in contenders.iter_mut().zip(&mut best) {
            let (turn, mut batches) = (Instant::now(), 0u32);
            while turn.elapsed() < TURN {
                for _ in 0..4 {
                    batch();
                }
                batches += 4;
            }
            *best = best.min(turn.elapsed().as_secs_f64() / f64::from(batches));
        }
    }
    best
}

/// Races the contenders over as many bits, in as many frames or blocks, and prints a table.
fn print(title: &str, bits: f64, of: (&str, usize), mut contenders: Vec<Contender<'_>>) {
    println!("\n{title}");
    let each = format!("ns/{}", of.0);
    println!(
        "{:<28}{:>10}{:>10}{each:>12}{:>10}",
        "", "Gb/s", "x line", "ratio"
    );
    let times = race(&mut contenders);
    for ((name, _), time) in contenders.iter().zip(&times) {
        let rate = bits / time;
        println!(
            "{name:<28}{:>10.2}{:>10.2}{:>12.2}{:>10.2}",
            rate / 1e9,
            rate / LINE,
            time / of.1 as f64 * 1e9,
            times[0] / time
        );
    }
}

fn noise(length: usize) -> Vec<u64> {
    (1..=length as u64)
        .map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(n as u32))
        .collect()
}

/// `count` frames of `length` bytes.
fn frames(length: usize, count: usize) -> Vec<Vec<u8>> {
    let bytes: Vec<u8> = noise(length * count / 8 + 1)
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    bytes.chunks(length).take(count).map(Vec::from).collect()
}

fn sums(length: usize) {
    static TABLE: crc::Crc<u32, crc::Table<16>> =
        crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_32_ISO_HDLC);
    let frames = &frames(length, 30_000 / length);
    let over = |sum: fn(&[u8]) -> u32| {
        Box::new(move || {
            for frame in frames {
                black_box(sum(black_box(frame)));
            }
        })
    };
    print(
        &format!("CRC-32, {length} B"),
        (8 * length * frames.len()) as f64,
        ("frame", frames.len()),
        vec![
            ("phy::crc::fcs".into(), over(phy::crc::fcs)),
            ("crc32fast".into(), over(crc32fast::hash)),
            ("crc-fast".into(), over(crc_fast::crc32_iso_hdlc)),
            ("crc, 16 tables".into(), over(|frame| TABLE.checksum(frame))),
        ],
    );
}

fn scramblers() {
    const BLOCKS: usize = 2048;
    let mut contenders: Vec<Contender<'_>> = vec![];
    let mut forms: Vec<Form> = Form::all().collect();
    forms.sort_by_key(|form| *form != Form::Words);
    for form in forms {
        let (mut scrambler, mut payloads) = (Scrambler::default(), noise(BLOCKS));
        let name = match form {
            Form::Bits => "a bit at a time".into(),
            Form::Words => "paper 002, algorithm 2".into(),
            Form::LookAhead(path) => format!("look-ahead, {}", path.name()),
        };
        contenders.push((
            name,
            Box::new(move || scrambler.scramble_by(form, black_box(&mut payloads))),
        ));
    }
    let (mut descrambler, mut payloads) = (Descrambler::default(), noise(BLOCKS));
    contenders.push((
        "descrambler, in place".into(),
        Box::new(move || descrambler.descramble(black_box(&mut payloads))),
    ));
    let (mut descrambler, line, mut payloads) =
        (Descrambler::default(), noise(BLOCKS), vec![0; BLOCKS]);
    contenders.push((
        "descrambler".into(),
        Box::new(move || {
            descrambler.descramble_into(black_box(&line), &mut payloads);
            black_box(&payloads);
        }),
    ));
    print(
        "scrambler and descrambler, one stream",
        64.0 * BLOCKS as f64,
        ("block", BLOCKS),
        contenders,
    );
}

/// Frames to the line, as soon as the standard allows.
#[derive(Default)]
struct Sender {
    encoder: Encoder,
    blocks: Blocks,
    line: Line,
    words: Vec<u64>,
}

impl Sender {
    fn send(&mut self, frames: &[Vec<u8>]) {
        self.words.clear();
        for frame in black_box(frames) {
            let sent = self
                .encoder
                .frame(frame, Start::After(12), &mut self.blocks);
            sent.expect("a frame of good length");
            if self.blocks.len() >= 256 {
                self.push();
            }
        }
        self.push();
    }

    fn push(&mut self) {
        self.line.push(&self.blocks, &mut self.words);
        self.blocks.clear();
    }
}

/// Good bytes that come off the line.
fn receive(receiver: &mut Receiver, words: &[u64]) {
    let mut good = 0;
    receiver.push(black_box(words), |item| {
        if let Item::Frame(frame) = item {
            good += frame.bytes.len();
        }
    });
    black_box(good);
}

fn whole_way(length: usize) {
    let frames = &frames(length - 4, 100_000 / length);
    let mut sender = Sender::default();
    sender.send(frames);
    let blocks = sender.encoder.blocks();
    sender.send(frames);
    let blocks = (sender.encoder.blocks() - blocks) as usize;

    // A stream that begins and ends with a group, so that it can go round and round.
    let mut stream = Sender::default();
    stream.blocks.idle(128);
    stream.push();
    let mut receiver = Receiver::default();
    receiver.push(&stream.words, |_| ());
    assert!(receiver.is_locked());
    stream.words.clear();
    for frame in frames {
        let sent = stream
            .encoder
            .frame(frame, Start::After(12), &mut stream.blocks);
        sent.expect("a frame of good length");
    }
    while !stream.blocks.len().is_multiple_of(32) {
        stream.blocks.block(Block::IDLE);
    }
    stream.push();
    let words = &stream.words;
    receive(&mut receiver, words);
    assert_eq!(receiver.counters().good, frames.len() as u64);

    let (mut duplex, mut other) = (Sender::default(), receiver.clone());
    let (mut encoder, mut one) = (Encoder::new(), Blocks::new());
    let (mut line, mut idle, mut out) = (Line::default(), Blocks::new(), vec![]);
    idle.idle(blocks as u64);
    print(
        &format!("whole way, {length} B"),
        (Stamp::BLOCK as usize * blocks) as f64,
        ("frame", frames.len()),
        vec![
            ("transmit".into(), Box::new(|| sender.send(frames))),
            ("receive".into(), Box::new(|| receive(&mut receiver, words))),
            (
                "both, on one core".into(),
                Box::new(|| {
                    duplex.send(frames);
                    receive(&mut other, words);
                }),
            ),
            (
                "of it: FCS and blocks".into(),
                Box::new(|| {
                    for frame in black_box(frames) {
                        let sent = encoder.frame(frame, Start::After(12), &mut one);
                        sent.expect("a frame of good length");
                        if one.len() >= 256 {
                            one.clear();
                        }
                    }
                }),
            ),
            (
                "of it: scrambled and packed".into(),
                Box::new(|| {
                    out.clear();
                    line.push(black_box(&idle), &mut out);
                }),
            ),
        ],
    );
}

/// Receiving what is not as it should be.
fn troubled() {
    let mut stream = Sender::default();
    stream.blocks.idle(128);
    stream.push();
    let mut good = stream.words.clone();
    stream.send(&frames(1514, 200));
    good.extend(&stream.words);

    let mut lines = vec![("no wrong bit".into(), good.clone())];
    for rate in [100_000, 10_000, 1000] {
        let mut line = good.clone();
        for (n, place) in (1..).zip(noise(64 * line.len() / rate)) {
            // About one in so many, without a pattern.
            let bit = (n * rate + place as usize % rate) % (64 * line.len());
            line[bit / 64] ^= 1 << (bit % 64);
        }
        lines.push((format!("one wrong bit in {rate}"), line));
    }
    lines.push(("noise: no lock".into(), noise(good.len())));
    lines.push(("zeros: no header".into(), vec![0; good.len()]));
    let contenders = lines.into_iter().map(|(name, line)| {
        let mut receiver = Receiver::default();
        let batch: Box<dyn FnMut()> = Box::new(move || {
            receive(&mut receiver, &line);
            receiver.finish(|_| ());
        });
        (name, batch)
    });
    print(
        "receive from the search for lock on, 1518 B",
        64.0 * good.len() as f64,
        ("word", good.len()),
        contenders.collect(),
    );
}

fn main() {
    for length in [64, 256, 1518] {
        sums(length);
    }
    scramblers();
    for length in [64, 128, 256, 512, 1518, 9018] {
        whole_way(length);
    }
    troubled();
}
