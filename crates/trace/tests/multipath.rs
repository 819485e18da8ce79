use crate::network::*;
use node::random::Random;
use trace::Algorithm;
use trace::probe::Protocol;

const GRAPHS: u64 = 300;

/// Result of many traces: those that have missed a router, the number to be expected, and probes.
struct Sums {
    failures: u32,
    expected: f64,
    variance: f64,
    sent: u64,
}

impl Sums {
    /// Whether there are no more failures than chance explains: three standard deviations.
    fn is_within_theory(&self) -> bool {
        f64::from(self.failures) <= self.expected + 3.0 * self.variance.sqrt()
    }
}

/// Traces random networks. `share`: `alpha` is divided among the branching points.
fn run(algorithm: Algorithm, share: bool, graphs: u64) -> Sums {
    let mut random = Random::new(7);
    let mut sums = Sums {
        failures: 0,
        expected: 0.0,
        variance: 0.0,
        sent: 0,
    };
    for seed in 0..graphs {
        let simulated = Simulated {
            is_v4: seed % 4 != 3,
            ..Simulated::new(Network::random(&mut random), seed)
        };
        let network = &simulated.network;
        let branchings = match share {
            true => network.branchings() as u32,
            false => 1,
        };
        let alpha = 0.05 / f64::from(branchings);
        let trace = simulated.trace(|config| {
            config.algorithm = algorithm;
            config.branchings = branchings;
            config.identifier = seed as u16;
            if seed % 5 == 4 {
                config.protocol = Protocol::Tcp;
            }
        });
        let trace = trace.lock().unwrap();
        assert!(trace.is_over() && trace.is_reached());
        let (found, truth) = (found(&trace, &simulated), network.hops());
        for (found, truth) in found.iter().zip(&truth) {
            assert!(found.is_subset(truth), "{seed}: {found:?} {truth:?}");
        }
        sums.failures += u32::from(found != truth);
        let failure = network.failure(alpha);
        sums.expected += failure;
        sums.variance += failure * (1.0 - failure);
        sums.sent += trace.sent();
    }
    sums
}

#[test]
fn the_mda_misses_no_more_than_the_theory_says() {
    let sums = run(Algorithm::Mda, false, GRAPHS);
    println!(
        "{} failures, {:.1} expected, {} probes",
        sums.failures, sums.expected, sums.sent
    );
    assert!(
        sums.is_within_theory(),
        "{} of {}",
        sums.failures,
        sums.expected
    );
}

#[test]
fn with_a_shared_alpha_both_algorithms_miss_a_router_in_at_most_5_percent_of_networks() {
    for (algorithm, graphs) in [(Algorithm::Mda, GRAPHS / 3), (Algorithm::MdaLite, GRAPHS)] {
        let sums = run(algorithm, true, graphs);
        println!(
            "{algorithm:?}: {} failures, {} probes",
            sums.failures, sums.sent
        );
        assert!(
            u64::from(sums.failures) * 20 <= graphs,
            "{algorithm:?} {}",
            sums.failures
        );
    }
}

#[test]
fn mda_lite_sends_30_percent_fewer_probes_through_plain_diamonds() {
    let mut sent = [0; 2];
    let mut failures = [0; 2];
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let diamonds = [(Diamond::Plain(1 + random.index(2)), 2 + random.index(15))];
        let simulated = Simulated::new(Network::of(&diamonds), seed);
        for (index, algorithm) in [Algorithm::Mda, Algorithm::MdaLite].into_iter().enumerate() {
            let trace = simulated.trace(|config| config.algorithm = algorithm);
            let trace = trace.lock().unwrap();
            sent[index] += trace.sent();
            failures[index] += u32::from(found(&trace, &simulated) != simulated.network.hops());
        }
    }
    println!("{sent:?} probes, {failures:?} failures");
    assert!(sent[1] * 10 <= sent[0] * 7, "{sent:?}");
    // At most 5 % are to be expected: 3 of 60, with a standard deviation of 1.7.
    assert!(failures[1] <= 8, "{failures:?}");
}

#[test]
fn links_are_those_of_the_network() {
    let mut random = Random::new(3);
    for seed in 0..20 {
        let simulated = Simulated::new(Network::random(&mut random), seed);
        let trace = simulated.trace(|_| {});
        let (trace, names) = (trace.lock().unwrap(), simulated.names());
        let graph = trace.graph();
        for (ttl, hop) in graph.hops().skip(1) {
            let before = graph.hop(ttl - 1).expect("a hop before");
            for (from, to) in graph.links(ttl) {
                let from = before.vertices[usize::from(from)]
                    .address
                    .expect("an answer");
                let to = hop.vertices[usize::from(to)].address.expect("an answer");
                let to = names.get(&to).copied();
                let successors = simulated.network.successors(names[&from]);
                assert!(successors.contains(&to), "{from} {to:?}");
            }
        }
    }
}

#[test]
fn node_control_is_used_where_a_diamond_asks_for_it() {
    for (diamond, wanted) in [
        (Diamond::Plain(2), false),
        (Diamond::Meshed, true),
        (Diamond::Asymmetric, true),
    ] {
        let simulated = Simulated::new(Network::of(&[(diamond, 4)]), 5);
        let trace = simulated.trace(|_| {});
        let trace = trace.lock().unwrap();
        let used = (1..=6).any(|ttl| trace.discovery().used_node_control(ttl));
        assert_eq!(used, wanted, "{diamond:?}");
    }
}
