//! What DTP's devices follow, and what one faulty clock does to the others: the maximum is dragged along, the other rules are not.

use crate::dtp_messages::{Case, Looks};
use node::{Statistics, Time};
use nodes::dtp::network::Network;
use nodes::dtp::{Config, Fault, Rule};

const MEAN: [Rule; 2] = [Rule::Gradient, Rule::Average];
const FROM: Time = Time::from_ms(5);
const UNTIL: Time = Time::from_ms(40);
const EVERY: Time = Time::from_us(23);
/// A host of the tree.
const HOST: usize = 6;

/// The tree of figure 4.30.
fn tree(rule: Rule) -> Case {
    let mut case = Case::of(&[
        -73.0, 12.0, 88.0, -40.0, 77.0, -99.0, 3.0, 58.0, -61.0, 20.0, 99.0, -7.0,
    ]);
    case.config = Config {
        rule,
        beacon: 1_200,
        ..Config::default()
    };
    for device in 1..12 {
        let parent = if device < 4 { 0 } else { (device - 4) / 3 + 1 };
        case.link(parent, device, 280.0);
    }
    case
}

fn with_fault(rule: Rule, device: usize, ppm: i32, jump: u32) -> Case {
    let mut case = tree(rule);
    let fault = Some(Fault {
        ppm,
        jump,
        from: FROM,
    });
    let own = Config {
        fault,
        ..case.config.clone()
    };
    case.own.insert(device, own);
    case
}

struct Seen {
    looks: Looks,
    statistics: Vec<Statistics>,
}

impl Seen {
    fn of(case: &Case) -> Seen {
        Seen::by(case, 1)
    }

    /// With this seed of the FIFOs' random numbers.
    fn by(case: &Case, seed: u64) -> Seen {
        let (looks, statistics, _) = case.messages(seed, UNTIL, EVERY);
        Seen { looks, statistics }
    }

    /// How fast a device's counter goes from a time to the end, ppm.
    fn rate(&self, device: usize, from: Time) -> f64 {
        let mut rows = self.looks.range(from..);
        let (first, last) = (rows.next().unwrap(), rows.next_back().unwrap());
        let ticks = (*last.0 - *first.0).as_ps() as f64 / 6_400.0;
        ((last.1[device] - first.1[device]) as f64 / ticks - 1.0) * 1e6
    }

    /// How far two of these devices are apart at the most behind a time.
    fn apart(&self, devices: &[usize], from: Time) -> u128 {
        let row = |row: &Vec<u128>| {
            let shown = devices.iter().map(|&device| row[device]);
            shown.clone().max().unwrap() - shown.min().unwrap()
        };
        self.looks
            .range(from..)
            .map(|(_, it)| row(it))
            .max()
            .unwrap()
    }

    fn count(&self, name: &str) -> u64 {
        let all = self.statistics.iter().flat_map(|of| &of.counters);
        all.filter(|(known, _)| known == name).map(|(_, n)| n).sum()
    }
}

fn healthy(faulty: usize) -> Vec<usize> {
    (0..12).filter(|&device| device != faulty).collect()
}

#[test]
fn the_model_of_messages_follows_the_rules_and_has_the_faults_tick_for_tick() {
    for rule in MEAN {
        tree(rule).compare(&format!("{rule:?}"));
        with_fault(rule, HOST, 300, 0).compare(&format!("{rule:?}, fast"));
    }
    with_fault(Rule::Maximum, 1, 0, 5_000).compare("maximum, a jump");
    with_fault(Rule::Maximum, HOST, -300, 0).compare("maximum, slow");
}

#[test]
fn healthy_clocks_agree_and_go_no_faster_than_one_of_their_oscillators() {
    for rule in MEAN {
        let seen = Seen::of(&tree(rule));
        let all: Vec<usize> = (0..12).collect();
        assert!(seen.apart(&all, FROM) <= 4 * 4, "{rule:?}");
        for device in all {
            let rate = seen.rate(device, FROM);
            assert!((-100.0..=101.0).contains(&rate), "{rule:?}: {rate}");
        }
        assert_eq!(seen.count("dtp_given_up"), 0);
        assert!(seen.count("dtp_put_in") > 0 && seen.count("dtp_left_out") > 0);
    }
}

