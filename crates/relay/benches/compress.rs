//! What compressing and restoring a packet costs in the node, as a ratio to the bare codec with its memory kept, on the same bytes in the same
//! run; and what packets cost that it leaves alone.
//!
//! `cargo bench -p wireline-relay --bench compress`

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into};
use node::event::{Event, Queue, What};
use node::{Frame, Node, Out, Port, Rate, Time};
use nodes::generator::{Generator, Payload, Sizes};
use relay::codec::Algorithm;
use relay::compress::{Choice, Compress, Config, Mode};
use relay::dictionary::Samples;
use relay::through::Through;
use std::hint::black_box;
use zstd_safe::{CCtx, CDict, DCtx, DDict};

/// Bytes of a UDP payload, as a TCP segment on Ethernet has them.
const PAYLOAD: usize = 1_460;
/// Different packets, so that no predictor knows them by heart.
const PACKETS: usize = 512;
const ROUNDS: usize = 20;

/// Nanoseconds for each of `each`, the best of several runs: other work on the machine only adds.
fn best(each: usize, mut run: impl FnMut()) -> f64 {
    let mut fastest = f64::INFINITY;
    for _ in 0..ROUNDS {
        #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
        let start = std::time::Instant::now();
        run();
        fastest = fastest.min(start.elapsed().as_nanos() as f64 / each as f64);
    }
    fastest
}

/// Frames of 42 bytes of headers and 1,460 of payload.
fn frames(payload: Payload, seed: u64) -> Vec<Vec<u8>> {
    let config = nodes::generator::Config {
        size: Sizes::One((42 + PAYLOAD + 4) as u16),
        count: Some(PACKETS as u64),
        probe: false,
        payload,
        seed,
        ..Default::default()
    };
    let mut generator = Generator::new(config).expect("a good configuration");
    let (mut out, mut frames) = (Out::default(), Vec::new());
    while let Some(at) = generator.next_wake() {
        generator.wake(at, &mut out);
        frames.extend(out.sends().map(|departure| departure.frame.to_vec()));
    }
    frames
}

/// Sends all frames through a node, as a world does, and gives what comes out to `see`.
fn through(
    node: &mut dyn Node,
    port: u16,
    frames: &[Vec<u8>],
    out: &mut Out,
    mut see: impl FnMut(&Frame),
) {
    let mut lot = Vec::new();
    for bytes in frames {
        lot.push(out.pool().take_with(bytes));
        node.frames(Time::ZERO, Port(port), &mut lot, out);
        let sent = out.sends().next().expect("one in, one out");
        see(&sent.frame);
        out.pool().give(sent.frame);
    }
}

fn ns(node: &mut dyn Node, port: u16, frames: &[Vec<u8>]) -> f64 {
    let mut out = Out::default();
    best(frames.len(), || {
        through(node, port, frames, &mut out, |frame| {
            black_box(frame);
        })
    })
}

/// What the codec is given: what is behind the IP header and the eight bytes in clear.
fn bare(frame: &[u8]) -> &[u8] {
    &frame[14 + 20 + 8..]
}

/// The bare codec: compressing and decompressing, ns, and the ratio of sizes.
fn codec(algorithm: Algorithm, dictionary: &[u8], frames: &[Vec<u8>]) -> (f64, f64, f64) {
    let mut buffer = vec![0; 4_000];
    let (mut table, mut zstd, mut unzstd) =
        (CompressTable::small(), CCtx::create(), DCtx::create());
    let (with, without) = (CDict::create(dictionary, 1), DDict::create(dictionary));
    let mut compress = |bytes: &[u8], buffer: &mut Vec<u8>| match algorithm {
        Algorithm::Lz4 => {
            compress_into_with_table(bytes, buffer, &mut table).expect("there is room")
        }
        Algorithm::Zstd => zstd
            .compress(&mut buffer[..], bytes, 1)
            .expect("there is room"),
        Algorithm::ZstdDictionary => zstd
            .compress_using_cdict(&mut buffer[..], bytes, &with)
            .expect("there is room"),
    };
    let forth = best(frames.len(), || {
        for frame in frames {
            black_box(compress(bare(frame), &mut buffer));
        }
    });
    let compressed: Vec<Vec<u8>> = frames
        .iter()
        .map(|frame| {
            let len = compress(bare(frame), &mut buffer);
            buffer[..len].to_vec()
        })
        .collect();
    let mut decompress = |bytes: &[u8]| match algorithm {
        Algorithm::Lz4 => decompress_into(bytes, &mut buffer).expect("good data"),
        Algorithm::Zstd => unzstd
            .decompress(&mut buffer[..], bytes)
            .expect("good data"),
        Algorithm::ZstdDictionary => unzstd
            .decompress_using_ddict(&mut buffer[..], bytes, &without)
            .expect("good data"),
    };
    let back = best(frames.len(), || {
        for bytes in &compressed {
            black_box(decompress(bytes));
        }
    });
    let after: usize = compressed.iter().map(Vec::len).sum();
    let before: usize = frames.iter().map(|frame| bare(frame).len()).sum();
    (forth, back, after as f64 / before as f64)
}

