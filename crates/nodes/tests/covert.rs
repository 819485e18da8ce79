//! Messages in gaps: put in, taken out, and what becomes of them and of the traffic.

use node::random::Random;
use node::{Frame, Node, Out, Port, Time, When};
use nodes::covert::{Config, Covert, Role};
use std::sync::{Arc, Mutex};

/// A frame's arrival and its bytes without FCS.
type Arrival = (Time, usize);

fn config(message: &str) -> Config {
    Config {
        message: message.into(),
        ..Config::default()
    }
}

/// Lets frames through an encoder; their departures, by counters, and how long each was held.
fn encoded(config: Config, frames: &[Arrival]) -> (Vec<Arrival>, Covert) {
    let mut covert = Covert::new(config, Box::new(|_, _| {})).unwrap();
    let mut out = Out::default();
    let mut departures = Vec::new();
    for &(arrived, len) in frames {
        let mut frame = Frame::new(&vec![0; len]);
        frame.set_arrived(arrived);
        let now = arrived + Time::from_ps(800) * (len as u64 + 4);
        covert.frames(now, Port(0), &mut vec![frame], &mut out);
        let departure = out.sends().next().unwrap();
        let When::At(at) = departure.when else {
            panic!("a frame that leaves at no certain time");
        };
        assert_eq!(departure.port, Port(1));
        departures.push((at, len));
    }
    (departures, covert)
}

/// The messages that a decoder finds, and the node.
fn decoded(config: Config, frames: &[Arrival]) -> (Vec<String>, Covert) {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let heard = messages.clone();
    let reader = move |_: Time, message: &[u8]| {
        heard
            .lock()
            .unwrap()
            .push(String::from_utf8(message.into()).unwrap());
    };
    let config = Config {
        role: Role::Decode,
        ..config
    };
    let mut covert = Covert::new(config, Box::new(reader)).unwrap();
    let mut out = Out::default();
    for &(arrived, len) in frames {
        let mut frame = Frame::new(&vec![0; len]);
        frame.set_arrived(arrived);
        covert.frames(arrived, Port(0), &mut vec![frame], &mut out);
    }
    let messages = messages.lock().unwrap().clone();
    (messages, covert)
}

fn counter(covert: &Covert, name: &str) -> u64 {
    covert.statistics().get(name).unwrap()
}

/// So many frames of 1518 bytes with 170 idles between them.
fn even(many: u64) -> Vec<Arrival> {
    (0..many)
        .map(|n| (Time::from_us(1) + Time::from_ps(1_356_800) * n, 1514))
        .collect()
}

fn idles(frames: &[Arrival]) -> Vec<i64> {
    let pairs = frames.windows(2);
    let gap =
        |pair: &[Arrival]| (pair[1].0 - pair[0].0).as_ps() as i64 / 800 - pair[0].1 as i64 - 12;
    pairs.map(gap).collect()
}

#[test]
fn every_gap_of_even_traffic_carries_a_bit_and_its_rate_stays() {
    let config = config("the quick brown fox");
    let (sent, covert) = encoded(config.clone(), &even(10_000));
    let gaps = idles(&sent);
    assert!(gaps.iter().all(|gap| [154, 186].contains(gap)));
    assert_eq!(
        (counter(&covert, "bits"), counter(&covert, "uncoded")),
        (9_999, 0)
    );
    // Every frame is held for the delay, give or take what chunks are out of balance.
    for (sent, came) in sent.iter().zip(even(10_000)) {
        let held = (sent.0 - came.0).as_ns() as i64;
        assert!((held - 5_000).abs() < 3_000, "{held} ns");
    }
    let (messages, decoder) = decoded(config, &sent);
    assert_eq!(messages.len(), 12);
    assert!(
        messages
            .iter()
            .all(|message| message == "the quick brown fox")
    );
    assert_eq!(
        (counter(&decoder, "chunks"), counter(&decoder, "bit_errors")),
        (24, 0)
    );
}

#[test]
fn bursts_and_pauses_carry_the_message_too() {
    // Chains at line rate, of 1 to 20 frames of any size, and pauses of up to 100 us.
    let mut random = Random::new(1);
    let (mut at, mut frames) = (Time::from_us(1), Vec::new());
    while frames.len() < 40_000 {
        for _ in 0..=random.below(20) {
            let len = 60 + random.below(1_455) as usize;
            frames.push((at, len));
            at += Time::from_ps(800) * (len as u64 + 24);
        }
        at += Time::from_ns(random.below(100_000));
    }
    let config = config("through bursts");
    let (sent, covert) = encoded(config.clone(), &frames);
    assert!(idles(&sent).iter().all(|&gap| gap >= 12));
    assert!(counter(&covert, "uncoded") > 1_000);
    let (messages, decoder) = decoded(config, &sent);
    assert!(messages.len() as u64 >= counter(&covert, "bits") / 400 - 1);
    assert!(messages.iter().all(|message| message == "through bursts"));
    assert_eq!(counter(&decoder, "failed"), 0);
    assert_eq!(counter(&decoder, "bits"), counter(&covert, "bits"));
}

