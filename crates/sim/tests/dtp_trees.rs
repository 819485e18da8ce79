//! DTP attacked at random: trees of any shape, counters that begin anywhere, cables of up to a
//! kilometre, and links that come and go while others measure their delay or join.

use crate::dtp_messages::Case;
use node::random::Random;
use node::{Statistics, Time};
use nodes::dtp::network::Network;
use nodes::dtp::{Config, Fault};
use std::collections::{BTreeMap, VecDeque};

const TREES: u64 = 400;
const STARS: u64 = 40;
/// A tick, ns.
const TICK: f64 = 6.4;
/// By then a link that has come up has measured its delay and sent its counter, which has come to
/// the end of the tree. A BEACON-JOIN that was not heard, or was said while the counter moved, is
/// said again after six beacons, up to 150 us, and each hop may have one.
const SETTLED: Time = Time::from_us(1_500);
/// When no link changes any more.
const QUIET: u64 = 1_800;
const UNTIL: u64 = 4_000;

/// A cable between a device and an earlier one.
struct Cable {
    ends: [usize; 2],
    ports: [u16; 2],
    ns: f64,
    down: Vec<[Time; 2]>,
}

impl Cable {
    /// Whether it has neither come up nor gone down for so long that its ends agree.
    fn is_settled(&self, at: Time) -> bool {
        let since = Time::from_ps(at.as_ps().saturating_sub(SETTLED.as_ps()));
        let recent = |change: Time| since <= change && change <= at;
        at >= SETTLED && !self.down.iter().flatten().copied().any(recent)
    }

    fn is_up(&self, at: Time) -> bool {
        !self.down.iter().any(|&[from, to]| from <= at && at < to)
    }
}

/// A tree, and whether counters begin far apart.
fn tree(seed: u64) -> (Case, Vec<Cable>) {
    let mut random = Random::new(seed);
    let devices = 2 + random.below(9) as usize;
    let ppm: Vec<f64> = (0..devices)
        .map(|_| random.below(201) as f64 - 100.0)
        .collect();
    let mut case = Case::of(&ppm);
    case.config.beacon = [20, 60, 200, 1_200, 4_000][random.below(5) as usize];
    // From what beacons follow, or a BEACON-JOIN must tell, to what only the latter does.
    let apart = [40, 20_000, 1 << 40][random.below(3) as usize];
    for start in &mut case.start {
        *start = random.below(apart).into();
    }
    let (mut cables, mut ports) = (Vec::new(), vec![0; devices]);
    for device in 1..devices {
        let parent = match random.below(3) {
            // A chain, a star, or in between.
            0 => device - 1,
            1 => 0,
            _ => random.below(device as u64) as usize,
        };
        let ns = match random.below(2) {
            0 => 30.0 + random.below(300) as f64,
            _ => 30.0 + random.below(5_000) as f64,
        };
        let mut down = Vec::new();
        // Times of which many are within a round trip of each other.
        let mut at = random.below(2) * random.below(60);
        if at > 0 {
            down.push([Time::ZERO, Time::from_us(at)]);
        }
        while random.below(3) > 0 {
            let from = at + 1 + random.below(600);
            let most = [20, 400][random.below(2) as usize];
            at = from + 1 + random.below(most);
            if at > QUIET {
                break;
            }
            down.push([Time::from_us(from), Time::from_us(at)]);
        }
        case.link_with(parent, device, [ns; 2], |channel| {
            channel.down.clone_from(&down);
        });
        let ends = [parent, device];
        let ports = ends.map(|end: usize| {
            ports[end] += 1;
            ports[end] - 1
        });
        cables.push(Cable {
            ends,
            ports,
            ns,
            down,
        });
    }
    (case, cables)
}

/// By device, how many cables it is away from the first; `None` where there is no such way.
fn hops(cables: &[Cable], devices: usize, first: usize, at: Time) -> Vec<Option<u32>> {
    let mut hops = vec![None; devices];
    hops[first] = Some(0);
    let mut next = VecDeque::from([first]);
    while let Some(device) = next.pop_front() {
        for cable in cables.iter().filter(|cable| cable.is_up(at)) {
            for [one, other] in [cable.ends, [cable.ends[1], cable.ends[0]]] {
                if one == device && hops[other].is_none() {
                    hops[other] = hops[one].map(|count: u32| count + 1);
                    next.push_back(other);
                }
            }
        }
    }
    hops
}

