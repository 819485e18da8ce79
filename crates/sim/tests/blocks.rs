//! Links at the level of blocks beside those at the level of frames.

use crate::cast::{Echo, Hub, Source, sink, source};
use node::link::{LineCounters, LinkCounters};
use node::{
    Channel, Clocks, Frame, Graph, Level, Node, Oscillator, Out, Port, Properties, QueueLimit, Time,
};
use sim::{Options, run};

const COLUMN: Time = Time::from_ps(3_200);

/// A link at this level on which any number of frames may wait.
fn channel(level: Level) -> Channel {
    Channel {
        level,
        queue: QueueLimit::Packets(u32::MAX),
        ..Channel::default()
    }
}

/// Both ends exact.
fn exact() -> Level {
    Level::Block(Clocks::default())
}

fn clocks(sender: f64, receiver: f64) -> Level {
    let [sender, receiver] = [sender, receiver].map(Oscillator::fast_by);
    Level::Block(Clocks {
        sender,
        receiver,
        ..Clocks::default()
    })
}

type Arrivals = Vec<(Time, Time, u32, usize)>;

/// From a source through a repeater, over two links that are alike, to a sink.
fn through_two(source: Box<Source>, channel: &Channel) -> (Arrivals, LinkCounters) {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let a = graph.add("a", source);
    let hub = graph.add("hub", Box::new(Hub(2)));
    let b = graph.add("b", node);
    graph.connect((a, 0), (hub, 0), channel.clone());
    graph.connect((hub, 1), (b, 0), channel.clone());
    let outcome = run(graph, Options::default()).unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, outcome.links[1][0])
}

/// One link, and the arrivals over it.
fn over(channel: &Channel, source: Box<Source>) -> (Arrivals, LinkCounters) {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let a = graph.add("a", source);
    let b = graph.add("b", node);
    graph.connect((a, 0), (b, 0), channel.clone());
    let outcome = run(graph, Options::default()).unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, outcome.links[0][0])
}

#[test]
fn on_the_grid_both_levels_give_the_same_times_to_the_picosecond() {
    // Lengths that fill whole columns, with the FCS; gaps from back to back to any number of columns.
    for (len, gap, delay) in [
        (60, 0, 0),
        (1514, 0, 500_000),
        (124, 38_400, 3_200),
        (1004, 1_356_800, 5_120_000),
    ] {
        let len = len / 4 * 4;
        let make = || source(2_000, len, Time::from_us(2), Time::from_ps(gap));
        let at = |level| {
            let channel = Channel {
                delay: Time::from_ps(delay / 3_200 * 3_200),
                ..channel(level)
            };
            through_two(make(), &channel)
        };
        let (frames, blocks) = (at(Level::Frame), at(exact()));
        assert_eq!(frames.0.len(), 2_000);
        assert!(
            frames.0 == blocks.0,
            "{len} {gap}: {:?} {:?}",
            frames.0[0],
            blocks.0[0]
        );
        let line = Some(LineCounters::default());
        assert_eq!(blocks.1, LinkCounters { line, ..frames.1 });
    }
}

#[test]
fn off_the_grid_they_stay_within_a_column_for_each_link_and_never_drift() {
    for (len, gap) in [
        (60, 67_201),
        (61, 0),
        (62, 68_800),
        (63, 70_001),
        (1513, 1_357_224),
    ] {
        let make = || source(20_000, len, Time::from_ps(2_000_001), Time::from_ps(gap));
        let at = |level| {
            let channel = channel(level);
            (over(&channel, make()).0, through_two(make(), &channel).0)
        };
        let (frames, blocks) = (at(Level::Frame), at(exact()));
        for ((frames, blocks), most) in [
            ((frames.0, blocks.0), COLUMN),
            // Told, sent on and told again.
            ((frames.1, blocks.1), COLUMN * 3),
        ] {
            assert_eq!(frames.len(), 20_000);
            for (frame, block) in frames.iter().zip(&blocks) {
                assert_eq!((frame.2, frame.3), (block.2, block.3));
                let late = block.1.as_ps() as i64 - frame.1.as_ps() as i64;
                let most = most.as_ps() as i64;
                assert!(
                    (-most..=most).contains(&late),
                    "{len} {gap} {frame:?} {block:?}"
                );
                assert_eq!(block.1.as_ps() % 3_200, 0, "starts stand on the grid");
            }
        }
    }
}

/// The gaps between frames of `len` bytes sent back to back, in characters.
fn gaps(len: usize, gap: u32) -> Vec<u64> {
    let channel = Channel {
        gap,
        ..channel(exact())
    };
    let (seen, _) = over(&channel, source(4_001, len, Time::from_us(2), Time::ZERO));
    let pairs = seen.windows(2);
    pairs
        .map(|pair| (pair[1].1 - pair[0].1).as_ps() / 800 - (len as u64 + 12))
        .collect()
}