#[test]
fn a_tick_that_is_left_out_lets_no_counter_go_back() {
    for rule in MEAN {
        let case = tree(rule);
        let mut network = Network::new(case.devices(), &case.links, 2).unwrap();
        let mut at = Time::from_ms(5);
        network.advance(at);
        let mut before = network.counters();
        while at < Time::from_us(5_200) {
            at += Time::from_ps(3_300);
            network.advance(at);
            let now = network.counters();
            for (now, before) in now.iter().zip(&before) {
                assert!((*before..=before + 2).contains(now), "{rule:?}, at {at}");
            }
            before = now;
        }
        let left_out = |of: &Statistics| {
            of.counters
                .iter()
                .any(|(name, n)| name == "dtp_left_out" && *n > 0)
        };
        assert!(network.statistics().iter().any(left_out));
    }
}

#[test]
fn a_clock_200_ppm_fast_drags_the_maximum_along_and_not_the_other_rules() {
    let settled = Time::from_ms(20);
    let seen = Seen::of(&with_fault(Rule::Maximum, HOST, 200, 0));
    for device in healthy(HOST) {
        let rate = seen.rate(device, settled);
        assert!((rate - 203.0).abs() < 2.0, "device {device}: {rate}");
    }
    for ppm in [200, 300, 1_000] {
        for rule in MEAN {
            let seen = Seen::of(&with_fault(rule, HOST, ppm, 0));
            for device in healthy(HOST) {
                let rate = seen.rate(device, settled);
                assert!(rate < 101.0, "{rule:?}, {ppm} ppm, device {device}: {rate}");
            }
            let given_up = seen.count("dtp_given_up");
            assert_eq!(given_up, u64::from(ppm == 1_000), "{rule:?}, {ppm} ppm");
            // By the gradient a clock that cannot slow down enough takes its switch along until it
            // is 24 ticks ahead of that, which is more than healthy neighbours ever are.
            let from = if given_up > 0 { settled } else { FROM };
            let apart = [from, FROM].map(|from| seen.apart(&healthy(HOST), from));
            assert!(
                apart[0] <= 4 * 4 && apart[1] <= 24 + 4,
                "{rule:?}, {ppm} ppm: {apart:?}"
            );
        }
    }
}

#[test]
fn a_fast_clock_that_follows_the_maximum_among_others_that_do_not_is_given_up() {
    let mut case = with_fault(Rule::Gradient, HOST, 300, 0);
    if let Some(own) = case.own.get_mut(&HOST) {
        (own.rule, own.alpha) = (Rule::Maximum, None);
    }
    let seen = Seen::of(&case);
    assert!(seen.count("dtp_given_up") > 0);
    for device in healthy(HOST) {
        let rate = seen.rate(device, Time::from_ms(30));
        assert!(rate < 101.0, "device {device}: {rate}");
    }
}

#[test]
fn a_fast_clock_is_given_up_by_its_neighbour_alone_where_that_has_the_slower_oscillator() {
    for seed in 0..12 {
        let mut case = Case::of(&[90.0, -90.0, 0.0]);
        let fault = Some(Fault {
            ppm: 1_000,
            jump: 0,
            from: FROM,
        });
        let own = Config {
            fault,
            ..case.config.clone()
        };
        case.own.insert(0, own);
        case.link(0, 1, 280.0);
        case.link(1, 2, 280.0);
        let seen = Seen::by(&case, seed);
        assert_eq!(seen.count("dtp_given_up"), 1, "{seed}");
        assert!(seen.apart(&[1, 2], FROM) <= 6, "{seed}");
    }
}

