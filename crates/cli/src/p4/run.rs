//! `wire p4 run`: a program on live ports.

use super::control::{carry_out, said};
use super::kernel;
use super::source::Reading;
use crate::Verdict;
use crate::complaints::{Complaints, Leniency};
use crate::control::Listener;
use crate::of::Keys;
use crate::on::On;
use crate::report::Detail;
use crate::run::Opened;
use crate::time::tick;
use ::pipeline::architecture::{Config, Pipeline};
use ::pipeline::control::Control;
use ::pipeline::environment::{Environment, Options};
use ::pipeline::node::PipelineNode;
use anyhow::{Context, anyhow, ensure};
use confine::Service;
use lab::engine::{EngineKind, Engines, describe};
use live::port::PortSpec;
use node::Time;
use p4::compile::Compiled;
use p4runtime::{Settings, SwitchNode, serve};
use packet::Tick;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Run a program on live ports until Ctrl-C
///
/// The ports of --on are the program's ports 0, 1, 2, ... While it runs, `wire p4 table` and its kin control it through the
/// socket of --control.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire p4 run router.p4 --on eth1 eth2 --entries entries.txt --control s1.sock
  wire p4 run router.p4 --on eth1 eth2 --engine xdp --control s1.sock
  wire p4 run router.p4 --on eth1 eth2 --cpu-port 510 --p4runtime 127.0.0.1:9559
  wire p4 run router.p4 --on eth1 eth2 --p4runtime 0.0.0.0:9559 --private-key k.pem --certificate c.pem --ca-cert ca.pem")]
pub struct Run {
    /// The program
    program: Option<PathBuf>,
    #[command(flatten)]
    on: On,
    #[command(flatten)]
    reading: Reading,
    /// A file of commands for the control plane
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
    /// Listen for commands on a Unix socket
    #[arg(long, value_name = "SOCKET")]
    control: Option<PathBuf>,
    /// The port number that stands for the controller
    #[arg(long, value_name = "N")]
    cpu_port: Option<u32>,
    /// Serve P4Runtime at this address, such as 127.0.0.1:9559
    #[arg(long, value_name = "ADDRESS")]
    p4runtime: Option<std::net::SocketAddr>,
    /// The device's number in P4Runtime; without it every number means this device
    #[arg(long, value_name = "N", requires = "p4runtime")]
    device_id: Option<u64>,
    #[command(flatten)]
    keys: Keys,
    /// fast, reference, rtl, or xdp: the kernel runs it, before the stack sees a packet
    #[arg(long, value_name = "ENGINE", default_value = "fast")]
    engine: EngineKind,
    /// Where random numbers begin
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// As root: the user that it becomes once its ports are open; without it one that nothing belongs to
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Stop after this time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    duration: Option<Time>,
    /// The unit of timestamps, such as 6.4ns
    #[arg(long, value_name = "TIME", default_value = "8ns", value_parser = tick)]
    tick: Tick,
    /// The report as JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    detail: Detail,
    #[command(flatten)]
    leniency: Leniency,
}

