//! `kind = "openvswitch"`: Open vSwitch with its userspace datapath, in a namespace, with a database of its
//! own.

use super::jobs::{self, CommandPlan};
use super::process::switch_port;
use super::{MTU, Planner, line};
use crate::fault::Fault;
use crate::fields::{Fields, OneOrMore};
use crate::kind::Real;
use crate::tree::Value;
use live::world::process::Ready;
use live::world::{Interface, Stack};
use std::fmt::Write;
use std::path::PathBuf;

/// Maximum number of ports.
const MAX_PORTS: u16 = 4096;
/// Maximum number of control ports.
const MAX_CONTROL_PORTS: u16 = 16;
/// Where the database's form is kept.
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
/// Last line of the start.
const READY: &str = "the switch is ready";
/// Where a controller listens, unless it is said.
const CONTROLLER_PORT: u16 = 6653;

/// Section of a switch.
#[derive(Debug)]
pub(crate) struct OpenVSwitch {
    pub ports: u16,
    /// Control ports after those, for controllers that are nodes.
    pub control_ports: u16,
    controllers: Vec<String>,
    fail_mode: Option<String>,
    protocols: Vec<String>,
    dpid: Option<String>,
    configure: Vec<String>,
    jobs: Vec<CommandPlan>,
    config: Value,
}

