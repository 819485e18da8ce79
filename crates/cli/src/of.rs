//! `wire of`: OpenFlow.

mod cbench;
mod controller;
mod ctl;
mod flops;
mod rest;
mod switch;

use crate::Verdict;
use live::port::Endpoint;
use live::port::channel::Tls;
use live::port::{Options, PortSpec};
use std::net::IpAddr;
use std::path::PathBuf;

/// OpenFlow 1.0 and 1.3: a switch, what asks and changes one, controllers, and how fast these are
#[derive(clap::Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:
  wire of switch --on eth1 eth2 --controller tcp:127.0.0.1:6653
  wire of ctl tcp:127.0.0.1:6653 dump-flows
  wire of controller learning --listen ptcp:6653
  wire of cbench --connect tcp:127.0.0.1:6653 --mode throughput"
)]
pub struct Of {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Flops(flops::Flops),
    Switch(switch::Switch),
    Ctl(ctl::Ctl),
    Controller(controller::Controller),
    Cbench(cbench::Cbench),
}

impl Of {
    /// Does what was asked for.
    pub fn run(self) -> anyhow::Result<Verdict> {
        ::capture::signal::install();
        match self.action {
            Action::Flops(command) => command.run(),
            Action::Switch(command) => command.run(),
            Action::Ctl(command) => command.run(),
            Action::Controller(command) => command.run(),
            Action::Cbench(command) => command.run(),
        }
    }
}

/// Key and certificates, as users of Open vSwitch give them.
#[derive(clap::Args)]
pub struct Keys {
    /// This side's private key for TLS, in PEM form
    #[arg(long, value_name = "FILE")]
    private_key: Option<PathBuf>,
    /// This side's certificate
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// The certificate of the authority that both sides trust, or `none`
    #[arg(long, value_name = "FILE")]
    ca_cert: Option<PathBuf>,
}

impl Keys {
    /// How ports are opened with them.
    pub fn options(&self) -> Options {
        Options {
            tls: Some(self.tls()),
            ..Options::default()
        }
    }

    /// The files.
    pub fn tls(&self) -> Tls {
        Tls {
            private_key: self.private_key.clone(),
            certificate: self.certificate.clone(),
            ca_cert: self.ca_cert.clone(),
        }
    }

    /// Whether any of them was given.
    pub fn are_given(&self) -> bool {
        self.tls() != Tls::default()
    }
}

/// Who can reach one that listens, where that may surprise: users of Open vSwitch know `ptcp:PORT` for all addresses.
pub fn reached(spec: &PortSpec) -> Option<String> {
    let PortSpec::Channel(spec) = spec else {
        return None;
    };
    let Endpoint::Host(host, port) = &spec.endpoint else {
        return None;
    };
    let kind = if spec.tls { "pssl" } else { "ptcp" };
    let here = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    match (spec.listen, host.is_empty()) {
        (false, _) => None,
        (true, true) => Some(format!(
            "{spec} is reached from this machine alone; {kind}:{port}:0.0.0.0 from everywhere"
        )),
        (true, false) if here || spec.tls => None,
        (true, false) => Some(format!(
            "{spec}: whoever reaches this address is believed; pssl: with --ca-cert asks who it is"
        )),
    }
}
