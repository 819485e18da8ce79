//! Who takes part in consensus by Paxos, beside switches with a P4 program for it.

use crate::kind::{Context, Kind, Made, at_key};
use crate::tree::Value;
use consensus::nodes::acceptor::AcceptorNode;
use consensus::nodes::client::{ClientNode, Config};
use consensus::nodes::coordinator::CoordinatorNode;
use consensus::nodes::replica::Replica;

/// The kinds.
pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::of("paxos-acceptor", |config, _| AcceptorNode::new(config)),
        Kind::of("paxos-coordinator", |config, _| {
            CoordinatorNode::new(config)
        }),
        Kind::of("paxos-replica", |config, _| Replica::new(config)),
        Kind::made("paxos-client", client),
    ]
}

/// Clients that tell in the report's notes what they think of what they saw.
fn client(config: &Value, context: Context<'_>) -> Made {
    let mut read: Config = config.read()?;
    if config.get("seed").is_none() {
        read.seed = context.seed;
    }
    let notes = context.notes().clone();
    let say = Box::new(move |told: &str| notes.add(told.to_string()));
    let made = ClientNode::new(read, say).map_err(|error| at_key(config, error))?;
    Ok(Box::new(made))
}
