use super::*;
use crate::delay::Spec;
use std::vec::Vec;

const DRAWS: usize = 400_000;

/// Mean, standard deviation and correlation of neighbours of the delays that a SPEC gives, in ms.
fn moments(spec: &str) -> [f64; 3] {
    let spec: Spec = spec.parse().unwrap();
    let mut lags = Lags::new(&spec.delay, 1);
    let mut random = Random::new(2);
    let least = lags.least();
    let mut draw = || {
        let lag = lags.next(&mut random, Time::ZERO).unwrap();
        assert!(lag >= least, "{lag} < {least}");
        lag.as_secs_f64() * 1000.0
    };
    let values: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    let n = DRAWS as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    let pairs = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean));
    [
        mean,
        libm::sqrt(variance),
        pairs.sum::<f64>() / n / variance,
    ]
}

#[test]
fn delays_have_the_mean_the_jitter_and_the_correlation_asked_for() {
    let uniform = 10.0 / libm::sqrt(3.0);
    for (spec, sd, r, room) in [
        ("delay 100ms 10ms", uniform, 0.0, 0.02),
        ("delay 100ms 10ms 25%", uniform, 0.25, 0.02),
        ("delay 100ms 10ms distribution normal", 10.0, 0.0, 0.02),
        ("delay 100ms 10ms 25% distribution normal", 10.0, 0.25, 0.02),
        ("delay 100ms 10ms 90% distribution normal", 10.0, 0.90, 0.02),
        ("delay 100ms 10ms distribution exponential", 10.0, 0.0, 0.02),
        (
            "delay 100ms 10ms 50% distribution exponential",
            10.0,
            0.50,
            0.03,
        ),
        ("delay 100ms 10ms distribution pareto 6", 10.0, 0.0, 0.05),
        (
            "delay 100ms 10ms 30% distribution pareto 6",
            10.0,
            0.30,
            0.05,
        ),
        ("delay lognormal(100ms, 10ms) 40%", 10.0, 0.40, 0.02),
        ("delay uniform(90ms, 110ms) 60%", uniform, 0.60, 0.02),
    ] {
        let [mean, deviation, correlation] = moments(spec);
        // A correlation of r leaves (1 - r) / (1 + r) of the draws' worth.
        let worth = DRAWS as f64 * (1.0 - r) / (1.0 + r);
        assert!(
            (mean - 100.0).abs() < 5.0 * sd / libm::sqrt(worth),
            "{spec}: mean {mean}"
        );
        assert!((deviation - sd).abs() < room * sd, "{spec}: sd {deviation}");
        assert!(
            (correlation - r).abs() < room / 2.0,
            "{spec}: correlation {correlation}"
        );
    }
}

#[test]
fn the_heavy_tailed_shapes_of_netem_have_the_mean_and_the_tail_they_should() {
    // Of shape 3 the fourth moment is infinite, so that a sample's deviation says little: the tail is counted.
    for (shape, least) in [("pareto", -0.577), ("paretonormal", -2.061)] {
        let spec = std::format!("delay 100ms 10ms distribution {shape}");
        let [mean, deviation, _] = moments(&spec);
        assert!((mean - 100.0).abs() < 0.2, "{shape}: {mean}");
        assert!((8.0..12.5).contains(&deviation), "{shape}: {deviation}");
        let lags = Lags::new(&spec.parse::<Spec>().unwrap().delay, 1);
        let floor = lags.least().as_secs_f64() * 1000.0;
        assert!(
            (floor - (100.0 + 10.0 * least)).abs() < 1.0,
            "{shape}: {floor}"
        );
    }
    let pareto = Pareto::new(3.0);
    assert!((pareto.at(1e-3) - (10.0 - 1.5) / libm::sqrt(0.75)).abs() < 1e-9);
}

#[test]
fn a_table_of_tc_is_drawn_from() {
    let mut spec: Spec = "delay 100ms 10ms distribution ./two.dist".parse().unwrap();
    spec.load(&mut |name| {
        assert_eq!(name, "./two.dist");
        Ok::<_, core::convert::Infallible>("# two values\n-8192 8192\n".into())
    })
    .unwrap();
    let mut lags = Lags::new(&spec.delay, 1);
    let mut random = Random::new(1);
    let mut counts = [0; 2];
    for _ in 0..10_000 {
        match lags.next(&mut random, Time::ZERO).unwrap().as_ns() {
            90_000_000 => counts[0] += 1,
            110_000_000 => counts[1] += 1,
            other => panic!("{other} ns"),
        }
    }
    assert!(counts[0] > 4_700 && counts[1] > 4_700, "{counts:?}");
}

#[test]
fn a_delay_is_never_below_zero() {
    let [mean, ..] = moments("delay 1ms 10ms distribution normal");
    // The mean of a normal value cut off at 0: m (1 - F(-m/s)) + s f(m/s).
    assert!((mean - 4.509).abs() < 0.06, "{mean}");
}
