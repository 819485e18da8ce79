//! Participants in consensus by Paxos, next to switches with a P4 program for it.
//!
//! By `wire run` acceptors, coordinators and replicas keep their memory in files, since their processes end and start again. In labs they
//! do so where `state` says so, and only in the world `live`.

mod state;

use crate::fault::Fault;
use crate::kind::{Context, Kind, at_key};
use crate::tree::{Value, What};
use consensus::nodes::acceptor::{self, AcceptorNode, Memory};
use consensus::nodes::client::{ClientNode, Config};
use consensus::nodes::coordinator::{self, CoordinatorNode};
use consensus::nodes::replica::{self, Replica};
use consensus::{BadJournal, Key};
use node::ConfigError;
use node::{Node, Time};
use serde::de::DeserializeOwned;
use state::StateFile;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

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
    ("idle_report", Time::from_ms(500), |config| {
        &mut config.idle_report
    }),
];

/// Where a member keeps its memory: keys that are not the node's own.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Keeping {
    /// The file of the group's key.
    key: Option<PathBuf>,
    /// The folder of its file.
    state: Option<PathBuf>,
    /// Whether its promises are in its process alone.
    volatile: bool,
    /// The number of its start, where an acceptor has lost its file.
    boot: u16,
}

impl Default for Keeping {
    fn default() -> Keeping {
        Keeping {
            key: None,
            state: None,
            volatile: false,
            boot: 1,
        }
    }
}

impl Keeping {
    /// Takes its keys, `names` of all, out of a node's.
    fn take(config: &mut Value, names: &[&str]) -> Result<Keeping, Fault> {
        let own = names.iter().filter_map(|name| config.take(name)).collect();
        let own = Value {
            span: config.span.clone(),
            what: What::Table(own),
        };
        own.read()
    }

    /// The group's key, if it has one. No file is read during a check.
    fn key(&self, config: &Value, context: &Context<'_>) -> Result<Option<Key>, Fault> {
        let (Some(key), Some(folder)) = (&self.key, context.folder) else {
            return Ok(None);
        };
        let key = group_key(&folder.join(key));
        key.map(Some)
            .map_err(|why| Fault::new(config.span.clone(), why))
    }

    /// The file of a member, if it is to have one.
    fn open(
        &self,
        config: &Value,
        context: &Context<'_>,
        member: &str,
        group: Ipv4Addr,
        id: u16,
    ) -> Result<Option<StateFile>, Fault> {
        // An acceptor keeps the number of its start at least.
        let is_wanted = !self.volatile || member == "acceptor";
        if !context.live || !is_wanted || !(self.state.is_some() || context.keeps) {
            return Ok(None);
        }
        let folder = context.folder.unwrap_or(Path::new(""));
        let folder = self.state.as_ref().map(|state| folder.join(state));
        let name = format!("paxos-{group}-{member}-{id}");
        let opened = StateFile::open(folder, &name, context.notes.clone());
        opened
            .map(Some)
            .map_err(|why| Fault::new(config.span.clone(), why))
    }
}

/// Reads the key of a group: a regular file of 32 hexadecimal digits that others cannot read.
///
/// # Errors
/// Why there is no key, for people.
pub fn group_key(path: &Path) -> Result<Key, String> {
    let shown = path.display();
    let why = |error: std::io::Error| format!("cannot read the key {shown}: {error}");
    let found = std::fs::metadata(path).map_err(why)?;
    if !found.is_file() || found.len() > 1024 {
        return Err(format!(
            "{shown} is no key: a key is a file of 32 hexadecimal digits. Make one by `openssl rand -hex 16 > group.key`"
        ));
    }
    if found.permissions().mode() & 0o007 != 0 {
        return Err(format!(
            "the key {shown} is readable by other users: `chmod 600 {shown}`"
        ));
    }
    let text = std::fs::read_to_string(path).map_err(why)?;
    Key::parse(&text).ok_or_else(|| {
        format!("{shown} is no key: it has to be 32 hexadecimal digits, as `openssl rand -hex 16` writes them")
    })
}