impl OpenVSwitch {
    /// Reads the section.
    pub fn read(config: &Value) -> Result<OpenVSwitch, Fault> {
        let mut faults = Vec::new();
        let mut fields = Fields::of(config, "a table", &mut faults);
        let ports = fields.required("ports", "4", &mut faults);
        let control_ports = fields.optional::<u16>("controllers", &mut faults);
        let mut list = |key| {
            let texts = fields.optional::<OneOrMore<String>>(key, &mut faults);
            texts.map(OneOrMore::into_vec).unwrap_or_default()
        };
        let (controllers, protocols) = (list("controller"), list("protocols"));
        let configure = list("configure");
        let fail_mode = fields.optional::<String>("fail_mode", &mut faults);
        let dpid = fields.optional::<String>("dpid", &mut faults);
        let jobs = jobs::read(fields.value("run"), &mut faults);
        fields.finish(&mut faults);
        let mut refuse = |key: &str, message: &str| {
            let span = config.get(key).unwrap_or(config).span.clone();
            faults.push(Fault::new(span, message));
        };
        let ports = ports.unwrap_or(1);
        if !(1..=MAX_PORTS).contains(&ports) {
            refuse("ports", "a switch has 1 to 4096 ports");
        }
        let control_ports = control_ports.unwrap_or(0);
        if control_ports > MAX_CONTROL_PORTS {
            refuse("controllers", "a switch has at most 16 control ports");
        }
        if let Some(mode) = &fail_mode
            && !["secure", "standalone"].contains(&mode.as_str())
        {
            refuse("fail_mode", "a fail mode is `secure` or `standalone`");
        }
        if let Some(dpid) = &dpid
            && (dpid.is_empty() || dpid.len() > 16 || u64::from_str_radix(dpid, 16).is_err())
        {
            refuse("dpid", "a datapath's number is 1 to 16 hexadecimal digits");
        }
        let plain = |text: &String| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
        if !protocols.iter().all(plain) {
            refuse(
                "protocols",
                "a protocol is such as `OpenFlow10` or `OpenFlow13`",
            );
        }
        let shell = |c: char| c.is_whitespace() || "'\"\\$`;&|<>()".contains(c);
        if controllers.iter().any(|text| text.contains(shell)) {
            refuse(
                "controller",
                "a controller is the name of a node, or an address such as `tcp:10.0.0.1:6653`",
            );
        }
        match faults.into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(OpenVSwitch {
                ports,
                control_ports,
                controllers,
                fail_mode,
                protocols,
                dpid,
                configure,
                jobs,
                config: config.clone(),
            }),
        }
    }

    /// Its namespace, and the commands that make it work.
    pub fn stack(
        self,
        member: usize,
        planner: &mut Planner<'_>,
    ) -> Result<(Stack, Vec<CommandPlan>), Fault> {
        let name = planner.lab.nodes[member].name.clone();
        let interface = |index: usize| Interface {
            name: switch_port(&name, index + 1),
            mac: None,
            mtu: MTU,
            addresses: Vec::new(),
        };
        // A controller that is a node listens in the switch's own namespace.
        let sockets = (0..self.control_ports).map(|number| CONTROLLER_PORT + number);
        let port = |number| {
            format!("ptcp:{number}:127.0.0.1")
                .parse()
                .map_err(|error: live::port::SpecError| {
                    Fault::new(self.config.span.clone(), error.to_string())
                })
        };
        let mut stack = Stack {
            interfaces: (0..usize::from(self.ports)).map(interface).collect(),
            ports: sockets.clone().map(port).collect::<Result<_, _>>()?,
            ..Stack::default()
        };
        let mut after = Vec::new();
        let own = sockets.map(|number| format!("tcp:127.0.0.1:{number}"));
        let mut targets: Vec<String> = own.collect();
        for controller in &self.controllers {
            let (node, port) = match controller.split_once(':') {
                None => (controller.as_str(), Some(CONTROLLER_PORT)),
                Some((node, port)) => (node, port.parse().ok()),
            };
            match (planner.find(node), port) {
                (Some(other), Some(port))
                    if matches!(planner.lab.nodes[other].kind.real, Some(Real::Process)) =>
                {
                    let address = line(&mut stack, other, planner);
                    targets.push(format!("tcp:{address}:{port}"));
                    if !after.contains(&node.to_string()) {
                        after.push(node.to_string());
                    }
                }
                // What Open vSwitch takes: tcp:, ssl:, unix:, ptcp: and others.
                (None, _) if controller.contains(':') => targets.push(controller.clone()),
                _ => {
                    let span = self
                        .config
                        .get("controller")
                        .unwrap_or(&self.config)
                        .span
                        .clone();
                    let message = format!("`{controller}` is not a controller of this lab");
                    let fault = Fault::new(span, message);
                    return Err(fault.help(
                        "name a node of kind `process`, with `:PORT` if it does not listen at 6653, or write such as `tcp:10.0.0.1:6653`",
                    ));
                }
            }
        }
        let measured = planner.lab.nodes.iter().any(|plan| plan.kind.measures);
        let script = self.script(&name, member, &stack, &targets, measured);
        // A controller's commands: only those that run on are there before.
        after.retain(|node| {
            let Some(other) = planner.find(node) else {
                return false;
            };
            let read = super::process::Process::read(&planner.lab.nodes[other].config);
            read.is_ok_and(|process| {
                !process.jobs.is_empty()
                    && process
                        .jobs
                        .iter()
                        .all(|job| job.service && job.at.is_none())
            })
        });
        let start = CommandPlan {
            command: script,
            service: true,
            ready: Ready::Says(READY.into()),
            at: None,
            after,
            output: None,
            hidden: true,
            span: self.config.span.clone(),
        };
        let mut command_plans = vec![start];
        command_plans.extend(self.jobs);
        Ok((stack, command_plans))
    }

    /// The commands that start it and make its bridge.
    fn script(
        &self,
        name: &str,
        member: usize,
        stack: &Stack,
        targets: &[String],
        measured: bool,
    ) -> String {
        // Where the instrument and a switch of ours have real-time priority, an ordinary process would
        // wait behind them for a processor.
        let rank = match measured && live::scheduling::are_nodes_preferred() {
            true => "rank='chrt -f 5'; $rank true 2>/dev/null || rank=",
            false => "rank=",
        };
        let secure = if targets.is_empty() {
            "standalone"
        } else {
            "secure"
        };
        let mode = self.fail_mode.as_deref().unwrap_or(secure);
        let dpid = match &self.dpid {
            Some(dpid) => format!("{dpid:0>16}"),
            None => format!("{:016x}", member + 1),
        };
        let mut make = format!(
            "--may-exist add-br '{name}' -- set bridge '{name}' datapath_type=netdev fail_mode={mode} other_config:datapath-id={dpid}"
        );
        if !self.protocols.is_empty() {
            let _ = write!(make, " protocols={}", self.protocols.join(","));
        }
        for (index, interface) in stack.interfaces.iter().enumerate() {
            let (port, number) = (&interface.name, index + 1);
            let _ = write!(
                make,
                " -- add-port '{name}' '{port}' -- set interface '{port}' ofport_request={number}"
            );
        }
        if !targets.is_empty() {
            let _ = write!(make, " -- set-controller '{name}' {}", targets.join(" "));
            // It tries again after a second at most, not after eight.
            let _ = write!(make, " -- set controller '{name}' max_backoff=1000");
        }
        for more in &self.configure {
            let _ = write!(make, " -- {more}");
        }
        // Open vSwitch itself tells of a connection up to 5 s late; the kernel does at once. What is reached
        // over the lab's links cannot be there before those carry.
        let wanted = stack.lines.len();
        let connected = match wanted {
            0 => String::new(),
            _ => format!(
                r#"n=0; while [ "$(grep -c ': [0-9A-F]*:[0-9A-F]* [0-9A-F]*:[0-9A-F]* 01 ' /proc/net/tcp)" -lt {wanted} ]; do n=$((n+1)); [ $n -lt 200 ] || {{ echo "not connected to its controller"; break; }}; sleep 0.04; done; sleep 0.05"#
            ),
        };
        format!(
            r#"PATH=$PATH:/usr/sbin:/sbin
{rank}
command -v ovs-vswitchd >/dev/null || {{ echo "Open vSwitch is not installed: no ovs-vswitchd"; exit 1; }}
mkdir -p "$OVS_RUNDIR" && cd "$OVS_RUNDIR" || exit 1
ovsdb-tool create conf.db {SCHEMA} || exit 1
ovsdb-server conf.db --remote="punix:$OVS_RUNDIR/db.sock" --unixctl="$OVS_RUNDIR/ovsdb-server.ctl" --pidfile="$OVS_RUNDIR/ovsdb-server.pid" --detach --no-chdir -vconsole:err -vsyslog:off -vfile:off || exit 1
(ovs-vsctl --timeout=15 {make} && {{ {connected}
echo "{READY}"; }}) &
exec $rank ovs-vswitchd "unix:$OVS_RUNDIR/db.sock" --disable-system --unixctl="$OVS_RUNDIR/ovs-vswitchd.ctl" --pidfile="$OVS_RUNDIR/ovs-vswitchd.pid" -vconsole:err -vsyslog:off -vfile:off"#
        )
    }
}

/// A program of Open vSwitch that is not there.
pub(crate) fn missing() -> Option<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let there = |name: &&str| folders.iter().any(|folder| folder.join(name).is_file());
    let programs = ["ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl"];
    programs.into_iter().find(|name| !there(name))
}
