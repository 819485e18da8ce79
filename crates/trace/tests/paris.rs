use crate::network::*;
use node::random::Random;
use router::router::Multipath;
use trace::Algorithm;
use trace::probe::Protocol;

/// Checks that a trace is one path of the network, to its end.
fn assert_is_path(simulated: &Simulated, hops: &[std::collections::BTreeSet<Option<usize>>]) {
    assert_eq!(hops[0].first(), Some(&Some(0)));
    for pair in hops.windows(2) {
        assert_eq!((pair[0].len(), pair[1].len()), (1, 1), "{hops:?}");
        let from = pair[0]
            .first()
            .unwrap()
            .expect("a router before the target");
        let to = pair[1].first().unwrap();
        assert!(simulated.network.successors(from).contains(to), "{hops:?}");
    }
    assert_eq!(hops.last().unwrap().first(), Some(&None), "{hops:?}");
}

#[test]
fn one_flow_shows_one_path_of_the_network() {
    let mut random = Random::new(11);
    for seed in 0..10 {
        for protocol in [Protocol::Udp, Protocol::Tcp, Protocol::Icmp] {
            for is_v4 in [true, false] {
                let simulated = Simulated {
                    is_v4,
                    ..Simulated::new(Network::random(&mut random), seed)
                };
                let trace = simulated.trace(|config| {
                    config.algorithm = Algorithm::Paris;
                    config.protocol = protocol;
                    config.rounds = 4;
                });
                let trace = trace.lock().unwrap();
                assert!(trace.is_reached() && trace.is_over(), "{protocol:?} {seed}");
                assert_is_path(&simulated, &found(&trace, &simulated));
                assert!(trace.graph().hops().all(|(_, hop)| !hop.per_packet));
                assert_eq!(trace.ignored(), 0);
            }
        }
    }
}

#[test]
fn a_choice_packet_by_packet_is_reported() {
    for algorithm in [Algorithm::Paris, Algorithm::Mda, Algorithm::MdaLite] {
        let simulated = Simulated {
            multipath: Multipath::PerPacket,
            ..Simulated::new(Network::of(&[(Diamond::Plain(1), 3)]), 1)
        };
        let trace = simulated.trace(|config| {
            config.algorithm = algorithm;
            config.rounds = 5;
        });
        let trace = trace.lock().unwrap();
        let hops = trace.graph().hops();
        let per_packet: Vec<bool> = hops.map(|(_, hop)| hop.per_packet).collect();
        assert_eq!(per_packet, [false, true, false, false], "{algorithm:?}");
    }
}

#[test]
fn routers_that_choose_by_addresses_show_one_path() {
    let simulated = Simulated {
        multipath: Multipath::L3,
        ..Simulated::new(Network::of(&[(Diamond::Plain(2), 8)]), 1)
    };
    let trace = simulated.trace(|config| config.algorithm = Algorithm::Mda);
    assert_is_path(&simulated, &found(&trace.lock().unwrap(), &simulated));
}
