//! What the manual of tc-netem(8) promises, kept by the delay box: exactly where it can be, in its
//! statistics elsewhere, alike for a seed.

use crate::cast::{sink, source};
use node::{Channel, Graph, Outcome, Time};
use nodes::delay::{Config, Delay};
use sim::{Options, run};

/// Frames of a run.
const FRAMES: u32 = 200_000;

/// A frame that came out.
struct Got {
    number: u32,
    len: usize,
    /// From arrival at the box to departure, ns.
    delay: f64,
    left: Time,
}

/// Sends frames of `len` bytes, `gap` apart, through a box; what comes out, and the outcome.
fn through(spec: &str, many: u32, len: usize, gap: Time) -> (Vec<Got>, Outcome) {
    let mut graph = Graph::default();
    let (node, seen) = sink();
    let start = Time::from_us(10);
    let a = graph.add("a", source(many, len, start, gap));
    let config = Config {
        forth: spec.parse().unwrap(),
        back: None,
    };
    let bad = graph.add("box", Box::new(Delay::new(config).unwrap()));
    let b = graph.add("b", node);
    // Frames take no time on these links, so that all times are the box's.
    let link = Channel {
        rate: None,
        ..Channel::default()
    };
    graph.connect((a, 0), (bad, 0), link.clone());
    graph.connect((bad, 1), (b, 0), link);
    let outcome = run(graph, Options::default()).unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let got = seen.into_iter().map(|(_, left, number, len)| Got {
        number,
        len,
        delay: (left - (start + gap * number.into())).as_ps() as f64 / 1000.0,
        left,
    });
    (got.collect(), outcome)
}

fn counter(outcome: &Outcome, name: &str) -> u64 {
    let counters = &outcome.nodes[1].counters;
    counters.iter().find(|(known, _)| known == name).unwrap().1
}

fn drops(outcome: &Outcome, reason: &str) -> u64 {
    let drops = outcome.nodes[1].drops.iter();
    drops
        .filter(|(known, _)| known == reason)
        .map(|(_, count)| count)
        .sum()
}

/// Mean, standard deviation and correlation of neighbours.
fn moments(values: &[f64]) -> [f64; 3] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    let both = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean));
    [mean, variance.sqrt(), both.sum::<f64>() / n / variance]
}

/// Delays in the order in which frames came in.
fn delays(mut got: Vec<Got>) -> Vec<f64> {
    got.sort_by_key(|got| got.number);
    got.iter().map(|got| got.delay).collect()
}

/// Which frames came out, by number.
fn arrived(got: &[Got]) -> Vec<bool> {
    let mut arrived = vec![false; FRAMES as usize];
    got.iter()
        .for_each(|got| arrived[got.number as usize] = true);
    arrived
}

/// Lengths of the runs of frames that did not.
fn bursts(arrived: &[bool]) -> Vec<f64> {
    let runs = arrived.split(|&came| came).map(<[bool]>::len);
    runs.filter(|&len| len > 0).map(|len| len as f64).collect()
}

const MS: f64 = 1e6;

#[test]
fn a_plain_delay_is_exact_to_the_picosecond() {
    let (got, outcome) = through("delay 100ms", 10_000, 60, Time::from_us(7));
    assert_eq!(got.len(), 10_000);
    assert!(got.iter().all(|got| got.delay == 100.0 * MS));
    assert_eq!(outcome.links[1][0].late, 0);
    // The box asks for no wake: the departures of a plain delay are certain when a frame comes.
    assert_eq!(counter(&outcome, "most_held"), 10_000);
}

#[test]
fn jitter_has_the_mean_the_deviation_and_the_correlation_asked_for() {
    for (spec, sd, r) in [
        ("delay 100ms 10ms", 10.0 / 3f64.sqrt(), 0.0),
        ("delay 100ms 10ms 25%", 10.0 / 3f64.sqrt(), 0.25),
        ("delay 100ms 20ms distribution normal", 20.0, 0.0),
        ("delay 100ms 20ms 25% distribution normal", 20.0, 0.25),
        ("delay 100ms 20ms 75% distribution normal", 20.0, 0.75),
    ] {
        let (got, outcome) = through(spec, FRAMES, 60, Time::from_us(100));
        assert_eq!(got.len(), FRAMES as usize, "{spec}");
        let [mean, deviation, correlation] = moments(&delays(got));
        let worth = f64::from(FRAMES) * (1.0 - r) / (1.0 + r);
        assert!(
            (mean / MS - 100.0).abs() < 5.0 * sd / worth.sqrt(),
            "{spec}: mean {mean}"
        );
        assert!(
            (deviation / MS - sd).abs() < 0.02 * sd,
            "{spec}: sd {deviation}"
        );
        assert!(
            (correlation - r).abs() < 0.02,
            "{spec}: correlation {correlation}"
        );
        assert_eq!(outcome.links[1][0].late, 0, "{spec}");
    }
}

