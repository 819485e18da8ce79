//! Nodes that run P4 programs.

use crate::engine::{EngineKind, Engines, describe};
use crate::fault::Fault;
use crate::kind::{Context, Kind, Made, Planned, at_key};
use crate::program::load_named;
use crate::replay::Notes;
use crate::tree::Value;
use ::pipeline::architecture::{self, Pipeline};
use ::pipeline::control::{self, Control, commands};
use ::pipeline::controlled::{Controlled, Plan, Reaction};
use ::pipeline::environment::{Environment, Options};
use ::pipeline::node::PipelineNode;
use node::ConfigError;
use node::{Properties, Time};
use p4::compile::Compiled;
use p4::diagnostic::Severity;
use p4runtime::{Settings, SwitchNode, serve};
use serde::Deserialize;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The keys of a node of kind `p4`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The program's file.
    program: PathBuf,
    /// Folders for its includes.
    #[serde(default)]
    include: Vec<PathBuf>,
    /// Macros: `NAME` or `NAME=VALUE`.
    #[serde(default)]
    define: Vec<String>,
    #[serde(default = "ports")]
    ports: usize,
    /// `fast`, `reference`, `xdp` or `rtl`.
    engine: Option<String>,
    /// A file of commands for the control plane, carried out before the first packet.
    entries: Option<PathBuf>,
    /// Such commands themselves, behind those of the file.
    #[serde(default)]
    control: Vec<String>,
    /// Commands for later.
    #[serde(default)]
    at: Vec<Later>,
    /// Answers to digests.
    #[serde(default)]
    on_digest: Vec<Answer>,
    /// Whether entries that were idle for too long are removed.
    #[serde(default)]
    forget_idle: bool,
    cpu_port: Option<u32>,
    /// Where controllers reach the node, in the world `live`.
    p4runtime: Option<SocketAddr>,
    /// The device's number for them; without it every number means this device.
    device_id: Option<u64>,
    drop_port: Option<u32>,
    seed: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Later {
    time: String,
    #[serde(rename = "do")]
    commands: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    digest: String,
    after: Option<String>,
    #[serde(rename = "do")]
    commands: Vec<String>,
}

fn ports() -> usize {
    4
}

/// The kind, with the engines that its nodes may have.
fn kind(engines: Engines) -> Kind {
    let kind = Kind::new("p4", move |config, folder| {
        plan(config, folder, engines.clone())
    });
    Kind {
        with_engines: Some(self::kind),
        ..kind
    }
}

/// The kind, with the engines that are always there.
pub(super) fn kinds() -> Vec<Kind> {
    vec![kind(Engines::default())]
}

/// Reads a section; with a folder, compiles its program, and tries what the control plane is to be told on it. Machine code is
/// for the node that is made.
fn plan(config: &Value, folder: Option<&Path>, engines: Engines) -> Result<Planned, Fault> {
    let section = Section::read(config)?;
    let compiled = match folder {
        None => None,
        Some(folder) => {
            let compiled = section.compile(folder)?;
            let environment = section.environment(&compiled)?;
            let engine = engines.engine(EngineKind::Reference, &environment);
            engine.map_err(|unsupported| {
                section.fault("program", describe(&unsupported, &compiled))
            })?;
            section.command(&Control::new(environment), folder)?;
            Some(Arc::new(compiled))
        }
    };
    let properties = Properties {
        may_lack_links: true,
        endless: (section.read.cpu_port).map(|_| "looks for packets at `cpu_port`"),
        ..Properties::of(section.read.ports)
    };
    Ok(Planned {
        p4runtime: section.read.p4runtime,
        loads_program: section.engine == EngineKind::Xdp,
        ..Planned::new(properties, move |context| match &compiled {
            Some(compiled) => section.make(Arc::clone(compiled), &engines, context),
            None => {
                let folder = context.folder.unwrap_or(Path::new(""));
                section.make(Arc::new(section.compile(folder)?), &engines, context)
            }
        })
    })
}