#[test]
fn in_a_chain_with_a_fast_and_a_slow_half_the_gradient_holds_and_the_average_parts() {
    let apart = |rule, seed| {
        let ppm: Vec<f64> = (0..17)
            .map(|n| if n < 8 { 100.0 } else { -100.0 })
            .collect();
        let mut case = Case::of(&ppm);
        (case.config.rule, case.config.beacon) = (rule, 1_200);
        (1..17).for_each(|device| case.link(device - 1, device, 280.0));
        let seen = Seen::by(&case, seed);
        let neighbours = (1..17).map(|device| seen.apart(&[device - 1, device], FROM));
        (neighbours.max(), seen.count("dtp_given_up"))
    };
    // With some seeds neighbours part by more than the 8 ticks within which beacons count by the
    // maximum: they are heard all the same, and come together again.
    for seed in 1..=12 {
        let (greatest, given_up) = apart(Rule::Gradient, seed);
        assert!(
            greatest <= Some(12) && given_up == 0,
            "seed {seed}: {greatest:?}, {given_up}"
        );
    }
    let (greatest, given_up) = apart(Rule::Average, 1);
    assert!(
        greatest > Some(100) && given_up > 0,
        "{greatest:?}, {given_up}"
    );
}

#[test]
fn a_counter_that_jumps_takes_the_maximum_along_and_is_given_up_by_the_other_rules() {
    let jumped = |seen: &Seen| {
        let before = &seen.looks.range(..FROM).next_back().unwrap();
        let after = &seen.looks.range(FROM + Time::from_ms(2)..).next().unwrap();
        let ticks = (*after.0 - *before.0).as_ps() / 6_400;
        (after.1[0] - before.1[0]).abs_diff(ticks.into())
    };
    let seen = Seen::of(&with_fault(Rule::Maximum, HOST, 0, 10_000));
    assert!(jumped(&seen).abs_diff(10_000) < 200);
    assert_eq!(seen.count("dtp_given_up"), 0);
    for rule in MEAN {
        let seen = Seen::of(&with_fault(rule, HOST, 0, 10_000));
        assert!(jumped(&seen) < 200, "{rule:?}");
        assert!(seen.count("dtp_given_up") > 0, "{rule:?}");
        assert!(seen.apart(&healthy(HOST), FROM) <= 4 * 4, "{rule:?}");
    }
}

#[test]
fn networks_that_part_and_meet_again_agree_by_any_rule() {
    for rule in MEAN {
        let mut case = Case::of(&[100.0, 50.0, -100.0, -80.0]);
        case.config.rule = rule;
        case.link(0, 1, 280.0);
        let (from, to) = (Time::from_ms(5), Time::from_ms(20));
        case.link_with(1, 2, [280.0; 2], |channel| channel.down = vec![[from, to]]);
        case.link(2, 3, 280.0);
        let seen = Seen::of(&case);
        // 15 ms are 2,343,750 ticks, of which 165 ppm are 387.
        assert!(seen.apart(&[1, 2], from) > 300, "{rule:?}");
        let met = to + Time::from_ms(1);
        assert!(seen.apart(&[0, 1, 2, 3], met) <= 3 * 4, "{rule:?}");
        assert_eq!(seen.count("dtp_given_up"), 0, "{rule:?}");
    }
}

#[test]
fn what_a_rule_or_a_fault_cannot_be_is_refused() {
    let refused = |change: &dyn Fn(&mut Config)| {
        let mut config = Config {
            rule: Rule::Average,
            ..Config::default()
        };
        change(&mut config);
        config.check().err().map(|error| error.key)
    };
    assert_eq!(refused(&|_| {}), None);
    assert_eq!(refused(&|config| config.beacon = 2_001), Some("beacon"));
    let fault = |ppm, jump| {
        Some(Fault {
            ppm,
            jump,
            from: FROM,
        })
    };
    assert_eq!(refused(&|config| config.slew = 100), Some("slew"));
    assert_eq!(refused(&|config| config.fault = fault(0, 0)), Some("fault"));
    assert_eq!(
        refused(&|config| config.fault = fault(100_001, 0)),
        Some("fault")
    );
    assert_eq!(refused(&|config| config.fault = fault(0, 1)), None);
}
