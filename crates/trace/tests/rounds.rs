use crate::network::*;
use node::Time;

#[test]
fn loss_and_round_trips_are_those_of_the_links() {
    let simulated = Simulated {
        loss: 0.05,
        ..Simulated::new(Network::of(&[(Diamond::Plain(1), 2)]), 4)
    };
    let trace = simulated.trace(|config| {
        config.probes = 500;
        config.attempts = 4;
    });
    let trace = trace.lock().unwrap();
    for (ttl, hop) in trace.graph().hops() {
        for index in 0..hop.vertices.len() {
            // An interface that was silent at first.
            if hop.vertices[index].address.is_none() {
                continue;
            }
            let stats = trace.interface_stats(ttl, index);
            // Twice over each of the links between routers, and back.
            let crossed = 2 * i32::from(ttl.min(3) - 1);
            let wanted = 1.0 - 0.95_f64.powi(crossed);
            let loss = stats.lost() as f64 / stats.probes as f64;
            assert!((loss - wanted).abs() < 0.06, "{ttl}: {loss} {wanted}");
            // 100 us for each link, each way, and the frames' time on it.
            let least = Time::from_us(200 * u64::from(ttl));
            assert!(
                stats.min >= least && stats.min < least + Time::from_us(20),
                "{stats:?}"
            );
        }
    }
}

#[test]
fn probes_keep_to_the_rate() {
    let simulated = Simulated::new(Network::of(&[(Diamond::Plain(1), 2)]), 4);
    let trace = simulated.trace(|config| {
        config.rate = 20;
        config.probes = 20;
    });
    let trace = trace.lock().unwrap();
    assert!(trace.sent() >= 100);
    assert_eq!(trace.config().interval(), Time::from_ms(50));
}

#[test]
fn a_rate_limit_of_errors_costs_probes_and_no_interfaces() {
    // One error a second for each sender after a burst of six, as Linux has it.
    let simulated = Simulated {
        icmp_limit: true,
        ..Simulated::new(Network::of(&[(Diamond::Plain(1), 2)]), 4)
    };
    let trace = simulated.trace(|config| {
        config.rate = 1;
        config.timeout = Time::from_secs(1);
    });
    let trace = trace.lock().unwrap();
    assert_eq!(found(&trace, &simulated), simulated.network.hops());
}
