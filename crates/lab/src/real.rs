//! Nodes that are something real: programs in a namespace, a switch of another maker, a port that is
//! there already. Only the world `live` has them.
//!
//! | module | what is in it |
//! |---|---|
//! | `process` | `kind = "process"`: a host whose stack is the kernel's |
//! | `openvswitch` | `kind = "openvswitch"`: Open vSwitch with its userspace datapath |
//! | `tap` | `kind = "tap"`: an interface made for the run |
//! | `jobs` | the commands of a node |
//! | `keys` | files for control channels that speak TLS |

pub(crate) mod jobs;
pub(crate) mod keys;
pub(crate) mod openvswitch;
pub(crate) mod process;
pub(crate) mod tap;

use crate::fault::Fault;
use crate::plan::{Lab, NodePlan};
use crate::registry::Real as Kind;
use crate::run::World;
use crate::tree::{Entry, Value, What};
use live::crew::{Door, Doors, Folder, Job, Staff};
use live::port::PortSpec;
use live::world::{Outside, Real, Stack};
use node::Time;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// What a lab has of real things, ready to be run.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub real: BTreeMap<usize, Real>,
    pub staff: Staff,
}

/// A lab's nodes by name, for those that refer to each other.
pub(crate) struct Book<'a> {
    pub lab: &'a Lab,
    /// A folder for files that go with the run.
    pub folder: &'a Path,
    /// That of the lab file.
    pub home: &'a Path,
    /// Where files that the run leaves behind go.
    pub out: &'a Path,
    /// Lines between namespaces so far.
    pub lines: usize,
}

impl Book<'_> {
    /// A node by its name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.lab.nodes.iter().position(|plan| plan.name == name)
    }
}

/// A command from the command line, and the node in which it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The node's name.
    pub node: String,
    /// The command, for the shell.
    pub command: String,
}

/// What this machine lacks to run the lab in a world, as far as that shows before: the right to make
/// namespaces, or Open vSwitch.
pub fn lacks(lab: &Lab, world: World) -> Option<String> {
    if world != World::Live {
        return None;
    }
    if let Err(error) = live::netns::Namespace::new() {
        return Some(error.to_string());
    }
    let switch = |plan: &&NodePlan| plan.kind.real == Some(Kind::OpenVSwitch);
    let node = lab.nodes.iter().find(switch)?;
    let missing = openvswitch::missing()?;
    Some(format!(
        "`{}` is Open vSwitch, which is not installed: there is no {missing}",
        node.name
    ))
}

/// What is real in a lab. With `commands` the lab's own that end by themselves are left out.
pub(crate) fn plan(
    lab: &Lab,
    home: &Path,
    out: &Path,
    folder: &Path,
    commands: Option<&[Command]>,
) -> Result<Plan, Fault> {
    keys::check(lab)?;
    let mut book = Book {
        lab,
        folder,
        home,
        out,
        lines: 0,
    };
    let mut plan = Plan::default();
    let mut wishes = Vec::new();
    for (member, node) in lab.nodes.iter().enumerate() {
        let made = match node.kind.real {
            None => continue,
            Some(Kind::Process) => {
                let process = process::Process::read(&node.config)?;
                let stack = process.stack();
                (Real::Stack(stack), process.jobs)
            }
            Some(Kind::OpenVSwitch) => {
                let switch = openvswitch::OpenVSwitch::read(&node.config)?;
                let (stack, own) = switch.stack(member, &mut book)?;
                (Real::Stack(stack), own)
            }
            Some(Kind::Port) => (Real::Ports(vec![outside(member, &book)?]), Vec::new()),
            Some(Kind::Tap) => (Real::Ports(vec![tap::outside(node)?]), Vec::new()),
        };
        plan.real.insert(member, made.0);
        wishes.extend(made.1.into_iter().map(|wish| (member, wish)));
    }
    if commands.is_some() {
        // Those that others wait for are done before zero and stay.
        wishes.retain(|(_, wish)| wish.service || wish.at.is_none());
    }
    plan.staff.jobs = jobs::staff(&book, wishes)?;
    for command in commands.unwrap_or_default() {
        let nowhere = |message: String| Fault::new(0..0, message);
        let member = book.find(&command.node);
        let member = member.filter(|member| plan.real.contains_key(member));
        let Some(member) = member else {
            let known = plan
                .real
                .keys()
                .map(|&member| lab.nodes[member].name.as_str());
            let known: Vec<&str> = known.collect();
            let message = format!(
                "no node `{}` that a command could run in; there are: {}",
                command.node,
                known.join(", ")
            );
            return Err(nowhere(message));
        };
        let jobs = &mut plan.staff.jobs;
        let before = jobs.iter().rposition(|job| job.screen);
        jobs.push(Job {
            name: command.node.clone(),
            member,
            command: command.command.clone(),
            environment: openvswitch::environment(&book, member),
            at: Some(Time::ZERO),
            after: before.into_iter().collect(),
            screen: true,
            ..Job::default()
        });
    }
    plan.staff.hosts = hosts(lab, &plan.real);
    Ok(plan)
}