#[test]
fn frames_with_jitter_overtake_each_other_and_a_rate_keeps_them_in_order() {
    let gap = Time::from_us(100);
    let in_order = |got: &[Got]| got.windows(2).all(|pair| pair[0].number < pair[1].number);
    let by_time = |got: &[Got]| got.windows(2).all(|pair| pair[0].left <= pair[1].left);
    let (got, _) = through("delay 10ms 5ms", 10_000, 60, gap);
    assert!(!in_order(&got) && by_time(&got));
    let (got, outcome) = through("delay 10ms 5ms rate 100mbit", 10_000, 60, gap);
    assert!(in_order(&got) && by_time(&got) && got.len() == 10_000);
    assert_eq!(outcome.links[1][0].late, 0);
}

#[test]
fn random_loss_is_as_frequent_and_as_correlated_as_asked() {
    for (spec, p, r) in [
        ("loss 1%", 0.01, 0.0),
        ("loss random 10% 50%", 0.10, 0.50),
        ("loss 0.3% 25%", 0.003, 0.25),
    ] {
        let (got, outcome) = through(spec, FRAMES, 60, Time::from_us(1));
        let lost: Vec<f64> = arrived(&got)
            .iter()
            .map(|&came| f64::from(u8::from(!came)))
            .collect();
        let [mean, _, correlation] = moments(&lost);
        let error = (p * (1.0 - p) / f64::from(FRAMES) * (1.0 + r) / (1.0 - r)).sqrt();
        assert!((mean - p).abs() < 5.0 * error, "{spec}: {mean}");
        assert!((correlation - r).abs() < 0.06, "{spec}: {correlation}");
        assert!(got.iter().all(|got| got.delay == 0.0), "{spec}");
        assert_eq!(
            drops(&outcome, "lost"),
            u64::from(FRAMES) - got.len() as u64
        );
        assert_eq!(counter(&outcome, "forth_lost"), drops(&outcome, "lost"));
    }
}

#[test]
fn the_model_of_gilbert_and_elliott_loses_in_bursts_of_the_length_that_it_says() {
    // p, r, 1-h, 1-k in percent.
    for (spec, p, r, bad, good) in [
        ("loss gemodel 1% 10%", 0.01, 0.10, 1.0, 0.0),
        ("loss gemodel 1% 10% 70%", 0.01, 0.10, 0.7, 0.0),
        ("loss gemodel 2% 20% 70% 0.1%", 0.02, 0.20, 0.7, 0.001),
    ] {
        let (got, _) = through(spec, FRAMES, 60, Time::from_us(1));
        let lost = 1.0 - got.len() as f64 / f64::from(FRAMES);
        let in_bad = p / (p + r);
        let wanted = bad * in_bad + good * (1.0 - in_bad);
        assert!(
            (lost - wanted).abs() < 0.08 * wanted,
            "{spec}: {lost}, not {wanted}"
        );
        let [mean, ..] = moments(&bursts(&arrived(&got)));
        if good == 0.0 {
            // Behind a lost frame the state is bad still with 1 - r, and the next one is lost with 1-h.
            let length = 1.0 / (1.0 - (1.0 - r) * bad);
            assert!(
                (mean - length).abs() < 0.08 * length,
                "{spec}: bursts of {mean}, not {length}"
            );
        }
    }
    // With p alone it is random loss.
    let (got, _) = through("loss gemodel 5%", FRAMES, 60, Time::from_us(1));
    let [mean, ..] = moments(&bursts(&arrived(&got)));
    assert!((mean - 1.0 / 0.95).abs() < 0.03, "{mean}");
}