/// Times at which the network is observed: regularly, and before and after each INIT that a link's coming up
/// brings, with its cable.
fn looks(cables: &[Cable]) -> BTreeMap<Time, Vec<Init<'_>>> {
    let along = (0..=UNTIL).step_by(37);
    let mut looks: BTreeMap<Time, Vec<Init<'_>>> =
        along.map(|us| (Time::from_us(us), Vec::new())).collect();
    for cable in cables {
        for &[_, up] in &cable.down {
            let answered = up + Time::from_ps((2_000.0 * cable.ns) as u64);
            looks.entry(up).or_default().push((cable, false));
            looks.entry(answered).or_default().push((cable, true));
        }
    }
    looks
}

/// A cable whose ends measure it, and whether the answers have come.
type Init<'a> = (&'a Cable, bool);

fn count(statistics: &Statistics, name: &str) -> Option<u64> {
    let mut counters = statistics.counters.iter();
    counters
        .find(|(known, _)| known == name)
        .map(|&(_, count)| count)
}

#[test]
fn counters_agree_on_random_trees_whatever_joins_while_a_delay_is_measured() {
    let (mut seen, mut greatest, mut joins, mut moved) = (0, 0, 0, 0);
    for seed in 0..TREES {
        let (case, cables) = tree(seed);
        let what = format!("tree {seed}, a beacon every {} ticks", case.config.beacon);
        let devices = case.devices().len();
        let mut network = Network::new(case.devices(), &case.links, seed).unwrap();
        let mut asked: BTreeMap<usize, (Time, u128)> = BTreeMap::new();
        for (at, inits) in looks(&cables) {
            network.advance(at);
            let counters = network.counters();
            for (cable, answered) in inits {
                for end in cable.ends {
                    match asked.get(&end) {
                        Some(&(from, counter)) if answered => {
                            let ticks = u128::from((at - from).as_ps() / 6_400);
                            moved += u64::from(counters[end].abs_diff(counter) > ticks + 8);
                        }
                        _ => {
                            asked.insert(end, (at, counters[end]));
                        }
                    }
                }
            }
            // A counter that comes from elsewhere in the tree is on its way.
            if !cables.iter().all(|cable| cable.is_settled(at)) {
                continue;
            }
            for first in 0..devices {
                let hops = hops(&cables, devices, first, at);
                for (other, hops) in hops.iter().enumerate().skip(first + 1) {
                    let Some(hops) = *hops else { continue };
                    let apart = counters[first].abs_diff(counters[other]);
                    // The paper's bound, over more than one hop. Two ports have 5, and while
                    // beacons are rare one of them may jump by a tick more in between.
                    let most = match (hops, case.config.beacon) {
                        (1, ..=1_200) => 5,
                        (1, _) => 6,
                        _ => 4 * hops,
                    };
                    if apart > u128::from(most) {
                        let statistics = network.statistics();
                        panic!(
                            "{what}: devices {first} and {other}, {hops} hops, are {apart} ticks apart at {at}: {statistics:?}"
                        );
                    }
                    seen += 1;
                    greatest = greatest.max(apart);
                }
            }
        }
        let statistics = network.statistics();
        for (device, own) in statistics.iter().enumerate() {
            assert_eq!(count(own, "dtp_given_up"), Some(0), "{what}, {device}");
            joins += count(own, "dtp_joins").unwrap();
        }
        for cable in &cables {
            for end in 0..2 {
                let name = format!("dtp_delay_{}", cable.ports[end]);
                let measured = count(&statistics[cable.ends[end]], &name);
                let measured = measured.expect("no link is down at the end");
                let ahead = measured as f64 - cable.ns / TICK;
                assert!(
                    (-3.0..1.0).contains(&ahead),
                    "{what}: {measured} ticks measured over {} ns",
                    cable.ns
                );
            }
        }
    }
    // Much was looked at, much has joined, and much of that while a delay was measured.
    assert!(
        seen > 100_000 && joins > 2_000 && moved > 20 && greatest > 8,
        "{seen} {joins} {moved} {greatest}"
    );
}

#[test]
fn counters_that_begin_each_8_ticks_ahead_of_the_next_meet_by_beacons_alone() {
    // 8 ticks cause no BEACON-JOIN: the last device follows all of them, beacon by beacon.
    for beacon in [20, 200, 4_000] {
        let mut case = Case::of(&[100.0; 20]);
        case.config.beacon = beacon;
        for device in 1..20 {
            case.start[device] = 8 * device as u128;
            case.link(device - 1, device, 280.0);
        }
        let (looks, statistics, _) = case.messages(1, Time::from_us(UNTIL), Time::from_us(37));
        for own in &statistics {
            assert_eq!(count(own, "dtp_given_up"), Some(0), "{beacon}: {own:?}");
        }
        let last = looks.values().next_back().unwrap();
        let apart = last.iter().max().unwrap() - last.iter().min().unwrap();
        assert!(apart <= 4 * 19, "{beacon}: {apart}");
    }
}

