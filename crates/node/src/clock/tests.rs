use super::*;
use crate::random::Random;

fn clocks() -> Vec<(Oscillator, Clock)> {
    let second = Time::from_secs(1);
    let laws = [
        Oscillator::default(),
        Oscillator::fast_by(100.0),
        Oscillator::fast_by(-100.0),
        Oscillator::fast_by(0.001),
        Oscillator {
            offset: -90.0,
            drift: 7.0,
            ..Oscillator::default()
        },
        Oscillator {
            offset: 10.0,
            drift: -0.001,
            per_degree: -1.5,
            temperature: vec![
                (second, 20.0),
                (second * 3, 60.0),
                (second * 4, -100.0),
                (second * 9, 20.0),
            ],
        },
        Oscillator {
            drift: 1000.0,
            ..Oscillator::default()
        },
    ];
    laws.into_iter()
        .map(|law| (law.clone(), Clock::new(&law)))
        .collect()
}

/// Picoseconds that a clock is ahead, by summing its figures in small steps, in floating point.
fn summed(law: &Oscillator, until: u64) -> f64 {
    const STEPS: u64 = 200_000;
    let ppm = |at: f64| {
        let warmer = degrees(&law.temperature, at as u64) - degrees(&law.temperature, 0);
        let off = law.offset + law.drift * at / 1e12 + law.per_degree * warmer;
        off.clamp(-MAX_PPM, MAX_PPM)
    };
    let step = until as f64 / STEPS as f64;
    let middles = (0..STEPS).map(|n| (n as f64 + 0.5) * step);
    middles.map(|at| ppm(at) * 1e-6 * step).sum()
}

#[test]
fn own_time_is_the_sum_of_all_deviations() {
    for (law, mut clock) in clocks() {
        for until in [1_000_000, 2_500_000_000_000, 20_000_000_000_000] {
            let ahead = (clock.own(until) as f64 / PICOSECOND as f64) - until as f64;
            let sum = summed(&law, until);
            // Steps of 0.1 ms around the corners of a law of up to 1000 ppm/s: 10 ps, at most a few.
            let error = (ahead - sum).abs();
            assert!(error < 100.0, "{law:?} at {until}: {ahead} {sum}");
        }
    }
}

#[test]
fn a_clock_that_is_exact_shows_the_time() {
    let mut clock = Clock::new(&Oscillator::default());
    for at in [0, 1, 3_200, 1 << 33, u64::MAX - 1, u64::MAX] {
        assert_eq!(clock.own(at), Own::from(at) << 32);
        assert_eq!(clock.when(Own::from(at) << 32), at);
    }
}

#[test]
fn a_hundred_ppm_are_a_hundred_microseconds_a_second_for_days_on_end() {
    let mut clock = Clock::new(&Oscillator::fast_by(100.0));
    for seconds in [1, 1_000, 86_400, 18_000_000] {
        let at = seconds * 1_000_000_000_000;
        let ahead = (clock.own(at) >> 32) as u64 - at;
        assert!(
            ahead.abs_diff(seconds * 100_000_000) <= 1,
            "{seconds}: {ahead}"
        );
    }
}

#[test]
fn the_inverse_is_the_first_picosecond_that_shows_it() {
    let mut random = Random::new(1);
    for (law, mut clock) in clocks() {
        for _ in 0..2_000 {
            let x = random.bits();
            let own = (u128::from(x) << 32 | u128::from(x >> 7)) >> ((x >> 58) % 40);
            let at = clock.when(own);
            assert!(clock.own(at) >= own || at == u64::MAX, "{law:?} {own}");
            assert!(at == 0 || clock.own(at - 1) < own, "{law:?} {own}");
        }
    }
}

#[test]
fn what_was_asked_before_changes_nothing() {
    for (_, mut clock) in clocks() {
        let times: Vec<u64> = (0..500).map(|n| n * 40_000_000_007).collect();
        let forth: Vec<Own> = times.iter().map(|&at| clock.own(at)).collect();
        let mut back: Vec<Own> = times.iter().rev().map(|&at| clock.own(at)).collect();
        back.reverse();
        assert_eq!(forth, back);
        assert!(forth.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

#[test]
fn windows_and_pieces_join_without_a_step() {
    for (law, mut clock) in clocks() {
        let corners = clock
            .pieces
            .iter()
            .map(|piece| piece.from)
            .collect::<Vec<_>>();
        let windows = (1..20).map(|n| n * WINDOW);
        for at in corners.into_iter().filter(|&at| at > 0).chain(windows) {
            let step = (clock.own(at) - clock.own(at - 1)) as i128 - PICOSECOND as i128;
            // 100 ppm of 2^32, and the rounding.
            assert!(step.abs() <= 429_497 + (1 << 13), "{law:?} {at} {step}");
        }
    }
}

#[test]
fn between_turns_the_difference_of_two_clocks_is_monotone() {
    let all = clocks();
    for (_, first) in &all {
        for (_, second) in &all {
            let (mut first, mut second) = (first.clone(), second.clone());
            let delay = 300_000_000_000;
            let turns = turns(&first, &second, delay);
            let end = 15_000_000_000_000;
            let mut ends: Vec<u64> = turns
                .into_iter()
                .filter(|at| (delay..end).contains(at))
                .collect();
            ends.push(end);
            let mut from = delay;
            for to in ends {
                let mut lead = |at: u64| first.own(at - delay) as i128 - second.own(at) as i128;
                let leads: Vec<i128> = (0..=50)
                    .map(|n| lead(from + (to - from) / 50 * n))
                    .collect();
                let up = leads.windows(2).all(|pair| pair[1] >= pair[0] - (1 << 13));
                let down = leads.windows(2).all(|pair| pair[1] <= pair[0] + (1 << 13));
                assert!(up || down, "{from} {to} {leads:?}");
                from = to;
            }
        }
    }
}