/// A section whose keys fit together.
struct Section {
    config: Value,
    read: Config,
    engine: EngineKind,
    plan: Plan,
}

impl Section {
    fn read(config: &Value) -> Result<Section, Fault> {
        let read: Config = config.read()?;
        let fault = |key, reason: String| at_key(config, ConfigError { key, reason });
        let engine = match &read.engine {
            None => EngineKind::default(),
            Some(text) => text
                .parse::<EngineKind>()
                .map_err(|error| fault("engine", error.to_string()))?,
        };
        let time = |key, text: &str| {
            text.parse::<Time>()
                .map_err(|error| fault(key, error.to_string()))
        };
        let mut plan = Plan {
            forget_idle: read.forget_idle,
            ..Plan::default()
        };
        for later in &read.at {
            let at = time("at", &later.time)?;
            let commands = later.commands.iter().map(|command| (at, command.clone()));
            plan.commands.extend(commands);
        }
        for answer in &read.on_digest {
            plan.reactions.push(Reaction {
                digest: answer.digest.clone(),
                after: answer
                    .after
                    .as_deref()
                    .map_or(Ok(Time::ZERO), |after| time("on_digest", after))?,
                commands: answer.commands.clone(),
            });
        }
        if read.device_id.is_some() && read.p4runtime.is_none() {
            return Err(fault("device_id", "this needs `p4runtime`".into()));
        }
        if read.p4runtime.is_some() && plan != Plan::default() {
            let reason = "a controller comes from outside, so that `at`, `on_digest` and `forget_idle` are not for this node";
            return Err(fault("p4runtime", reason.into()));
        }
        Ok(Section {
            config: config.clone(),
            read,
            engine,
            plan,
        })
    }

    fn fault(&self, key: &'static str, reason: String) -> Fault {
        at_key(&self.config, ConfigError { key, reason })
    }

    fn options(&self) -> Options {
        Options {
            cpu_port: self.read.cpu_port,
            drop_port: self.read.drop_port.unwrap_or(Options::default().drop_port),
            ..Options::default()
        }
    }

    fn compile(&self, folder: &Path) -> Result<Compiled, Fault> {
        let folders: Vec<PathBuf> = self
            .read
            .include
            .iter()
            .map(|path| folder.join(path))
            .collect();
        let defines = self.read.define.iter().map(|define| {
            let (name, value) = define.split_once('=').unwrap_or((define, "1"));
            (name.to_string(), value.to_string())
        });
        let compiling = p4::compile::Options {
            defines: defines.collect(),
            ..p4::compile::Options::default()
        };
        load_named(&folder.join(&self.read.program), &folders, &compiling)
            .map_err(|error| self.fault("program", error.to_string()))
    }

    /// The program, ready to be run by an engine.
    fn environment(&self, compiled: &Compiled) -> Result<Arc<Environment>, Fault> {
        let Some(program) = &compiled.program else {
            let errors = compiled.diagnostics.sorted().into_iter();
            let errors = errors.filter(|diagnostic| diagnostic.severity == Severity::Error);
            let told: String = errors
                .map(|diagnostic| diagnostic.render(&compiled.sources))
                .collect();
            return Err(self.fault(
                "program",
                match told.is_empty() {
                    true => format!(
                        "{} has no `main`, so that there is nothing to run",
                        self.read.program.display()
                    ),
                    false => format!("the program has errors\n{told}"),
                },
            ));
        };
        let environment = Environment::new(Arc::new(program.clone()), self.options());
        let environment = environment
            .map_err(|unsupported| self.fault("program", describe(&unsupported, compiled)))?;
        Ok(Arc::new(environment))
    }

    /// Tells the control plane what stands in the section, and in its file.
    fn command(&self, control: &Control, folder: &Path) -> Result<(), Fault> {
        if let Some(file) = &self.read.entries {
            let path = folder.join(file);
            let text = crate::input::text(&path)
                .map_err(|reason| self.fault("entries", format!("{}: {reason}", file.display())))?;
            carry_out(control, &file.display().to_string(), &text)
                .map_err(|error| self.fault("entries", error.message))?;
        }
        for command in &self.read.control {
            let said = control.say(command);
            said.map_err(|error| self.fault("control", format!("`{command}`: {error}")))?;
        }
        Ok(())
    }