#[test]
fn the_model_of_four_states_has_bursts_and_lone_losses() {
    // In the stationary state: pi1 (p13 + p14) = pi3 p31 + pi4, pi2 p23 = pi3 p32, pi4 = pi1 p14, pi1 p13 = pi3 p31.
    let (p13, p31, p32, p23, p14) = (0.01, 0.15, 0.10, 0.30, 0.004);
    let (got, _) = through(
        "loss state 1% 15% 10% 30% 0.4%",
        FRAMES,
        60,
        Time::from_us(1),
    );
    let pi3 = p13 / p31;
    let (pi2, pi4) = (pi3 * p32 / p23, p14);
    let wanted = (pi3 + pi4) / (1.0 + pi2 + pi3 + pi4);
    let lost = 1.0 - got.len() as f64 / f64::from(FRAMES);
    assert!(
        (lost - wanted).abs() < 0.08 * wanted,
        "{lost}, not {wanted}"
    );
    // Runs of losses: those of state 3, of mean 1 / (p31 + p32), and lone ones of state 4.
    let runs3 = pi3 * (p31 + p32);
    let length = (pi3 + pi4) / (runs3 + pi4);
    let [mean, ..] = moments(&bursts(&arrived(&got)));
    assert!(
        (mean - length).abs() < 0.08 * length,
        "bursts of {mean}, not {length}"
    );
}

#[test]
fn a_share_of_frames_comes_twice() {
    let (got, outcome) = through("delay 1ms duplicate 10%", FRAMES, 60, Time::from_us(1));
    let copies = got.len() as f64 - f64::from(FRAMES);
    assert!((copies - 20_000.0).abs() < 700.0, "{copies}");
    assert_eq!(counter(&outcome, "forth_duplicated") as f64, copies);
    assert!(got.iter().all(|got| got.delay == MS));
    assert!(arrived(&got).into_iter().all(|came| came));
}

#[test]
fn corruption_turns_exactly_one_bit_anywhere_in_the_frame() {
    // Frames of the source are zeros behind their number, so a frame's bits tell what was turned.
    let mut seen = [0u32; 60];
    let config = Config {
        forth: "corrupt 10%".parse().unwrap(),
        back: None,
    };
    let mut node = Delay::new(config).unwrap();
    let mut out = node::Out::default();
    let mut wrong = 0;
    for number in 0..u64::from(FRAMES) {
        let frame = node::Frame::new(&[0; 60]);
        let (now, port) = (Time::from_us(number), node::Port(0));
        node::Node::frames(&mut node, now, port, &mut vec![frame], &mut out);
        for departure in out.sends() {
            let bits: u32 = departure.frame.iter().map(|byte| byte.count_ones()).sum();
            assert!(bits <= 1);
            wrong += bits;
            departure
                .frame
                .iter()
                .zip(&mut seen)
                .for_each(|(byte, seen)| *seen += byte.count_ones());
        }
    }
    assert!((f64::from(wrong) - 20_000.0).abs() < 700.0, "{wrong}");
    assert!(
        seen.iter().all(|&count| (230..440).contains(&count)),
        "{seen:?}"
    );
}

#[test]
fn reordering_sends_a_share_at_once_and_delays_the_others() {
    // The manual's example: 25% at once, with a correlation of 50%, the others delayed by 10 ms.
    let (got, outcome) = through("delay 10ms reorder 25% 50%", FRAMES, 60, Time::from_us(100));
    let at_once = got.iter().filter(|got| got.delay == 0.0).count() as f64;
    assert!(
        (at_once / f64::from(FRAMES) - 0.25).abs() < 0.01,
        "{at_once}"
    );
    assert!(
        got.iter()
            .all(|got| got.delay == 0.0 || got.delay == 10.0 * MS)
    );
    assert_eq!(counter(&outcome, "forth_reordered") as f64, at_once);
    assert_eq!(outcome.links[1][0].late, 0);
    // The manual's other one: with a gap of 5 every fifth frame, and only those, is sent at once.
    let (got, _) = through(
        "delay 10ms reorder 100% gap 5",
        10_000,
        60,
        Time::from_us(100),
    );
    assert!(
        got.iter()
            .all(|got| (got.delay == 0.0) == (got.number % 5 == 4))
    );
}

