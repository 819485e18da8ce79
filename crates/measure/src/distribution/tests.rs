use super::*;
use std::string::ToString;

const DRAWS: usize = 400_000;

/// Mean and standard deviation of many draws, as counts.
fn moments<T: Unit>(text: &str, seed: u64) -> (f64, f64)
where
    Distribution<T>: core::str::FromStr<Err = DistributionError>,
{
    let distribution: Distribution<T> = text.parse().unwrap();
    let mut sampler = Sampler::new(&distribution, seed);
    let (least, greatest) = (
        distribution.least().count(),
        distribution.greatest().count(),
    );
    let values: Vec<f64> = (0..DRAWS)
        .map(|_| sampler.draw().count())
        .inspect(|value| assert!((least..=greatest).contains(value), "{text}: {value}"))
        .map(|value| value as f64)
        .collect();
    let mean = values.iter().sum::<f64>() / DRAWS as f64;
    let square = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum::<f64>();
    (mean, libm::sqrt(square / DRAWS as f64))
}

#[test]
fn draws_have_the_mean_and_the_deviation_that_are_promised() {
    // In standard errors: that of a mean is sd / sqrt(n); that of an sd is given by the kurtosis, which
    // for the heavy tails here asks for more room.
    for (text, room) in [
        ("10ms", 0.0),
        ("uniform(5ms, 15ms)", 0.005),
        ("normal(10ms, 1ms)", 0.005),
        ("exponential(10ms)", 0.01),
        ("exponential(10ms, 8ms)", 0.01),
        ("pareto(1ms, 6)", 0.05),
        ("lognormal(10ms, 3ms)", 0.01),
        ("table(1ms, 2ms, 9ms)", 0.005),
        ("table(64ns: 7, 594ns: 4, 1518ns: 1)", 0.005),
    ] {
        let distribution: Distribution = text.parse().unwrap();
        let (mean, sd) = moments::<Time>(text, 1);
        let error = 5.0 * distribution.sd() / libm::sqrt(DRAWS as f64);
        assert!(
            (mean - distribution.mean()).abs() <= error,
            "{text}: {mean}"
        );
        let off = (sd - distribution.sd()).abs();
        assert!(off <= room * distribution.sd(), "{text}: {sd}");
    }
}

#[test]
fn plain_numbers_are_drawn_too() {
    let (mean, sd) = moments::<u64>("uniform(0, 3)", 2);
    assert!(
        (mean - 1.5).abs() < 0.01 && (sd - 1.118).abs() < 0.01,
        "{mean} {sd}"
    );
    let (mean, _) = moments::<u64>("table(64: 7, 594: 4, 1518: 1)", 3);
    assert!((mean - 361.83).abs() < 3.5, "{mean}");
    let (mean, sd) = moments::<u64>("lognormal(700, 400)", 4);
    assert!(
        (mean - 700.0).abs() < 4.0 && (sd - 400.0).abs() < 8.0,
        "{mean} {sd}"
    );
}

#[test]
fn the_tail_of_a_pareto_distribution_is_as_heavy_as_its_shape_says() {
    let distribution: Distribution<u64> = "pareto(1_000, 1.5)".parse().unwrap();
    let mut sampler = Sampler::new(&distribution, 5);
    let values: Vec<u64> = (0..DRAWS).map(|_| sampler.draw()).collect();
    for times in [2.0, 10.0, 50.0] {
        let over = values
            .iter()
            .filter(|&&value| value as f64 > 1_000.0 * times)
            .count();
        let wanted = DRAWS as f64 * libm::pow(times, -1.5);
        assert!(
            (over as f64 - wanted).abs() < 5.0 * libm::sqrt(wanted),
            "{times}: {over}"
        );
    }
    assert_eq!(
        (distribution.mean(), distribution.sd()),
        (3_000.0, f64::INFINITY)
    );
}

#[test]
fn equal_seeds_give_equal_values_and_others_others() {
    let distribution: Distribution = "normal(10ms, 1ms)".parse().unwrap();
    let draws = |seed| {
        let mut sampler = Sampler::new(&distribution, seed);
        (0..100).map(|_| sampler.draw()).collect::<Vec<Time>>()
    };
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
}

