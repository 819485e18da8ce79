//! Shapes of traffic: exact gaps, trains, Poisson, chains, and that none of them drifts or grows.

use node::{Node, Out, Rate, Time, When};
use nodes::generator::{Config, Frames, Generator, LogNormal, Pattern, Pause, Schedule, Sizes};

/// Departures and lengths without FCS of the first `count` frames.
fn sent(config: Config, count: u64) -> Vec<(u64, usize)> {
    let config = Config {
        start: Time::from_us(1),
        count: Some(count),
        ..config
    };
    collect(Generator::new(config).unwrap())
}

fn collect(mut generator: Generator) -> Vec<(u64, usize)> {
    let (mut out, mut all) = (Out::default(), Vec::new());
    while let Some(at) = generator.next_wake() {
        generator.wake(at, &mut out);
        let departures: Vec<_> = out.sends().collect();
        for departure in departures {
            let When::At(at) = departure.when else {
                panic!("a departure without a time");
            };
            all.push((at.as_ps(), departure.frame.len()));
            out.done(departure.frame);
        }
    }
    all
}

/// Idle characters at 10 Gb/s between neighbours; every gap is a whole number of them.
fn idles(sent: &[(u64, usize)]) -> Vec<i64> {
    let pairs = sent.windows(2);
    let gaps = pairs.map(|pair| {
        let interval = pair[1].0 - pair[0].0;
        assert_eq!(interval % 800, 0, "a departure between two characters");
        (interval / 800) as i64 - 12 - pair[0].1 as i64
    });
    gaps.collect()
}

#[test]
fn a_gap_in_idles_is_exact_at_every_size() {
    let config = Config {
        idles: Some(170),
        size: Sizes::One(1518),
        ..Config::default()
    };
    let nine = sent(config, 1_000);
    // 212 blocks: the 9 Gb/s stream of paper 002 section 4.3.3.
    assert!(
        nine.windows(2)
            .all(|pair| pair[1].0 - pair[0].0 == 1_356_800)
    );
    for gap in [8, 12, 13, 1_000] {
        let config = Config {
            idles: Some(gap),
            size: Sizes::Range {
                from: 64,
                to: 1518,
                step: 7,
            },
            ..Config::default()
        };
        assert!(
            idles(&sent(config, 500))
                .iter()
                .all(|&idles| idles == i64::from(gap))
        );
    }
}

#[test]
fn on_a_line_whose_characters_are_no_whole_picoseconds_nothing_drifts() {
    let config = Config {
        idles: Some(12),
        line: Rate::from_bits_per_second(7_000_000_000).unwrap(),
        ..Config::default()
    };
    let times = sent(config, 700_001);
    // 84 characters of 8/7 ns are 96 ns.
    assert_eq!(times[700_000].0 - times[0].0, 700_000 * 96_000);
    let config = Config {
        idles: Some(13),
        line: Rate::from_bits_per_second(7_000_000_000).unwrap(),
        ..Config::default()
    };
    let times = sent(config, 700_001);
    assert_eq!(times[700_000].0 - times[0].0, 100_000 * 85 * 8_000);
}

#[test]
fn trains_have_their_gaps_within_and_between() {
    let config = Config {
        idles: Some(12),
        pattern: "train(3, 10 us)".parse().unwrap(),
        ..Config::default()
    };
    let times: Vec<u64> = sent(config, 7)
        .iter()
        .map(|(at, _)| at - 1_000_000)
        .collect();
    let second = 2 * 67_200 + 10_000_000;
    assert_eq!(
        times,
        [
            0,
            67_200,
            134_400,
            second,
            second + 67_200,
            second + 134_400,
            2 * second
        ]
    );
    let config = Config {
        rate: Rate::from_bits_per_second(1_000_000_000),
        pattern: Pattern::Train {
            frames: 2,
            pause: Pause::Every(Time::from_us(5)),
        },
        ..Config::default()
    };
    let times: Vec<u64> = sent(config, 5)
        .iter()
        .map(|(at, _)| at / 1_000 - 1_000)
        .collect();
    assert_eq!(times, [0, 672, 5_000, 5_672, 10_000]);
}

#[test]
fn poisson_intervals_are_exponential_in_mean_and_deviation() {
    let config = Config {
        gap: Some(Time::from_us(10)),
        pattern: Pattern::Poisson,
        seed: 7,
        ..Config::default()
    };
    let times = sent(config, 200_001);
    let intervals: Vec<f64> = times
        .windows(2)
        .map(|pair| (pair[1].0 - pair[0].0) as f64)
        .collect();
    let mean = intervals.iter().sum::<f64>() / 200_000.0;
    let squares = intervals.iter().map(|interval| (interval - mean).powi(2));
    let sd = (squares.sum::<f64>() / 200_000.0).sqrt();
    assert!((mean / 1e7 - 1.0).abs() < 0.01, "{mean}");
    // 84 characters are 0.7 % of the mean: few frames wait for the one before.
    assert!((sd / 1e7 - 1.0).abs() < 0.02, "{sd}");
    // The Kolmogorov distance to 1 - exp(-x), beyond the shortest possible interval.
    let mut sorted = intervals;
    sorted.sort_by(f64::total_cmp);
    let distance = sorted
        .iter()
        .enumerate()
        .filter(|(_, at)| **at > 67_200.0)
        .map(|(n, at)| (n as f64 / 200_000.0 - (1.0 - (-at / 1e7).exp())).abs());
    let distance = distance.fold(0.0, f64::max);
    assert!(distance < 0.01, "{distance}");
    idles(&times);
}

