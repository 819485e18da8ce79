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

use crate::error::LabError;
use crate::fault::Fault;
use crate::kind::Real as Kind;
use crate::options::{Command, Options};
use crate::plan::{Lab, NodePlan};
use crate::tree::{Entry, Value, What};
use crate::world::World;
use live::port::PortSpec;
use live::world::process::{Folder, Job, Joinable, JoinableNamespace, Programs};
use live::world::{Outside, Real, Stack};
use node::Time;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// What a lab has of real things, ready to be run.
#[derive(Debug, Default)]
pub(crate) struct LivePlan {
    pub real: BTreeMap<usize, Real>,
    pub programs: Programs,
}

/// A lab's nodes by name, for those that refer to each other.
pub(crate) struct Planner<'a> {
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

impl Planner<'_> {
    /// A node by its name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.lab.nodes.iter().position(|plan| plan.name == name)
    }

    /// Where the programs of a node find their files: those of Open vSwitch in a folder of the node's own,
    /// its test controller too.
    fn environment(&self, member: usize) -> Vec<(String, String)> {
        let folder = self.folder.join(&self.lab.nodes[member].name);
        let folder = folder.display().to_string();
        let names = ["OVS_RUNDIR", "OVS_DBDIR", "OVS_SYSCONFDIR", "OVS_LOGDIR"];
        names.map(|name| (name.into(), folder.clone())).into()
    }
}

/// What this machine lacks to run the lab in a world, as far as that shows before: the right to make
/// namespaces, or Open vSwitch.
pub fn lacks(lab: &Lab, world: World) -> Option<String> {
    match world {
        World::Sim => return None,
        World::Cosim => {
            let missing = crate::LabError::NoHardware;
            return lab.hardware.is_none().then(|| missing.to_string());
        }
        World::Live => {}
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
) -> Result<LivePlan, Fault> {
    keys::check(lab)?;
    let mut planner = Planner {
        lab,
        folder,
        home,
        out,
        lines: 0,
    };
    let mut plan = LivePlan::default();
    let mut command_plans = Vec::new();
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
                let (stack, own) = switch.stack(member, &mut planner)?;
                (Real::Stack(stack), own)
            }
            Some(Kind::Port) => (Real::Ports(vec![outside(member, &planner)?]), Vec::new()),
            Some(Kind::Tap) => (Real::Ports(vec![tap::outside(node)?]), Vec::new()),
        };
        plan.real.insert(member, made.0);
        command_plans.extend(
            made.1
                .into_iter()
                .map(|command_plan| (member, command_plan)),
        );
    }
    if commands.is_some() {
        // Those that others wait for are done before zero and stay.
        command_plans.retain(|(_, command_plan)| command_plan.service || command_plan.at.is_none());
    }
    plan.programs.jobs = jobs::jobs(&planner, command_plans)?;
    for command in commands.unwrap_or_default() {
        let nowhere = |message: String| Fault::new(0..0, message);
        let member = planner.find(&command.node);
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
        let jobs = &mut plan.programs.jobs;
        let before = jobs.iter().rposition(|job| job.screen);
        jobs.push(Job {
            name: command.node.clone(),
            member,
            command: command.command.clone(),
            environment: planner.environment(member),
            at: Some(Time::ZERO),
            after: before.into_iter().collect(),
            screen: true,
            ..Job::default()
        });
    }
    plan.programs.hosts = hosts(lab, &plan.real);
    Ok(plan)
}

/// Files that a node's programs leave behind, and those that stand for ports; the last by the folder that the process is in.
pub(crate) fn outputs(node: &NodePlan) -> Vec<std::path::PathBuf> {
    match node.kind.real {
        Some(Kind::Process) => process::Process::read(&node.config).map_or(Vec::new(), |process| {
            let outputs = process
                .jobs
                .iter()
                .filter_map(|command_plan| command_plan.output.as_ref());
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
pub(crate) fn prepare(lab: &Lab, out: &Path, options: &Options) -> Result<LivePlan, LabError> {
    let (home, commands) = (options.folder.as_path(), options.commands.as_deref());
    if lab.nodes.iter().all(|node| node.kind.real.is_none()) && commands.is_none() {
        return Ok(LivePlan::default());
    }
    let failed = live::world::WorldError::from;
    let folder = Folder::new().map_err(failed)?;
    let made = plan(lab, home, out, folder.path(), commands);
    let mut plan = made.map_err(|fault| LabError::Real { fault })?;
    for &member in plan.real.keys() {
        let path = folder.path().join(&lab.nodes[member].name);
        // The name of a port of the machine may hold a path; it has no use for a folder.
        if !is_port(&lab.nodes[member]) {
            let made = std::fs::create_dir(&path);
            made.map_err(|source| LabError::Write { path, source })?;
        }
    }
    let stacks = plan.real.iter();
    let stacks = stacks.filter(|(_, real)| matches!(real, Real::Stack(_)));
    let planner = Planner {
        lab,
        home,
        folder: folder.path(),
        out,
        lines: 0,
    };
    let door = |(&member, _): (&usize, _)| JoinableNamespace {
        name: lab.nodes[member].name.clone(),
        member,
        environment: planner.environment(member),
    };
    plan.programs.joinable = options.file.as_ref().map(|file| Joinable {
        file: file.clone(),
        all: stacks.map(door).collect(),
    });
    plan.programs.folder = Some(folder);
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
    let planner = Planner {
        lab,
        folder: nowhere,
        home,
        out: nowhere,
        lines: 0,
    };
    let made = match node.kind.real {
        Some(Kind::Tap) => tap::outside(node)?,
        _ => outside(member, &planner)?,
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
fn outside(member: usize, planner: &Planner<'_>) -> Result<Outside, Fault> {
    let config = &planner.lab.nodes[member].config;
    let text: String = match config.get("port") {
        Some(port) => port.read()?,
        None => String::new(),
    };
    let wrong = |message: String| Fault::new(config.span.clone(), message);
    // `udp:@HOST:PORT` has an @ of its own.
    let (port, within) = match text.rsplit_once('@') {
        Some((port, node)) if planner.find(node).is_some() => (port, planner.find(node)),
        _ => (&text[..], None),
    };
    let port = port
        .parse()
        .map_err(|error: live::port::SpecError| wrong(error.to_string()))?;
    let mut tls = None;
    if keys::wanted(&port) {
        // The node at the other end of its one link speaks there.
        let ends = planner
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
            tls = Some(keys::of(&planner.lab.nodes[far], planner.home)?);
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
fn line(stack: &mut Stack, to: usize, planner: &mut Planner<'_>) -> std::net::IpAddr {
    use std::net::{IpAddr, Ipv4Addr};
    // 198.18.0.0/15 is for tests of network devices (RFC 2544), so that it is nobody's address.
    let pair = 2 * planner.lines as u32;
    let address = |side: u32| {
        let base = u32::from(Ipv4Addr::new(198, 18, 0, 0));
        IpAddr::V4(Ipv4Addr::from(base + (pair + side) % (1 << 17)))
    };
    let addresses = [address(0), address(1)];
    stack.lines.push(live::world::Line {
        to,
        names: [
            format!("ctl{}", stack.lines.len()),
            format!("sw{}", planner.lines),
        ],
        addresses,
        prefix: 31,
    });
    planner.lines += 1;
    addresses[1]
}
