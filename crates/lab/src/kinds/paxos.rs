//! Who takes part in consensus by Paxos, beside switches with a P4 program for it.

use crate::kind::{Context, Kind, Made, Planned, at_key};
use crate::tree::Value;
use consensus::nodes::acceptor::AcceptorNode;
use consensus::nodes::client::{ClientNode, Config};
use consensus::nodes::coordinator::{self, CoordinatorNode};
use consensus::nodes::replica::{self, Replica};
use node::{Node, Time};
use nodes::ConfigError;
use serde::de::DeserializeOwned;

/// Keys, their times, and where these are in a configuration.
type Defaults<C> = [(&'static str, Time, fn(&mut C) -> &mut Time)];

/// Times of processes on hosts, which a scheduler may hold up for longer than a whole lease of a
/// simulated network lasts, and which cost processor time each time they wake up.
const COORDINATOR_ON_HOSTS: &Defaults<coordinator::Config> = &[
    ("lease", Time::from_ms(500), |config| &mut config.lease),
    ("retry", Time::from_ms(20), |config| &mut config.retry),
    ("absence", Time::from_secs(2), |config| &mut config.absence),
];
const REPLICA_ON_HOSTS: &Defaults<replica::Config> = &[
    ("report", Time::from_ms(10), |config| &mut config.report),
    ("idle_report", Time::from_ms(200), |config| {
        &mut config.idle_report
    }),
];

/// A kind whose defaults are others where a node runs alone, on ports of this machine.
fn on_hosts<C, N>(
    name: &str,
    defaults: &'static Defaults<C>,
    make: fn(C) -> Result<N, ConfigError>,
) -> Kind
where
    C: DeserializeOwned + 'static,
    N: Node + 'static,
{
    let made = move |config: &Value, context: Context<'_>| -> Made {
        let mut read: C = config.read()?;
        for (key, time, field) in defaults {
            if context.alone && config.get(key).is_none() {
                *field(&mut read) = *time;
            }
        }
        let made = make(read).map_err(|error| at_key(config, error))?;
        Ok(Box::new(made))
    };
    Kind::new(name, move |config, folder| {
        Ok(Planned {
            endless: vec!["goes on reporting to its group".into()],
            ..Planned::by(config, folder, made)?
        })
    })
}

/// The kinds.
pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::of("paxos-acceptor", |config, _| AcceptorNode::new(config)),
        on_hosts(
            "paxos-coordinator",
            COORDINATOR_ON_HOSTS,
            CoordinatorNode::new,
        ),
        on_hosts("paxos-replica", REPLICA_ON_HOSTS, Replica::new),
        Kind::seeded(
            "paxos-client",
            |config: &mut Config| &mut config.seed,
            ClientNode::new,
        ),
    ]
}