#[test]
fn the_deficit_idle_count_keeps_the_mean_gap_at_12_and_none_under_9() {
    for len in 60..=68 {
        let gaps = gaps(len, 12);
        assert!(gaps.iter().all(|gap| (9..=15).contains(gap)), "{len}");
        assert_eq!(gaps.iter().sum::<u64>(), 12 * 4_000, "{len}");
    }
}

#[test]
fn a_gap_of_8_is_kept_in_the_mean_too() {
    for len in 60..=68 {
        let gaps = gaps(len, 8);
        assert!(gaps.iter().all(|gap| (5..=11).contains(gap)), "{len}");
        assert_eq!(gaps.iter().sum::<u64>(), 8 * 4_000, "{len}");
    }
}

#[test]
fn a_fast_clock_sends_more_frames_a_second_and_the_receiver_removes_idles() {
    for (sender, receiver) in [(100.0, -100.0), (-100.0, 100.0), (50.0, 50.0)] {
        let channel = channel(clocks(sender, receiver));
        let count = 297_620;
        let (seen, counters) = over(&channel, source(count, 60, Time::from_us(2), Time::ZERO));
        assert_eq!(seen.len(), count as usize);
        let line = counters.line.unwrap();
        // 20 ms: of 6.25 million columns so many parts per million.
        let off = (sender - receiver) * 6.25;
        let done = (line.idles_removed as f64 - line.idles_inserted as f64) / 4.0;
        assert!((done - off).abs() < 6.0, "{line:?}");
        assert_eq!(line.idles_removed.min(line.idles_inserted), 0);
        let span = (seen.last().unwrap().1 - seen[0].1).as_ps() as f64;
        let nominal = 67_200.0 * f64::from(count - 1);
        let ppm = (nominal / span - 1.0) * 1e6;
        assert!((ppm - sender).abs() < 1e-3, "{ppm}");
        // Told behind the last bit, by three columns at most, and in order.
        for &(now, first_bit, ..) in &seen {
            let last_bit = first_bit + Time::from_ps(51_200);
            let late = now.as_ps() as i64 - last_bit.as_ps() as i64;
            assert!((-6..=4 * 3_200).contains(&late), "{late}");
        }
    }
}

#[test]
fn a_repeater_with_a_slow_clock_cannot_keep_up_with_a_fast_one() {
    let lost = |receiver| {
        let mut graph = Graph::default();
        let (node, _) = sink();
        let frames = source(297_620, 60, Time::from_us(2), Time::ZERO);
        let a = graph.add("a", frames);
        let hub = graph.add("hub", Box::new(Hub(2)));
        let b = graph.add("b", node);
        graph.connect((a, 0), (hub, 0), channel(clocks(100.0, receiver)));
        let out = Channel {
            queue: QueueLimit::Packets(10),
            ..channel(clocks(receiver, 0.0))
        };
        let out = graph.connect((hub, 1), (b, 0), out);
        let outcome = run(graph, Options::default()).unwrap();
        outcome.links[out][0].queue_full
    };
    // 200 ppm of the frames, but for those that still wait.
    assert!((297_620 * 200 / 1_000_000 - 11..=50).contains(&lost(-100.0)));
    assert_eq!(lost(100.0), 0);
}

#[test]
fn frames_in_both_directions_have_each_its_own_clocks() {
    let mut graph = Graph::default();
    let a = graph.add("a", source(10_000, 60, Time::from_us(5), Time::ZERO));
    let b = graph.add("b", Box::new(Echo));
    let link = graph.connect((a, 0), (b, 0), channel(Level::Frame));
    let [fast, slow] = [100.0, -100.0].map(Oscillator::fast_by);
    let level = |sender: &Oscillator, receiver: &Oscillator| {
        Level::Block(Clocks {
            sender: sender.clone(),
            receiver: receiver.clone(),
            ..Clocks::default()
        })
    };
    graph.links[link].channels[0].level = level(&fast, &slow);
    graph.links[link].channels[1].level = level(&slow, &fast);
    let outcome = run(graph, Options::default()).unwrap();
    assert_eq!(outcome.frames, 20_000);
    let [forth, back] = outcome.links[0].map(|counters| counters.line.unwrap());
    assert!(
        forth.idles_removed > 0 && forth.idles_inserted == 0,
        "{forth:?}"
    );
    assert!(
        back.idles_inserted > 0 && back.idles_removed == 0,
        "{back:?}"
    );
}