#[test]
fn a_clock_that_is_too_fast_is_given_up_by_all_its_neighbours_on_random_trees() {
    for seed in 0..60 {
        let (mut case, cables) = tree(seed);
        let faulty = seed as usize % case.devices().len();
        let fault = Some(Fault {
            ppm: 1_000,
            jump: 0,
            from: Time::from_us(UNTIL / 2),
        });
        let own = Config {
            fault,
            ..case.config.clone()
        };
        case.own.insert(faulty, own);
        let mut network = Network::new(case.devices(), &case.links, seed).unwrap();
        network.advance(Time::from_us(2 * UNTIL));
        let statistics = network.statistics();
        for cable in &cables {
            for (near, far) in [(0, 1), (1, 0)] {
                if cable.ends[far] == faulty {
                    // A port that has given its peer up has no delay.
                    let name = format!("dtp_delay_{}", cable.ports[near]);
                    let delay = count(&statistics[cable.ends[near]], &name);
                    assert_eq!(delay, None, "tree {seed}: {:?}", cable.ends);
                }
            }
        }
    }
}

/// A star whose device 1 is faulty. Returns the number of peers that the middle and each device
/// around it give up, and whether the middle gives up device 1. The healthy devices around it are
/// `ahead` ticks ahead of the middle when the fault is found; negative: behind it.
fn star(seed: u64, ahead: f64) -> (Vec<u64>, bool) {
    let mut random = Random::new(seed);
    let [own, fault] = [
        random.below(201) as f64 - 100.0,
        700.0 + random.below(800) as f64,
    ];
    let healthy = 1 + random.below(3) as usize;
    // For the greatest difference there may be.
    let most = (fault + own + 100.0 - 357.0) / 160.0 * ahead.abs();
    let room = 200.0 - most;
    let middle = (random.below(1 + room as u64) as f64 - 100.0 + most) * -ahead.signum();
    let relative = fault + own - middle;
    let least = (relative - 357.0) / 160.0 * ahead;
    let mut ppm = vec![middle, own];
    for _ in 0..healthy {
        let more = random.below(1 + (100.0 - (middle + least).abs()).max(0.0) as u64) as f64;
        ppm.push(middle + least + more * ahead.signum());
    }
    assert!(ppm.iter().all(|ppm| ppm.abs() <= 100.0), "{ppm:?}");
    let mut case = Case::of(&ppm);
    case.config.beacon = [60, 200][random.below(2) as usize];
    for leaf in 1..ppm.len() {
        case.link(0, leaf, 30.0 + random.below(300) as f64);
    }
    let fault = Some(Fault {
        ppm: fault as i32,
        jump: 0,
        from: Time::from_us(300),
    });
    let own = Config {
        fault,
        ..case.config.clone()
    };
    case.own.insert(1, own);
    let mut network = Network::new(case.devices(), &case.links, seed).unwrap();
    // Half as long again as the middle takes for its 160 ticks.
    let us = 300 + (1.5 * 160.0 / (relative - 357.0) * 1e6 * TICK / 1e3) as u64;
    network.advance(Time::from_us(us));
    let statistics = network.statistics();
    let given_up = statistics
        .iter()
        .map(|own| count(own, "dtp_given_up").unwrap());
    let found = count(&statistics[0], "dtp_delay_0").is_none();
    (given_up.collect(), found)
}

#[test]
fn a_device_gives_up_its_faulty_neighbour_alone_and_is_kept_by_those_that_are_faster() {
    for seed in 0..STARS {
        let (given_up, found) = star(seed, 8.0);
        assert!(found && given_up[0] == 1, "{seed}: {given_up:?}");
        let others = given_up[2..].iter();
        assert_eq!(others.sum::<u64>(), 0, "{seed}: {given_up:?}");
    }
}

#[test]
fn a_neighbour_that_is_slower_cannot_spare_a_device_that_follows_a_fault() {
    for seed in 0..STARS {
        // It sees a faster clock than the device does, and so is the first to give one up. The
        // device finds the faulty one all the same.
        let (given_up, found) = star(seed, -8.0);
        assert!(found && given_up[0] == 1, "{seed}: {given_up:?}");
        let mut others = given_up[2..].iter();
        assert!(others.all(|count| *count == 1), "{seed}: {given_up:?}");
    }
}

#[test]
fn the_walk_of_messages_is_the_simulation_of_blocks_on_random_trees() {
    for seed in [3, 11, 12] {
        let (case, _) = tree(seed);
        case.compare_for(&format!("tree {seed}"), &[(seed, UNTIL, 97_000)]);
    }
}
