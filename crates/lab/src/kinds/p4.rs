//! Nodes that run P4 programs.

use super::{Context, at_key};
use crate::engine::{EngineKind, pipeline, told};
use crate::fault::Fault;
use crate::program::load;
use crate::replay::Notes;
use crate::tree::Value;
use ::pipeline::architecture;
use ::pipeline::control::Control;
use ::pipeline::control::words;
use ::pipeline::controlled::{Controlled, Plan, Reaction};
use ::pipeline::environment::{Environment, Options};
use ::pipeline::node::PipelineNode;
use node::{Frame, Node, Out, Port, Properties, Time};
use nodes::ConfigError;
use p4::compile::Compiled;
use p4::diagnostic::Severity;
use p4runtime::{Settings, SwitchNode, serve};
use serde::Deserialize;
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
    /// `fast` or `reference`.
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

/// Makes such a node.
pub(super) fn make(config: &Value, context: Context<'_>) -> Result<Box<dyn Node>, Fault> {
    let read: Config = config.read()?;
    let fault = |key, reason: String| at_key(config, ConfigError { key, reason });
    let engine = match &read.engine {
        None => EngineKind::default(),
        Some(text) => text.parse().map_err(|reason| fault("engine", reason))?,
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
    let Some(folder) = context.folder else {
        return Ok(Box::new(Unread(read.ports)));
    };
    let options = Options {
        cpu_port: read.cpu_port,
        drop_port: read.drop_port.unwrap_or(Options::default().drop_port),
        ..Options::default()
    };
    let settings = architecture::Config {
        seed: read.seed.unwrap_or(context.seed),
        ..architecture::Config::default()
    };
    let compiled = compile(&read, folder).map_err(|reason| fault("program", reason))?;
    let pipeline = program(&read, &compiled, engine, options.clone(), &settings)
        .map_err(|reason| fault("program", reason))?;
    let control = Control::new(Arc::clone(pipeline.environment()));
    if let Some(file) = &read.entries {
        let path = folder.join(file);
        let text = super::text_of(&path)
            .map_err(|reason| fault("entries", format!("{}: {reason}", file.display())))?;
        carry_out(&control, &file.display().to_string(), &text)
            .map_err(|reason| fault("entries", reason))?;
    }
    for command in &read.control {
        let said = control.say(command);
        said.map_err(|error| fault("control", format!("`{command}`: {error}")))?;
    }
    match read.p4runtime {
        Some(address) if context.live => {
            let text = super::text_of(&folder.join(&read.program));
            let text = text.map_err(|reason| fault("program", reason))?;
            if !address.ip().is_loopback() {
                let open = "whoever reaches this address may change the program";
                context.notes.add(format!("P4Runtime at {address}: {open}"));
            }
            let served = Served {
                address,
                ports: read.ports,
                engine,
                settings,
                server: Settings {
                    device_id: read.device_id,
                    options,
                    tls: None,
                },
            };
            let node = served.node(pipeline, &compiled, text.into_bytes(), control);
            return Ok(Box::new(node.map_err(|reason| fault("p4runtime", reason))?));
        }
        Some(address) => context.notes.add(format!(
            "P4Runtime at {address} is not served: no controller keeps up with simulated time"
        )),
        None => {}
    }
    let node = PipelineNode::new(pipeline, read.ports);
    if plan == Plan::default() {
        return Ok(Box::new(node));
    }
    let notes: Notes = context.notes;
    let teller = Box::new(move |at: Time, text: &str| notes.add(format!("{at}: {text}")));
    Ok(Box::new(Controlled::new(node, plan, teller)))
}

/// Carries out a file of commands, all or none of them.
fn carry_out(control: &Control, name: &str, text: &str) -> Result<(), String> {
    let commands = words::parse_file(control.program(), name, text).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        errors.join("\n")
    })?;
    for (line, command) in commands {
        control
            .run(&command)
            .map_err(|error| format!("{name}:{line}: {error}"))?;
    }
    Ok(())
}

/// A node that controllers reach by P4Runtime.
struct Served {
    address: SocketAddr,
    ports: usize,
    engine: EngineKind,
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
    ) -> Result<SwitchNode, String> {
        let at = |error: std::io::Error| format!("{}: {error}", self.address);
        let listener = TcpListener::bind(self.address).map_err(at)?;
        let environment = Arc::clone(pipeline.environment());
        let (engine, settings) = (self.engine, self.settings);
        let make = move |environment: &Arc<Environment>| {
            let engine = engine
                .engine(environment)
                .map_err(|error| error.to_string())?;
            architecture::Pipeline::new(environment, engine, &settings)
                .map_err(|error| error.to_string())
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

fn compile(config: &Config, folder: &Path) -> Result<Compiled, String> {
    let folders: Vec<PathBuf> = config
        .include
        .iter()
        .map(|path| folder.join(path))
        .collect();
    let defines = config.define.iter().map(|define| {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        (name.to_string(), value.to_string())
    });
    let compiling = p4::compile::Options {
        defines: defines.collect(),
        ..p4::compile::Options::default()
    };
    load(&folder.join(&config.program), &folders, &compiling).map_err(|error| error.to_string())
}

fn program(
    config: &Config,
    compiled: &Compiled,
    engine: EngineKind,
    options: Options,
    settings: &architecture::Config,
) -> Result<architecture::Pipeline, String> {
    let Some(program) = &compiled.program else {
        let errors = compiled.diagnostics.sorted().into_iter();
        let errors = errors.filter(|diagnostic| diagnostic.severity == Severity::Error);
        let told: String = errors
            .map(|diagnostic| diagnostic.render(&compiled.sources))
            .collect();
        return Err(match told.is_empty() {
            true => format!(
                "{} has no `main`, so that there is nothing to run",
                config.program.display()
            ),
            false => format!("the program has errors\n{told}"),
        });
    };
    let program = Arc::new(program.clone());
    pipeline(&program, engine, options, settings)
        .map_err(|unsupported| told(&unsupported, compiled))
}

/// Stands for a program that was not read, in a graph that is only checked.
struct Unread(usize);

impl Node for Unread {
    fn properties(&self) -> Properties {
        Properties {
            may_lack_links: true,
            ..Properties::of(self.0)
        }
    }

    fn frames(&mut self, _now: Time, _port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            out.drop(frame, "the program was not read");
        }
    }
}