impl Run {
    pub fn run(mut self, engines: &Engines) -> anyhow::Result<Verdict> {
        let file = self.on.word(self.program.take())?;
        let on = self.on.ports()?;
        let complaints = self.leniency.complaints();
        let compiled = self.reading.load_valid(&file)?;
        let name = file.display().to_string();
        let program = compiled.program.clone();
        let program = Arc::new(program.ok_or_else(|| anyhow!("{name} has no `main`"))?);
        let options = Options {
            cpu_port: self.cpu_port,
            ..Options::default()
        };
        let config = Config {
            seed: self.seed,
            ..Config::default()
        };
        if self.engine == EngineKind::Xdp {
            return self.in_the_kernel(&program, &compiled, options, &on, &complaints, &file);
        }
        let pipeline = engines.pipeline(&program, self.engine, options.clone(), &config);
        let pipeline =
            pipeline.map_err(|unsupported| anyhow!(describe(&unsupported, &compiled)))?;
        let environment = Arc::clone(pipeline.environment());
        let mut controlled = None;
        let encrypted = self.keys.are_given();
        let tls = self.tls()?;
        let own = Control::new(Arc::clone(&environment));
        if let Some(path) = &self.entries {
            carry_out(&own, path)?;
        }
        let ports = live::port::Options {
            tick: self.tick,
            ..live::port::Options::of_nodes(on.len())
        };
        let opened = Opened::open(&on, &ports)?;
        let text = std::fs::read(&file)?;
        let listener = self.listener()?;
        // The threads that serve are made with what is left.
        let control = self.control.as_deref().map(Listener::open).transpose()?;
        let service = Service {
            user: self.user.as_deref(),
            control: self.control.as_deref(),
            accepts: listener.is_some(),
            // A controller may give it another program.
            compiles: listener.is_some(),
            ..Service::default()
        };
        let _kept = confine::server(&on, service)?;
        let node: Box<dyn node::Node> = match (listener, &compiled.checked) {
            (Some(listener), Some(checked)) => {
                let (kind, engines) = (self.engine, engines.clone());
                let make = move |environment: &Arc<Environment>| {
                    Pipeline::new(environment, engines.engine(kind, environment)?, &config)
                };
                let (node, handle) = SwitchNode::new(pipeline, on.len(), Box::new(make));
                let mut described = p4runtime::Pipeline::new(checked, &environment, text);
                described.control = own.clone();
                let settings = Settings {
                    device_id: self.device_id,
                    options,
                    tls,
                };
                let running = serve(listener, handle, Some(described), settings)?;
                kernel::listening(&name, &running, encrypted);
                controlled = Some(running);
                Box::new(node)
            }
            _ => Box::new(PipelineNode::new(pipeline, on.len())),
        };
        let current = controlled.as_ref().map(p4runtime::Running::current);
        let steered = move || {
            let current = current.as_ref().and_then(|current| current());
            current.unwrap_or_else(|| own.clone())
        };
        let control = control.map(|control| control.start(move |line| said(&steered(), line)));
        let _control = control.transpose()?;
        let verdict = crate::run::drive(
            &name,
            node,
            opened,
            self.duration,
            self.json,
            self.detail,
            &complaints,
        );
        if let Some(told) = controlled.as_ref().and_then(p4runtime::Running::summary) {
            eprintln!("wire: {told}");
        }
        verdict
    }

    /// Whom P4Runtime trusts, if keys are given.
    fn tls(&self) -> anyhow::Result<Option<Arc<listen::http::ServerConfig>>> {
        Ok(match self.keys.are_given() {
            true => Some(Arc::new(self.keys.tls().server("--p4runtime", &[b"h2"])?)),
            false => None,
        })
    }

    fn listener(&self) -> anyhow::Result<Option<TcpListener>> {
        let listener = self.p4runtime.map(|address| {
            TcpListener::bind(address).with_context(|| format!("--p4runtime {address}"))
        });
        listener.transpose()
    }

    /// The kernel runs the program, not this process.
    fn in_the_kernel(
        &self,
        program: &Arc<p4::ir::Program>,
        compiled: &Compiled,
        options: Options,
        on: &[PortSpec],
        complaints: &Complaints,
        file: &Path,
    ) -> anyhow::Result<Verdict> {
        ensure!(
            self.cpu_port.is_none(),
            "the engine `xdp` has no port of the controller, so no packets from it or to it: leave --cpu-port out, or take --engine fast"
        );
        let environment = Environment::new(Arc::clone(program), options.clone());
        let environment =
            Arc::new(environment.map_err(|unsupported| anyhow!(describe(&unsupported, compiled)))?);
        if let Some(path) = &self.entries {
            carry_out(&Control::new(Arc::clone(&environment)), path)?;
        }
        let served = match (self.listener()?, &compiled.checked) {
            (Some(listener), Some(checked)) => Some(kernel::Served {
                listener,
                described: p4runtime::Pipeline::new(checked, &environment, std::fs::read(file)?),
                settings: Settings {
                    device_id: self.device_id,
                    options,
                    tls: self.tls()?,
                },
            }),
            _ => None,
        };
        let report = kernel::Report {
            name: &file.display().to_string(),
            duration: self.duration,
            json: self.json,
            complaints,
        };
        let control = self.control.as_deref();
        let service = Service {
            user: self.user.as_deref(),
            control,
            accepts: served.is_some(),
            kernel: true,
            ..Service::default()
        };
        kernel::run(&environment, compiled, on, service, served, &report)
    }
}