    fn make(&self, compiled: Arc<Compiled>, engines: &Engines, context: Context<'_>) -> Made {
        let folder = context.folder.unwrap_or(Path::new(""));
        let settings = architecture::Config {
            seed: self.read.seed.unwrap_or(context.seed),
            ..architecture::Config::default()
        };
        let environment = self.environment(&compiled)?;
        let pipeline = engines
            .engine(self.engine, &environment)
            .and_then(|engine| Pipeline::new(&environment, engine, &settings))
            .map_err(|unsupported| self.fault("program", describe(&unsupported, &compiled)))?;
        let control = Control::new(Arc::clone(pipeline.environment()));
        self.command(&control, folder)?;
        match self.read.p4runtime {
            Some(address) if context.live => {
                let text = crate::input::text(&folder.join(&self.read.program));
                let text = text.map_err(|error| self.fault("program", error.to_string()))?;
                if !address.ip().is_loopback() {
                    let open = "everyone who reaches this address can change the program";
                    context.notes.add(format!("P4Runtime at {address}: {open}"));
                }
                let served = Served {
                    address,
                    ports: self.read.ports,
                    engine: self.engine,
                    engines: engines.clone(),
                    settings,
                    server: Settings {
                        device_id: self.read.device_id,
                        options: self.options(),
                        tls: None,
                    },
                };
                let node = served.node(pipeline, &compiled, text.into_bytes(), control);
                return Ok(Box::new(
                    node.map_err(|error| self.fault("p4runtime", error.to_string()))?,
                ));
            }
            Some(address) => context.notes.add(format!(
                "P4Runtime at {address} is not served: no controller keeps up with simulated time"
            )),
            None => {}
        }
        let node = PipelineNode::new(pipeline, self.read.ports);
        if self.plan == Plan::default() {
            return Ok(Box::new(node));
        }
        let notes: Notes = context.notes;
        let sink = Box::new(move |at: Time, text: &str| notes.add(format!("{at}: {text}")));
        Ok(Box::new(Controlled::new(node, self.plan.clone(), sink)))
    }
}

/// Carries out a file of commands, all or none of them.
fn carry_out(control: &Control, name: &str, text: &str) -> Result<(), control::Error> {
    let commands = commands::parse_file(control.program(), name, text).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        control::Error::value(errors.join("\n"))
    })?;
    for (line, command) in commands {
        let done = control.run(&command);
        done.map_err(|error| error.at(format_args!("{name}:{line}")))?;
    }
    Ok(())
}

/// A node that controllers reach by P4Runtime.
struct Served {
    address: SocketAddr,
    ports: usize,
    engine: EngineKind,
    engines: Engines,
    settings: architecture::Config,
    server: Settings,
}

impl Served {
    /// The node, with its server at work.
    fn node(
        self,
        pipeline: architecture::Pipeline,
        compiled: &Compiled,
        text: Vec<u8>,
        control: Control,
    ) -> io::Result<SwitchNode> {
        let at =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.address));
        let listener = TcpListener::bind(self.address).map_err(at)?;
        let environment = Arc::clone(pipeline.environment());
        let (engine, engines, settings) = (self.engine, self.engines, self.settings);
        let make = move |environment: &Arc<Environment>| {
            architecture::Pipeline::new(
                environment,
                engines.engine(engine, environment)?,
                &settings,
            )
        };
        let (mut node, handle) = SwitchNode::new(pipeline, self.ports, Box::new(make));
        // A program that runs was checked.
        let described = compiled.checked.as_ref().map(|checked| {
            let mut described = p4runtime::Pipeline::new(checked, &environment, text);
            described.control = control;
            described
        });
        node.keep(serve(listener, handle, described, self.server).map_err(at)?);
        Ok(node)
    }
}