#[test]
fn at_a_high_load_random_frames_queue_up_but_never_overlap() {
    let config = Config {
        rate: Rate::from_bits_per_second(9_000_000_000),
        pattern: Pattern::Poisson,
        size: Sizes::Imix,
        ..Config::default()
    };
    let times = sent(config, 100_000);
    let gaps = idles(&times);
    assert!(gaps.iter().all(|&gap| gap >= 12));
    // Of two neighbours at a load of 0.9, most have no room between them.
    let tight = gaps.iter().filter(|&&gap| gap == 12).count();
    assert!(tight > 70_000, "{tight}");
    let bits: f64 = times.iter().map(|(_, len)| 8.0 * (len + 24) as f64).sum();
    let span = (times[99_999].0 - times[0].0) as f64 / 1e12;
    assert!((bits / span / 9e9 - 1.0).abs() < 0.02, "{}", bits / span);
}

#[test]
fn chains_are_geometric_and_keep_the_rate_of_an_even_stream() {
    for d_len in [0.0, 0.3, 0.9] {
        let base = Config {
            idles: Some(536),
            size: Sizes::One(792),
            ..Config::default()
        };
        let even = sent(base.clone(), 100_000);
        let chains = sent(
            Config {
                pattern: Pattern::Chains { d_len },
                ..base
            },
            100_000,
        );
        let gaps = idles(&chains);
        let linked = gaps.iter().filter(|&&gap| gap == 12).count() as f64 / 99_999.0;
        assert!((linked - d_len).abs() < 0.01, "{d_len}: {linked}");
        // A frame never leaves later than in the even stream, and each chain begins where that has it.
        assert!(
            even.iter()
                .zip(&chains)
                .all(|(even, chain)| chain.0 <= even.0)
        );
        let heads = gaps.iter().zip(even.iter().zip(&chains).skip(1));
        let heads = heads.filter(|(gap, _)| **gap != 12);
        assert!(
            heads
                .into_iter()
                .all(|(_, (even, chain))| even.0 == chain.0)
        );
        if d_len == 0.0 {
            assert_eq!(even, chains);
        }
    }
}

#[test]
fn cbr2_varies_in_size_and_in_chains_and_its_rate_stays() {
    let config = Config {
        rate: Rate::from_bits_per_second(3_000_000_000),
        size: "cbr2(792, 0.5)".parse().unwrap(),
        pattern: "chains(0.5)".parse().unwrap(),
        ..Config::default()
    };
    let mut schedule = Schedule::new(Rate::TEN_GIGABIT);
    for (at, len) in sent(config, 200_000) {
        schedule.add(Time::from_ps(at), len);
    }
    assert!(
        (schedule.rate().unwrap() / 3e9 - 1.0).abs() < 1e-3,
        "{:?}",
        schedule.rate()
    );
    assert!((schedule.bytes() as f64 / 200_000.0 - 788.0).abs() < 3.0);
    let idles = schedule.idles();
    assert_eq!((idles.min, schedule.overlaps()), (12, 0));
}

#[test]
fn the_same_seed_gives_the_same_train_and_another_one_another() {
    let of = |seed| {
        sent(
            Config {
                packets_per_second: Some(1_000_000),
                pattern: Pattern::Poisson,
                size: Sizes::LogNormal(LogNormal::new(500.0, 200.0)),
                seed,
                ..Config::default()
            },
            100,
        )
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn a_capture_is_replayed_at_an_exact_gap_and_its_own_timing_has_no_pattern() {
    let frames = (0..5).map(|n| (Time::from_us(n), vec![0; 60 + n as usize]));
    let source = || Box::new(Frames::new(frames.clone().collect()));
    let config = Config {
        idles: Some(20),
        ..Config::default()
    };
    let generator = Generator::replay(config, source()).unwrap();
    assert_eq!(idles(&collect(generator)), [20; 4]);
    let config = Config {
        pattern: Pattern::Poisson,
        ..Config::default()
    };
    let refused = Generator::replay(config, source()).err();
    assert_eq!(refused.map(|error| error.key), Some("pattern"));
}

#[test]
fn a_schedule_tells_what_overlaps() {
    let mut schedule = Schedule::new(Rate::TEN_GIGABIT);
    for (at, len) in [(0, 60), (67_200, 60), (134_400 - 800, 60), (140_000, 60)] {
        schedule.add(Time::from_ps(at), len);
    }
    assert_eq!((schedule.packets(), schedule.overlaps()), (4, 1));
    let idles = schedule.idles();
    assert_eq!(
        (idles.min, idles.max, schedule.span()),
        (11, 12, Time::from_ns(140))
    );
}

#[test]
fn patterns_and_sizes_read_from_texts_and_say_what_is_wrong() {
    assert_eq!(
        "train(20, every 1 ms)".parse(),
        Ok(Pattern::Train {
            frames: 20,
            pause: Pause::Every(Time::from_ms(1))
        })
    );
    assert_eq!("chains(0.25)".parse(), Ok(Pattern::Chains { d_len: 0.25 }));
    for wrong in [
        "",
        "chains",
        "chains(1)",
        "chains(-1)",
        "chains(nan)",
        "train(0, 1us)",
        "train(2, 0)",
        "train(2)",
        "poisson(",
    ] {
        assert!(wrong.parse::<Pattern>().is_err(), "{wrong}");
    }
    assert_eq!(
        "64-1518/2".parse(),
        Ok(Sizes::Range {
            from: 64,
            to: 1518,
            step: 2
        })
    );
    assert_eq!("64, 128".parse(), Ok(Sizes::List(vec![64, 128])));
    assert_eq!(
        "lognormal(792, 200)".parse(),
        Ok(Sizes::LogNormal(LogNormal::new(792.0, 200.0)))
    );
    for wrong in ["", "64,", "70000", "lognormal(1)", "cbr2(a, b)", "64-"] {
        assert!(wrong.parse::<Sizes>().is_err(), "{wrong}");
    }
}
