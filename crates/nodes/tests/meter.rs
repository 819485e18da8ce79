use crate::hand::Hand;
use measure::statistics::Order;
use node::{Frame, Node, Out, Time, When};
use nodes::generator::{self, Generator};
use nodes::meter::{Config, Meter};

/// The first `count` frames of a generator at 10 Gb/s, and when they leave.
fn train(stream: u16, count: u64) -> Vec<(Time, Frame)> {
    let config = generator::Config {
        rate: Some(node::Rate::TEN_GIGABIT),
        count: Some(count),
        stream,
        ..Default::default()
    };
    let mut generator = Generator::new(config).unwrap();
    let (mut out, mut train) = (Out::default(), Vec::new());
    while let Some(at) = generator.next_wake() {
        generator.wake(at, &mut out);
        train.extend(out.sends().map(|departure| match departure.when {
            When::At(at) => (at, departure.frame),
            When::Now => panic!("a departure without a time"),
        }));
    }
    train
}

fn measure(config: Config, arrivals: &[(Time, Frame)]) -> Hand<Meter> {
    let mut meter = Hand::new(Meter::new(config));
    for (at, frame) in arrivals {
        meter.now = *at;
        meter.frame(0, frame);
    }
    meter
}

#[test]
fn an_exact_train_has_gaps_of_67_200_ps_and_no_deviation() {
    let mut train = train(0, 1_000);
    for (at, _) in &mut train {
        *at += Time::from_us(3);
    }
    let meter = measure(Config::default(), &train);
    let gaps = meter.node.statistics().gaps();
    assert_eq!((gaps.count, gaps.mean, gaps.sd), (999, 67_200.0, 0.0));
    assert_eq!((gaps.min, gaps.max), (67_200, 67_200));
    let delays = meter.node.statistics().delays();
    assert_eq!((delays.mean, delays.sd), (3_000_000.0, 0.0));
    assert_eq!(meter.node.statistics().order(), Order::default());
    assert_eq!(
        (meter.counter("gap_mean_ps"), meter.counter("delay_max_ps")),
        (67_200, 3_000_000)
    );
}

#[test]
fn loss_reordering_and_copies_are_told_apart() {
    let mut train = train(0, 20);
    train.remove(5);
    let copy = train[7].clone();
    train.insert(9, copy);
    train.swap(12, 14);
    // Time goes on all the same.
    for (n, (at, _)) in train.iter_mut().enumerate() {
        *at = Time::from_us(1_000 + n as u64);
    }
    let order = measure(Config::default(), &train).node.statistics().order();
    assert_eq!((order.lost, order.duplicates, order.reordered), (1, 1, 2));
}

#[test]
fn streams_are_followed_apart_and_may_be_chosen() {
    let mut both = train(1, 50);
    both.extend(train(2, 50));
    both.sort_by_key(|(at, _)| *at);
    let all = measure(Config::default(), &both);
    assert_eq!((all.counter("packets"), all.counter("lost")), (100, 0));
    let stream = Some(2);
    let second = measure(
        Config {
            stream,
            ..Config::default()
        },
        &both,
    );
    assert_eq!(second.counter("packets"), 50);
}

#[test]
fn a_probe_that_arrives_before_it_left_has_no_delay() {
    let mut train = train(0, 2);
    train[0].0 = Time::ZERO;
    let meter = measure(Config::default(), &train);
    assert_eq!(
        (
            meter.counter("early"),
            meter.node.statistics().delays().count
        ),
        (1, 1)
    );
}

#[test]
fn frames_without_a_probe_are_counted_and_their_gaps_measured() {
    let noise = [0, 5, 10].map(|at| (Time::from_us(at), Frame::new(&[0; 60])));
    let meter = measure(Config::default(), &noise);
    assert_eq!((meter.counter("packets"), meter.counter("probes")), (3, 0));
    assert_eq!(meter.counter("gap_mean_ps"), 5_000_000);
}
