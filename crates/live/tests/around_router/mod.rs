//! Routers on live ports with a kernel at each port: real clients and servers reach each other through them. Without the rights to
//! make namespaces, or without a program that it needs, a test says that it was skipped.
#![allow(
    clippy::disallowed_methods,
    reason = "a test waits for other processes"
)]

mod discovery;
mod file_transfer;
mod jool;
mod jool_nat64;
mod port_mapping;
mod side_by_side;
mod syn_proxy;
mod tayga;
mod tools;
mod translation;

use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::{self, Options, Port};
use live::world;
use node::Time;
use router::router::{Config, Router};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// Whether all these programs are here.
pub fn have(programs: &[&str]) -> bool {
    let lacks = |program: &&&str| {
        let found = Command::new("sh")
            .args(["-c", &format!("PATH=$PATH:/usr/sbin command -v {program}")])
            .stdout(Stdio::null())
            .status();
        !found.is_ok_and(|status| status.success())
    };
    let missing = programs.iter().find(lacks);
    if let Some(program) = missing {
        println!("skipped: {program} is not installed");
    }
    missing.is_none()
}

/// Namespaces with an interface `k` each.
pub struct Kernels(pub Vec<Namespace>);

/// Makes a namespace with an interface `k` for each script, which sets it up, and opens the far end of each link.
pub fn kernels(scripts: &[&str]) -> Option<(Kernels, Vec<Port>)> {
    let made = (|| {
        let outside = Namespace::new()?;
        let mut all = Vec::new();
        let mut ports = Vec::new();
        for (number, script) in scripts.iter().enumerate() {
            let kernel = Namespace::new()?;
            let far = format!("n{number}");
            let end = |namespace, name| VethEnd {
                namespace,
                name,
                mac: None,
            };
            veth([end(&kernel, "k"), end(&outside, &far)], 1500)?;
            let script = format!(
                "set -e; PATH=$PATH:/sbin:/usr/sbin; ip link set lo up; \
                 echo 0 >/proc/sys/net/ipv6/conf/k/disable_ipv6; {script}"
            );
            let output = kernel.command("sh").args(["-c", &script]).output();
            let output = output.expect("a shell");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{script}: {error}");
            let open = || port::open(&far.parse().unwrap(), &Options::default());
            ports.push(outside.enter(open)?.expect("a port"));
            all.push(kernel);
        }
        Ok((Kernels(all), ports))
    })();
    match made {
        Ok(made) => Some(made),
        Err(NetnsError::Permission { doing }) => {
            println!("skipped: {doing} is not allowed here");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a router on ports, for at most a minute and a half.
pub fn run(config: Config, ports: Vec<Port>) -> JoinHandle<node::Outcome> {
    let router = Router::new(config).expect("a good configuration");
    std::thread::spawn(move || {
        let end = Some(Time::from_secs(90));
        let ran = world::on_ports("router", Box::new(router), ports, end);
        ran.expect("a run").outcome
    })
}

impl Kernels {
    /// Output of a command in a namespace, in which it must succeed.
    pub fn output(&self, number: usize, command: &str) -> String {
        let (ok, text) = self.try_output(number, command);
        assert!(ok, "{command}: {text}");
        text
    }

    /// Whether a command succeeds, and its output of both kinds.
    pub fn try_output(&self, number: usize, command: &str) -> (bool, String) {
        let command = format!("PATH=$PATH:/sbin:/usr/sbin; exec 2>&1; {command}");
        let output = self.0[number].command("sh").args(["-c", &command]).output();
        let output = output.expect("a shell");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), text)
    }

    /// Starts a program in a namespace.
    pub fn start(&self, number: usize, command: &str) -> Running {
        let command = format!("PATH=$PATH:/sbin:/usr/sbin; exec {command}");
        let mut shell = self.0[number].command("sh");
        shell.args(["-c", &command]).stdin(Stdio::null());
        let child = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Running(child.expect("a shell"))
    }

    /// Ends the links, and with them the run of the router.
    pub fn end(self) {
        for kernel in &self.0 {
            kernel.remove("k").expect("the link");
        }
    }
}

/// A counter of the router.
pub fn counter(outcome: &node::Outcome, name: &str) -> u64 {
    let mut all = outcome.nodes[0].counters.iter();
    all.find(|(own, _)| own == name).expect("a counter").1
}

/// A program that ends with the test.
pub struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a condition holds, for at most `seconds`.
pub fn wait_for(seconds: u64, mut condition: impl FnMut() -> bool) -> bool {
    (0..seconds * 20).any(|_| {
        let holds = condition();
        if !holds {
            std::thread::sleep(Duration::from_millis(50));
        }
        holds
    })
}