#[test]
fn the_place_in_the_normal_distribution_is_the_place_in_any_other() {
    for (text, low, middle) in [
        ("uniform(0, 1_000_000)", 22_750, 500_000),
        ("exponential(1_000_000)", 23_013, 693_147),
        ("pareto(1_000_000, 2)", 1_011_573, 1_414_214),
        ("normal(5_000_000, 1_000_000)", 3_000_000, 5_000_000),
    ] {
        let distribution: Distribution<u64> = text.parse().unwrap();
        let sampler = Sampler::new(&distribution, 0);
        let near = |a: u64, b: u64| a.abs_diff(b) <= 1 + b / 100_000;
        assert!(
            near(sampler.at_normal(-2.0), low),
            "{text}: {}",
            sampler.at_normal(-2.0)
        );
        assert!(
            near(sampler.at_normal(0.0), middle),
            "{text}: {}",
            sampler.at_normal(0.0)
        );
    }
}

#[test]
fn a_distribution_reads_back_as_it_is_shown() {
    for text in [
        "10 ms",
        "uniform(5 ms, 15 ms)",
        "normal(10 ms, 1 ms)",
        "exponential(10 ms)",
        "exponential(10 ms, 2 ms)",
        "pareto(1 ms, 2.5)",
        "lognormal(10 ms, 3 ms)",
        "table(1 ms, 2 ms, 5 ms)",
        "table(1 ms: 3, 2 ms: 0)",
    ] {
        let distribution: Distribution = text.parse().unwrap();
        assert_eq!(distribution.to_string(), text);
    }
    assert_eq!("constant(7)".parse(), Ok(Distribution::Constant(7u64)));
    assert_eq!(
        " uniform ( 1 , 2 ) ".parse(),
        Ok(Distribution::Uniform {
            least: 1u64,
            greatest: 2
        })
    );
}

#[test]
fn what_is_wrong_is_pointed_at() {
    for (text, word) in [
        ("uniform(5ms, 15parsec)", "15parsec"),
        ("uniform(15ms, 5ms)", "15ms, 5ms"),
        ("uniform(5ms)", "uniform(5ms)"),
        ("uniforn(5ms, 15ms)", "uniforn"),
        ("pareto(1ms, 0)", "0"),
        ("pareto(1ms, nan)", "nan"),
        ("normal", "normal"),
        ("normal(1ms, 2ms", "normal(1ms, 2ms"),
        ("table(1ms: 2, 2ms: x)", "x"),
        ("table(1ms: 0)", "1ms: 0"),
        ("lognormal(0, 1ms)", "0"),
        ("exponential(1ms, 2ms)", "1ms, 2ms"),
        ("soon", "soon"),
        ("5", "5"),
        ("", ""),
    ] {
        let error = text.parse::<Distribution>().unwrap_err();
        assert_eq!(error.word(text), word, "{text}: {error}");
    }
    assert!("-5".parse::<Distribution<u64>>().is_err());
    assert!("+5".parse::<Distribution<u64>>().is_err());
}

#[test]
fn what_is_made_by_hand_draws_without_a_panic() {
    for distribution in [
        Distribution::Uniform {
            least: 9,
            greatest: 1,
        },
        Distribution::Uniform {
            least: 0,
            greatest: u64::MAX,
        },
        Distribution::Normal {
            mean: u64::MAX,
            sd: u64::MAX,
        },
        Distribution::Exponential { mean: 1, least: 9 },
        Distribution::Pareto {
            least: u64::MAX,
            shape: -1.0,
        },
        Distribution::Pareto {
            least: 1,
            shape: f64::NAN,
        },
        Distribution::LogNormal { mean: 0, sd: 9 },
        Distribution::Table(Vec::new()),
        Distribution::Table([(5, 0)].into()),
    ] {
        let mut sampler = Sampler::new(&distribution, 1);
        (0..1000).for_each(|_| {
            sampler.draw();
        });
        let _ = (
            distribution.mean(),
            distribution.sd(),
            distribution.least(),
            distribution.greatest(),
        );
        sampler.at_normal(f64::INFINITY);
        sampler.at_normal(f64::NEG_INFINITY);
    }
}