#[test]
fn wrong_bits_lose_frames_alike_for_a_seed_and_whether_or_not_every_block_is_made() {
    let mut graphs = [
        (1e-6, false),
        (1e-6, false),
        (1e-6, true),
        (1e-3, false),
        (1e-3, true),
    ]
    .map(|(bit_error, every_block)| {
        let mut graph = Graph::default();
        let (node, seen) = sink();
        let a = graph.add(
            "a",
            source(5_000, 1_000, Time::from_us(2), Time::from_us(1)),
        );
        let b = graph.add("b", node);
        let channel = Channel {
            level: clocks(37.0, -12.5),
            bit_error,
            ..Channel::default()
        };
        graph.connect((a, 0), (b, 0), channel);
        let options = Options {
            seed: 3,
            every_block,
            ..Options::default()
        };
        let outcome = run(graph, options).unwrap();
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        (outcome, seen)
    })
    .into_iter();
    let [few, again, every, many, many_every] = std::array::from_fn(|_| graphs.next().unwrap());
    assert!(few == again, "a seed gives one run");
    assert!(few == every, "at 1e-6");
    assert!(many == many_every, "at 1e-3");
    let lost = few.0.links[0][0].bit_errors;
    // 8,032 bits with preamble and FCS, and headers: 8 in a thousand.
    assert!((20..70).contains(&lost), "{lost}");
    assert_eq!(lost + few.1.len() as u64, 5_000);
    let line = many.0.links[0][0].line.unwrap();
    assert!(line.high_error_rates > 0 && line.bad_fcs > 0, "{line:?}");
    assert!(many.1.len() < 20);
}

#[test]
fn days_of_idles_cost_nothing() {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let day = Time::from_secs(86_400);
    let a = graph.add("a", source(3, 60, Time::from_secs(1), day));
    let b = graph.add("b", node);
    let channel = Channel {
        level: clocks(100.0, -100.0),
        bit_error: 1e-3,
        ..Channel::default()
    };
    graph.connect((a, 0), (b, 0), channel);
    let outcome = run(graph, Options::default()).unwrap();
    let line = outcome.links[0][0].line.unwrap();
    let columns = line.idles_removed / 4;
    assert!(
        (columns as f64 - 2.0 * 5.4e9 - 62_500.0).abs() < 10.0,
        "{columns}"
    );
    // Far more blocks were passed over than went through the receiver.
    assert!(line.passed_over > 26_000_000_000_000, "{line:?}");
    assert!(seen.lock().unwrap().len() < 3);
}

/// Sends on at once what it needs only the head of.
struct CutThrough(usize);

impl Node for CutThrough {
    fn properties(&self) -> Properties {
        Properties {
            needs: Some(self.0),
            ..Properties::of(2)
        }
    }

    fn frames(&mut self, _: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.send(Port(1 - port.0), frame);
        }
    }
}

#[test]
fn a_node_that_needs_only_the_head_is_told_when_the_column_with_its_last_byte_is_in() {
    // 16 bytes end with a column; of 14 the rest of the column has to come too.
    for (needs, late) in [(0, 3_200), (14, 1_600), (16, 0), (1_000, 0)] {
        let [frames, blocks] = [Level::Frame, exact()].map(|level| {
            let mut graph = Graph::default();
            let (node, seen) = sink();
            let a = graph.add("a", source(500, 1_512, Time::from_us(2), Time::ZERO));
            let through = graph.add("through", Box::new(CutThrough(needs)));
            let b = graph.add("b", node);
            graph.connect((a, 0), (through, 0), channel(level.clone()));
            graph.connect((through, 1), (b, 0), channel(level));
            run(graph, Options::default()).unwrap();
            std::mem::take(&mut *seen.lock().unwrap())
        });
        assert_eq!(frames.len(), 500);
        for (frame, block) in frames.iter().zip(&blocks) {
            assert_eq!(block.1 - frame.1, Time::from_ps(late), "{needs}");
            assert_eq!(block.2, frame.2);
        }
    }
}

#[test]
fn a_departure_at_the_end_of_time_is_refused_and_costs_nothing() {
    for bit_error in [0.0, 1e-3] {
        let mut graph = Graph::default();
        let (node, seen) = sink();
        let a = graph.add("a", source(1, 60, Time::MAX, Time::ZERO));
        let b = graph.add("b", node);
        let channel = Channel {
            bit_error,
            ..channel(clocks(100.0, -100.0))
        };
        graph.connect((a, 0), (b, 0), channel);
        let outcome = run(graph, Options::default()).unwrap();
        assert_eq!(seen.lock().unwrap().len(), 0);
        let refused = &outcome.nodes[0].drops;
        let counters = outcome.links[0][0];
        assert!(
            refused.len() == 1 || counters.bit_errors == 1,
            "{outcome:?}"
        );
    }
}

#[test]
fn a_super_frame_is_refused_by_a_link_of_blocks_and_carried_by_one_of_frames() {
    for (level, len, came) in [
        (exact(), 16_000, 1),
        (exact(), 16_001, 0),
        (Level::Frame, 262_144, 1),
    ] {
        let mut graph = Graph::default();
        let (node, seen) = sink();
        let a = graph.add("a", source(1, len, Time::ZERO, Time::ZERO));
        let b = graph.add("b", node);
        graph.connect((a, 0), (b, 0), channel(level));
        let outcome = run(graph, Options::default()).unwrap();
        assert_eq!(seen.lock().unwrap().len(), came, "{len}");
        let drops = &outcome.nodes[0].drops;
        assert_eq!(drops.len(), 1 - came, "{drops:?}");
        assert_eq!(outcome.links[0][0].bit_errors, 0);
    }
}
