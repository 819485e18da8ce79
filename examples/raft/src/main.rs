//! The replicated store over Raft, and over Paxos by hosts: the same clients, the same switch and the same links. `p4.toml` has the same over P4
//! switches.
//!
//!     raft-store [sim | live] [CLIENTS [plain | single]]
//!
//! Links are of 10 Gb/s and 500 ns, or `plain`: then they take no time of their own, as in `plain.toml`; and with `single` each frame has a buffer of
//! the kernel for itself, as with `aggregate = false` there.
#![forbid(unsafe_code)]

mod replica;

use anyhow::Context;
use consensus::nodes::acceptor::{self, AcceptorNode};
use consensus::nodes::client::{self, ClientNode};
use consensus::nodes::coordinator::{self, CoordinatorNode};
use consensus::nodes::replica::{self as learner, Replica};
use node::{Channel, Graph, Node, Outcome, Time};
use nodes::switch::{self, Switch};
use packet::ethernet::Mac;

/// How long a run may take.
const UNTIL: Time = Time::from_secs(5);

fn main() -> anyhow::Result<()> {
    let mut words = std::env::args().skip(1);
    let is_live = match words.next().as_deref() {
        None | Some("sim") => false,
        Some("live") => true,
        Some(other) => anyhow::bail!("write `sim` or `live`, not `{other}`"),
    };
    let clients = words.next().map_or(Ok(16), |word| word.parse());
    let clients = clients.context("the second word is how many clients")?;
    let links = words.next();
    let singly = links.as_deref() == Some("single");
    let channel = match links.as_deref() {
        None => Channel {
            delay: Time::from_ns(500),
            ..Channel::default()
        },
        Some("plain" | "single") => Channel {
            rate: None,
            ..Channel::default()
        },
        Some(other) => anyhow::bail!("write `plain`, `single`, or nothing, not `{other}`"),
    };
    for (name, members) in [("raft", raft()?), ("paxos-hosts", paxos()?)] {
        let outcome = run(graph(members, clients, &channel)?, is_live, singly)?;
        let verdicts = outcome.nodes.iter().filter_map(|node| node.verdict.as_ref());
        for verdict in verdicts {
            println!("{name}: {}", verdict.told);
        }
        let frames = outcome.links.iter().flatten().map(|link| link.sent);
        println!("  {} frames on links", frames.sum::<u64>());
    }
    Ok(())
}

type Members = Vec<(&'static str, Box<dyn Node>)>;

/// Three replicas, one of which leads.
fn raft() -> anyhow::Result<Members> {
    let mut members: Members = Vec::new();
    for (id, name) in [(1, "r1"), (2, "r2"), (3, "r3")] {
        let config = replica::Config {
            id,
            tick: Time::from_ms(5),
            ..Default::default()
        };
        members.push((name, Box::new(replica::Replica::new(config)?)));
    }
    Ok(members)
}

/// A coordinator, three acceptors, a replica.
fn paxos() -> anyhow::Result<Members> {
    let mac = |number| Mac([2, 0, 0, 0, 1, number]);
    let mut members: Members = Vec::new();
    let config = coordinator::Config {
        mac: mac(1),
        lease: Time::from_ms(60),
        retry: Time::from_ms(5),
        ..Default::default()
    };
    members.push(("c1", Box::new(CoordinatorNode::new(config)?)));
    for (id, name) in [(0, "a0"), (1, "a1"), (2, "a2")] {
        let config = acceptor::Config {
            mac: mac(10 + id as u8),
            id,
            ..Default::default()
        };
        members.push((name, Box::new(AcceptorNode::new(config)?)));
    }
    let config = learner::Config {
        mac: mac(20),
        report: Time::from_ms(5),
        ..Default::default()
    };
    members.push(("r0", Box::new(Replica::new(config)?)));
    Ok(members)
}

/// All around a switch, with clients: as in `p4.toml`, but for the wires.
fn graph(members: Members, clients: u32, channel: &Channel) -> anyhow::Result<Graph> {
    let mut graph = Graph::default();
    let config = switch::Config {
        ports: members.len() as u16 + 1,
        ..Default::default()
    };
    let net = graph.add("net", Box::new(Switch::new(config)?));
    let config = client::Config {
        mac: Mac([2, 0, 0, 0, 5, 0]),
        clients,
        count: 2_000,
        keys: 64,
        start: Time::from_ms(200),
        timeout: Time::from_ms(50),
        ..Default::default()
    };
    let clients: (_, Box<dyn Node>) = ("clients", Box::new(ClientNode::new(config)?));
    for (port, (name, node)) in members.into_iter().chain([clients]).enumerate() {
        let member = graph.add(name, node);
        graph.connect((net, port as u16), (member, 0), channel.clone());
    }
    Ok(graph)
}

fn run(graph: Graph, is_live: bool, singly: bool) -> anyhow::Result<Outcome> {
    Ok(match is_live {
        true => live::world::run(
            graph,
            live::world::Options {
                until: Some(UNTIL),
                singly,
                ..Default::default()
            },
        )?,
        false => sim::run(
            graph,
            sim::Options {
                until: Some(UNTIL),
                ..Default::default()
            },
        )?,
    })
}