#[test]
fn a_rate_is_kept_exactly_and_what_waits_for_it_is_limited() {
    // 1000 bytes at 8 Mb/s take 1 ms; they come every 0.5 ms.
    let gap = Time::from_us(500);
    let (got, outcome) = through("rate 8mbit", 5_000, 1000, gap);
    assert!(
        got.windows(2)
            .all(|pair| pair[1].left - pair[0].left == Time::from_ms(1))
    );
    assert_eq!(got[0].delay, MS);
    // A frame at work and a thousand that wait.
    let longest = got.iter().map(|got| got.delay).fold(0.0, f64::max);
    assert!((1000.0 * MS..=1001.5 * MS).contains(&longest), "{longest}");
    assert_eq!(
        got.len() as u64 + drops(&outcome, "queue of the rate full"),
        5_000
    );
    // Half as fast, nothing waits: each frame has its own time and the delay.
    let (got, outcome) = through("delay 20ms rate 32mbit", 5_000, 1000, gap);
    assert!(got.len() == 5_000 && got.iter().all(|got| got.delay == 20.25 * MS));
    assert!(outcome.nodes[1].drops.is_empty());
}

#[test]
fn a_delay_does_not_count_as_waiting_for_the_rate() {
    // 10,000 frames are under way; netem's limit of 1000 would lose most of them.
    let (got, outcome) = through("delay 100ms rate 1gbit", 20_000, 1000, Time::from_us(10));
    assert_eq!(got.len(), 20_000);
    assert!(counter(&outcome, "most_held") > 10_000);
    let (got, outcome) = through(
        "delay 100ms rate 1gbit limit 1000",
        20_000,
        1000,
        Time::from_us(10),
    );
    assert_eq!(
        got.len() as u64 + drops(&outcome, "delay line full"),
        20_000
    );
    assert!(counter(&outcome, "most_held") == 1000 && got.len() < 5_000);
}

#[test]
fn overheads_and_cells_count_as_on_an_adsl_line() {
    // The manual's example: 5kbit/s, 20 bytes more a packet, cells of 100 bytes with 5 more each.
    let (got, _) = through("rate 5kbit 20 100 5", 3, 170, Time::from_secs(10));
    // 190 bytes are two cells of 105 bytes.
    let wanted = 2.0 * 105.0 * 8.0 / 5_000.0 * 1e9;
    assert!(got.iter().all(|got| got.delay == wanted && got.len == 170));
    // An overhead below 0 takes the Ethernet header off.
    let (got, _) = through("rate 8mbit -14", 3, 1014, Time::from_secs(1));
    assert!(got.iter().all(|got| got.delay == MS));
}

#[test]
fn slots_let_frames_go_in_bundles() {
    let (got, _) = through("slot 10ms packets 4", 1000, 60, Time::from_ms(2));
    assert_eq!(got.len(), 1000);
    let mut bundles: Vec<(Time, usize)> = Vec::new();
    for got in &got {
        match bundles.last_mut() {
            Some((at, count)) if *at == got.left => *count += 1,
            _ => bundles.push((got.left, 1)),
        }
    }
    assert!(bundles.iter().all(|&(_, count)| count <= 4));
    assert!(
        bundles
            .windows(2)
            .all(|pair| pair[1].0 - pair[0].0 >= Time::from_ms(10))
    );
    assert!(got.windows(2).all(|pair| pair[0].number < pair[1].number));
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let spec = |seed| {
        format!(
            "delay 10ms 5ms 25% distribution normal loss 5% duplicate 5% corrupt 5% reorder 5% seed {seed}"
        )
    };
    let run = |seed| {
        let (got, _) = through(&spec(seed), 5_000, 60, Time::from_us(50));
        got.iter()
            .map(|got| (got.number, got.left))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_list_of_delays_is_followed_frame_by_frame() {
    let mut spec: nodes::delay::Spec = "delay trace list".parse().unwrap();
    spec.load::<std::convert::Infallible>(&mut |_| Ok("1ms\nlost\n3ms\n".into()))
        .unwrap();
    let mut node = Delay::new(Config {
        forth: spec,
        back: None,
    })
    .unwrap();
    let mut out = node::Out::default();
    let mut got = Vec::new();
    for number in 0..6 {
        let now = Time::from_secs(number);
        let mut frame = node::Frame::new(&[0; 60]);
        frame.set_arrived(now);
        node::Node::frames(&mut node, now, node::Port(0), &mut vec![frame], &mut out);
        while let Some(at) = node::Node::next_wake(&node) {
            node::Node::wake(&mut node, at, &mut out);
        }
        got.extend(out.sends().map(|departure| match departure.when {
            node::When::At(at) => (at - now).as_ns(),
            node::When::Now => 0,
        }));
    }
    assert_eq!(got, [1_000_000, 3_000_000, 1_000_000, 3_000_000]);
    assert_eq!(out.drops(), [("lost", 2)]);
}