/// Says why a member cannot go on from its file.
fn bad(config: &Value, path: PathBuf, error: BadJournal, context: &Context<'_>) -> Fault {
    let path = path.display();
    let fault = |message: String| Fault::new(config.span.clone(), message);
    match error {
        BadJournal::Storage(_) => fault(context.notes.failure().unwrap_or_default()),
        BadJournal::Damaged { .. } => fault(format!(
            "the state in {path} cannot be trusted: {error}. Without it this member might break a promise"
        ))
        .help(
            "copy the file back, or move it away and start an acceptor by `--set boot=N`, with N higher than at any start before: the others let it in",
        ),
        _ => fault(format!("the state in {path} cannot be used: {error}")),
    }
}

/// A kind of member that keeps its memory in a file where it has one.
///
/// `times` are other defaults where a node runs alone, on ports of this machine.
fn member<C, N>(
    name: &'static str,
    names: &'static [&'static str],
    times: &'static Defaults<C>,
    make: fn(C) -> Result<N, ConfigError>,
    of: fn(&mut C) -> (Ipv4Addr, u16, &mut Option<Key>),
    keep: fn(N, StateFile, &Keeping) -> Result<N, BadJournal>,
) -> Kind
where
    C: DeserializeOwned + 'static,
    N: Node + 'static,
{
    Kind::made(&format!("paxos-{name}"), move |config, context| {
        let mut config = config.clone();
        let keeping = Keeping::take(&mut config, names)?;
        let mut read: C = config.read()?;
        for (key, time, field) in times {
            if context.alone && config.get(key).is_none() {
                *field(&mut read) = *time;
            }
        }
        let (group, id, key) = of(&mut read);
        *key = keeping.key(&config, &context)?;
        let made = make(read).map_err(|error| at_key(&config, error))?;
        let file = keeping.open(&config, &context, name, group, id)?;
        let Some(file) = file else {
            return Ok(Box::new(made));
        };
        let path = file.path().to_path_buf();
        let kept = keep(made, file, &keeping);
        Ok(Box::new(
            kept.map_err(|error| bad(&config, path, error, &context))?,
        ))
    })
}

/// The kinds.
pub(super) fn kinds() -> Vec<Kind> {
    let acceptor = member(
        "acceptor",
        &["key", "state", "volatile", "boot"],
        &[],
        AcceptorNode::new,
        |config: &mut acceptor::Config| (config.group, config.id, &mut config.key),
        |node, file, keeping| {
            let memory = match keeping.volatile {
                true => Memory::Starts,
                false => Memory::All,
            };
            node.keep_in(Box::new(file), memory, keeping.boot)
        },
    );
    let coordinator = member(
        "coordinator",
        &["key", "state", "volatile"],
        COORDINATOR_ON_HOSTS,
        CoordinatorNode::new,
        |config| (config.group, config.identity, &mut config.key),
        |node, file, _| node.keep_in(Box::new(file)),
    );
    let replica = member(
        "replica",
        &["key", "state", "volatile"],
        REPLICA_ON_HOSTS,
        Replica::new,
        |config| (config.group, config.id, &mut config.key),
        |node, file, _| node.keep_in(Box::new(file)),
    );
    vec![
        acceptor,
        coordinator,
        replica,
        Kind::made("paxos-client", |config, context| {
            let mut config = config.clone();
            let keeping = Keeping::take(&mut config, &["key"])?;
            let mut read: Config = config.read()?;
            if config.get("seed").is_none() {
                read.seed = context.seed;
            }
            read.key = keeping.key(&config, &context)?;
            let made = ClientNode::new(read).map_err(|error| at_key(&config, error))?;
            Ok(Box::new(made))
        }),
    ]
}