/// A node whose output queue is long, so that everything that shrinks is worth it.
fn congested(mode: Mode, algorithm: Choice, dictionary: &[u8]) -> Compress {
    let config = Config {
        mode,
        algorithm,
        dictionary: (!dictionary.is_empty()).then(|| "given".into()),
        ..Config::default()
    };
    let mut node = Compress::new(config, dictionary).expect("a good configuration");
    let queue = Queue {
        bytes: 10_000_000,
        rate: Rate::from_bits_per_second(100_000_000),
        ..Queue::default()
    };
    let event = Event {
        at: Time::ZERO,
        port: Port(1),
        what: What::Queue(queue),
    };
    node.event(Time::ZERO, &event, &mut Out::default());
    node
}

fn main() {
    let text = frames(Payload::Text, 1);
    let random = frames(Payload::Random(1.0), 1);
    let samples = frames(Payload::Text, 2);
    let mut known = Samples::default();
    assert!(samples.iter().all(|frame| known.add(frame)));
    let dictionary = known.train(16_384).expect("there are samples enough");

    let handed_on = ns(&mut Through::default(), 0, &text);
    println!(
        "datagrams of {PAYLOAD} bytes of JSON; a frame taken, copied, handed on and given back: {handed_on:.0} ns\n"
    );
    println!(
        "                          bare codec          node       node / bare  less handing on   restored at   ratio, codec  on the wire"
    );
    for algorithm in Algorithm::ALL {
        let (forth, back, ratio) = codec(algorithm, &dictionary, &text);
        let mut near = congested(Mode::Always, Choice::One(algorithm), &dictionary);
        let node_forth = ns(&mut near, 0, &text);
        let mut sent = Vec::new();
        through(&mut near, 0, &text, &mut Out::default(), |frame| {
            sent.push(frame.to_vec())
        });
        let mut far = congested(Mode::Never, Choice::Auto, &dictionary);
        let mut restored = Vec::new();
        through(&mut far, 1, &sent, &mut Out::default(), |frame| {
            restored.push(frame.to_vec())
        });
        assert_eq!(restored, text);
        let node_back = ns(&mut far, 1, &sent);
        let (after, before): (usize, usize) = (
            sent.iter().map(Vec::len).sum(),
            text.iter().map(Vec::len).sum(),
        );
        println!(
            "{:<16} compress {forth:>7.0} ns    {node_forth:>7.0} ns        {:>6.2} {:>16.2} {:>25.3} {:>12.3}",
            algorithm.name(),
            node_forth / forth,
            (node_forth - handed_on) / forth,
            ratio,
            after as f64 / before as f64,
        );
        println!(
            "{:<16}  restore {back:>7.0} ns    {node_back:>7.0} ns        {:>6.2} {:>16.2} {:>8.1} Gb/s",
            "",
            node_back / back,
            (node_back - handed_on) / back,
            8.0 * PAYLOAD as f64 / node_back,
        );
    }
    println!(
        "\nGb/s are of restored payload, on one core. On the wire: frames with the encapsulation's header, by frames before.\n"
    );

    println!("left alone                            ns    by handing on");
    let show = |name: &str, ns: f64| println!("{name:<34} {ns:>6.0} {:>12.2}", ns / handed_on);
    show(
        "never",
        ns(&mut congested(Mode::Never, Choice::Auto, &[]), 0, &text),
    );
    let idle = Config {
        rate: Rate::from_bits_per_second(10_000_000_000),
        cost: Some(Time::from_us(2)),
        ..Config::default()
    };
    let mut idle = Compress::new(idle, &[]).expect("a good configuration");
    let mut out = Out::default();
    let (mut now, mut lot) = (Time::ZERO, Vec::new());
    let not_worth = best(text.len(), || {
        for bytes in &text {
            now += Time::from_us(2);
            lot.push(out.pool().take_with(bytes));
            idle.frames(now, Port(0), &mut lot, &mut out);
            let sent = out.sends().next().expect("one in, one out");
            out.pool().give(sent.frame);
        }
    });
    show("adaptive, nothing waits", not_worth);
    let mut learned = congested(Mode::Adaptive, Choice::Auto, &dictionary);
    show(
        "adaptive, random, once that is known",
        ns(&mut learned, 0, &random),
    );
    let mut far = congested(Mode::Never, Choice::Auto, &[]);
    show("from the far side, not compressed", ns(&mut far, 1, &text));
    let (bare_random, ..) = codec(Algorithm::Lz4, &dictionary, &random);
    show("for comparison: bare lz4, random", bare_random);
    let mut always = congested(Mode::Always, Choice::One(Algorithm::Lz4), &[]);
    show("always, lz4, random", ns(&mut always, 0, &random));
    black_box(learned);
}
