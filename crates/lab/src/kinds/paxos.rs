//! Who takes part in consensus by Paxos, beside switches with a P4 program for it.

use crate::kind::Kind;
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
        Kind::seeded(
            "paxos-client",
            |config: &mut Config| &mut config.seed,
            ClientNode::new,
        ),
    ]
}