/// Files that a node's programs leave behind, and those that stand for ports; the last by the folder that the process is in.
pub(crate) fn outputs(node: &NodePlan) -> Vec<std::path::PathBuf> {
    match node.kind.real {
        Some(Kind::Process) => process::Process::read(&node.config).map_or(Vec::new(), |process| {
            let outputs = process.jobs.iter().filter_map(|wish| wish.output.as_ref());
            outputs.map(Into::into).collect()
        }),
        Some(Kind::Port) => {
            let text = node
                .config
                .get("port")
                .and_then(|port| port.read::<String>().ok());
            let text = text.unwrap_or_default();
            match text.parse() {
                Ok(PortSpec::Capture(path) | PortSpec::Path(path)) => {
                    vec![std::path::absolute(&path).unwrap_or(path)]
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// A plan whose folder is there, to be run.
pub(crate) fn prepare(
    lab: &Lab,
    out: &Path,
    options: &crate::Options,
) -> Result<Plan, crate::LabError> {
    let (home, commands) = (options.folder.as_path(), options.commands.as_deref());
    if lab.nodes.iter().all(|node| node.kind.real.is_none()) && commands.is_none() {
        return Ok(Plan::default());
    }
    let failed = live::world::WorldError::from;
    let folder = Folder::new().map_err(failed)?;
    let made = plan(lab, home, out, folder.path(), commands);
    let mut plan = made.map_err(|fault| crate::LabError::Real { fault })?;
    for &member in plan.real.keys() {
        let path = folder.path().join(&lab.nodes[member].name);
        // The name of a port of the machine may hold a path; it has no use for a folder.
        if !is_port(&lab.nodes[member]) {
            let made = std::fs::create_dir(&path);
            made.map_err(|source| crate::LabError::Write { path, source })?;
        }
    }
    let stacks = plan.real.iter();
    let stacks = stacks.filter(|(_, real)| matches!(real, Real::Stack(_)));
    let book = Book {
        lab,
        home,
        folder: folder.path(),
        out,
        lines: 0,
    };
    let door = |(&member, _): (&usize, _)| Door {
        name: lab.nodes[member].name.clone(),
        member,
        environment: openvswitch::environment(&book, member),
    };
    plan.staff.doors = options.file.as_ref().map(|file| Doors {
        file: file.clone(),
        all: stacks.map(door).collect(),
    });
    plan.staff.folder = Some(folder);
    Ok(plan)
}

/// Whether a node stands for a port of the machine, which simulated time has too when it is kept to the clock.
pub(crate) fn is_port(node: &NodePlan) -> bool {
    matches!(node.kind.real, Some(Kind::Port | Kind::Tap))
}

/// Ports of the machine, for a simulation that is kept to the clock.
pub(crate) fn gate(lab: &Lab, member: usize, home: &Path) -> Result<Outside, Fault> {
    let node = &lab.nodes[member];
    let nowhere = Path::new("");
    let book = Book {
        lab,
        folder: nowhere,
        home,
        out: nowhere,
        lines: 0,
    };
    let made = match node.kind.real {
        Some(Kind::Tap) => tap::outside(node)?,
        _ => outside(member, &book)?,
    };
    match made.within {
        None => Ok(made),
        Some(_) => Err(Fault::new(
            node.span.clone(),
            format!(
                "`{}`: in simulated time no node has a namespace of its own",
                node.name
            ),
        )),
    }
}

/// The names of all that have an address, as lines of a hosts file.
fn hosts(lab: &Lab, real: &BTreeMap<usize, Real>) -> String {
    let mut text = String::new();
    for (&member, real) in real {
        let Real::Stack(stack) = real else { continue };
        let own = stack.interfaces.iter().flat_map(|one| &one.addresses);
        for (address, _) in own {
            text += &format!("{address} {}\n", lab.nodes[member].name);
        }
    }
    text
}

/// A port that is there already: `port:SPEC`, or `port:SPEC@NODE`, as a link's end.
fn outside(member: usize, book: &Book<'_>) -> Result<Outside, Fault> {
    let config = &book.lab.nodes[member].config;
    let text: String = match config.get("port") {
        Some(port) => port.read()?,
        None => String::new(),
    };
    let wrong = |message: String| Fault::new(config.span.clone(), message);
    // `udp:@HOST:PORT` has an @ of its own.
    let (port, within) = match text.rsplit_once('@') {
        Some((port, node)) if book.find(node).is_some() => (port, book.find(node)),
        _ => (&text[..], None),
    };
    let port = port
        .parse()
        .map_err(|error: live::port::SpecError| wrong(error.to_string()))?;
    let mut tls = None;
    if keys::wanted(&port) {
        // The node at the other end of its one link speaks there.
        let ends = book
            .lab
            .links
            .iter()
            .map(|plan| plan.link.ends.map(|end| end.node.0));
        let far = ends.filter_map(|[a, b]| match member {
            _ if member == a => Some(b),
            _ if member == b => Some(a),
            _ => None,
        });
        for far in far {
            tls = Some(keys::of(&book.lab.nodes[far], book.home)?);
        }
    }
    Ok(Outside {
        within,
        tls,
        ..Outside::of(port)
    })
}

/// The keys of a node that stands for a port.
pub(crate) fn port_config(port: &str, span: Range<usize>) -> Value {
    let value = Value {
        span: span.clone(),
        what: What::Text(port.into()),
    };
    let entry = Entry {
        key: "port".into(),
        key_span: span.clone(),
        value,
    };
    Value {
        span,
        what: What::Table(vec![entry]),
    }
}

/// An interface's name: at most 15 bytes.
fn interface_name(node: &str, number: usize) -> String {
    let long = format!("{node}-eth{number}");
    let plain = long.is_ascii() && long.len() <= 15;
    if plain { long } else { format!("eth{number}") }
}

/// Where a stack is for want of anything else.
pub(crate) const MTU: u32 = 1500;

/// Adds a veth pair from `stack` to the namespace of `to`, and returns the address there.
fn line(stack: &mut Stack, to: usize, book: &mut Book<'_>) -> std::net::IpAddr {
    use std::net::{IpAddr, Ipv4Addr};
    // 198.18.0.0/15 is for tests of network devices (RFC 2544), so that it is nobody's address.
    let pair = 2 * book.lines as u32;
    let address = |side: u32| {
        let base = u32::from(Ipv4Addr::new(198, 18, 0, 0));
        IpAddr::V4(Ipv4Addr::from(base + (pair + side) % (1 << 17)))
    };
    let addresses = [address(0), address(1)];
    stack.lines.push(live::world::Line {
        to,
        names: [
            format!("ctl{}", stack.lines.len()),
            format!("sw{}", book.lines),
        ],
        addresses,
        prefix: 31,
    });
    book.lines += 1;
    addresses[1]
}