#[test]
fn traffic_too_dense_for_the_gaps_is_not_held_up_without_end() {
    // At line rate: 12 idles where 170 are wanted.
    let frames: Vec<Arrival> = (0..100_000)
        .map(|n| (Time::from_us(1) + Time::from_ps(1_230_400) * n, 1514))
        .collect();
    let (sent, covert) = encoded(config("dense"), &frames);
    let held = sent.iter().zip(&frames).map(|(sent, came)| sent.0 - came.0);
    assert!(held.max().unwrap() < Time::from_us(1_010));
    assert!(counter(&covert, "bits") > 5_000);
    assert!(idles(&sent).iter().all(|&gap| gap >= 12));
}

#[test]
fn jitter_up_to_epsilon_does_no_harm_and_more_is_counted() {
    let config = Config {
        epsilon: 64,
        ..config("with jitter")
    };
    let (sent, _) = encoded(config.clone(), &even(20_000));
    let shaken = |most_ns: u64| {
        let mut random = Random::new(9);
        let later = |&(at, len): &Arrival| (at + Time::from_ns(random.below(most_ns)), len);
        sent.iter().map(later).collect::<Vec<_>>()
    };
    let (messages, decoder) = decoded(config.clone(), &shaken(50));
    assert_eq!(counter(&decoder, "bit_errors"), 0);
    assert!(messages.len() >= 48);
    // Of two stamps up to 65 ns late the second is 51.2 ns later, or earlier, than the first in 2 % of all pairs.
    let (_, decoder) = decoded(config, &shaken(65));
    assert!(counter(&decoder, "bit_errors") > 50);
    assert!(counter(&decoder, "messages") > 10);
}

#[test]
fn lost_frames_cost_their_chunk_and_no_more() {
    let config = config("some frames are lost");
    let (mut sent, _) = encoded(config.clone(), &even(20_000));
    let all = decoded(config.clone(), &sent).1;
    for n in 0..10 {
        sent.remove(1_000 + 1_900 * n);
    }
    let (messages, decoder) = decoded(config, &sent);
    assert!(counter(&decoder, "chunks") >= counter(&all, "chunks") - 10);
    assert!(
        !messages.is_empty()
            && messages
                .iter()
                .all(|message| message == "some frames are lost")
    );
}

#[test]
fn a_message_said_once_leaves_the_rest_of_the_traffic_alone() {
    let config = Config {
        times: 1,
        ..config("once")
    };
    let frames = even(5_000);
    let (sent, covert) = encoded(config, &frames);
    assert_eq!(counter(&covert, "bits"), 400);
    assert!(idles(&sent[1_000..]).iter().all(|&gap| gap == 170));
}

#[test]
fn what_cannot_work_is_refused_with_the_key() {
    let key = |config: Config| {
        Covert::new(config, Box::new(|_, _| {}))
            .err()
            .map(|error| error.key)
    };
    assert_eq!(key(config("")), Some("message"));
    assert_eq!(key(config(&"x".repeat(5_000))), Some("message"));
    let tight = Config {
        idles: 20,
        epsilon: 9,
        ..config("x")
    };
    assert_eq!(key(tight.clone()), Some("idles"));
    let least = Config {
        epsilon: 8,
        ..tight
    };
    assert_eq!(key(least.clone()), None);
    let none = Config {
        epsilon: 0,
        ..least
    };
    assert_eq!(key(none), Some("epsilon"));
    let narrow = Config {
        role: Role::Detect,
        window: 10,
        ..config("")
    };
    assert_eq!(key(narrow), Some("window"));
}

#[test]
fn stamps_that_go_back_are_gaps_without_a_bit() {
    let frames = [
        (Time::from_us(5), 60),
        (Time::from_us(1), 60),
        (Time::MAX, 60),
        (Time::ZERO, 0),
    ];
    let (messages, decoder) = decoded(config("x"), &frames);
    assert!(messages.is_empty());
    assert_eq!(
        (counter(&decoder, "packets"), counter(&decoder, "uncoded")),
        (4, 3)
    );
    let config = Config {
        role: Role::Detect,
        ..config("")
    };
    let mut watch = Covert::new(config, Box::new(|_, _| {})).unwrap();
    for round in 0..200 {
        let (arrived, len) = frames[round % 4];
        let mut frame = Frame::new(&vec![0; len]);
        frame.set_arrived(arrived);
        watch.frames(arrived, Port(0), &mut vec![frame], &mut Out::default());
    }
}
