//! A node of ours on one end of a veth pair, and a kernel with real programs on the other.

use hosts::host;
use ip::service::Service;
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::{self, Options};
use live::world;
use node::{Node, Outcome, Time};
use packet::ethernet::Mac;
use router::router::{Config, PortConfig, Router};
use std::process::{Child, Command, Stdio};

/// MAC address of the node.
pub const NODE: Mac = Mac([2, 0, 0, 0, 0, 0x99]);

/// Setup of a kernel that speaks IPv6 on its interface, without routers.
pub const V6: &str = "cd /proc/sys/net/ipv6/conf; for at in all default k lo; do echo 0 >$at/disable_ipv6; done; \
     echo 0 >k/accept_dad; echo 0 >k/accept_ra; ip link set k down; ip link set k up; cd /; \
     for try in $(seq 100); do ip -6 addr show dev k scope link | grep -q fe80 && break; sleep 0.1; done";

/// Whether a program is there.
pub fn has(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .stdout(Stdio::null())
        .status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        println!("skipped: there is no {program}");
    }
    found
}

/// A kernel whose interface `k` leads to a node of ours, and which runs scripts.
pub struct Kernel {
    namespace: Namespace,
    children: Vec<Child>,
}

impl Kernel {
    fn command(&self, script: &str) -> Command {
        // Files that the programs write are gone with the mounts.
        let private = "mount -t tmpfs none /run && mount -t tmpfs none /tmp && mount -t tmpfs none /var/lib && \
             mkdir -p /run/lock /var/lib/dhcp /var/lib/dhcpcd /var/lib/misc /run/dhcpcd && touch /tmp/resolv && \
             mount --bind /tmp/resolv \"$(readlink -f /etc/resolv.conf)\" || exit 99\n";
        let mut command = self.namespace.command("unshare");
        command.args(["-m", "sh", "-c", &format!("{private}{script}")]);
        command
    }

    /// Output of a script; both streams.
    pub fn run(&self, script: &str) -> String {
        let output = self.command(&format!("{{ {script}\n}} 2>&1")).output();
        String::from_utf8_lossy(&output.expect("a shell").stdout).into_owned()
    }

    /// Starts a program that goes on until the kernel is dropped.
    pub fn start(&mut self, script: &str) {
        let mut command = self.command(&format!("exec {script}"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        self.children.push(command.spawn().expect("a shell"));
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs a node next to a kernel for which `setup` is a script, while `act` does something there. `None` without the rights.
pub fn with_node<T>(
    node: Box<dyn Node>,
    setup: &str,
    act: impl FnOnce(&mut Kernel) -> T,
) -> Option<(T, Outcome)> {
    let made = (|| {
        let (kernel, outside) = (Namespace::new()?, Namespace::new()?);
        let end = |namespace, name| VethEnd {
            namespace,
            name,
            mac: None,
        };
        veth([end(&kernel, "k"), end(&outside, "n")], 1500)?;
        Ok([kernel, outside])
    })();
    let [namespace, outside] = match made {
        Ok(pair) => pair,
        Err(NetnsError::Permission { doing }) => {
            println!("skipped: {doing} is not allowed here");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let mut kernel = Kernel {
        namespace,
        children: Vec::new(),
    };
    let failed = kernel.run(&format!("set -e; {setup}\necho good"));
    assert!(failed.ends_with("good\n"), "{failed}");
    let open = || port::open(&"n".parse().unwrap(), &Options::default());
    let port = outside.enter(open).unwrap().unwrap();
    let run = std::thread::spawn(move || {
        let end = Some(Time::from_secs(120));
        world::on_ports("node", node, vec![port], end).unwrap()
    });
    let done = act(&mut kernel);
    // The end of the pair is the end of the run.
    kernel.namespace.remove("k").unwrap();
    let outcome = run.join().unwrap().outcome;
    Some((done, outcome))
}

/// A router with one port with these addresses, and services.
pub fn router(addresses: &[&str], services: Vec<Box<dyn Service>>) -> Box<dyn Node> {
    let port = PortConfig {
        address: addresses.iter().map(|text| text.parse().unwrap()).collect(),
        mac: Some(NODE),
        ipv6: true,
        ..PortConfig::default()
    };
    let router = Router::new(Config {
        port: vec![port],
        ..Config::default()
    });
    Box::new(router.unwrap().with_services(None, services).unwrap())
}

/// A host without addresses, and services.
pub fn host(services: Vec<Box<dyn Service>>) -> Box<dyn Node> {
    let config = host::Config {
        mac: Some(NODE),
        ..host::Config::default()
    };
    host::with_services(config, Vec::new(), services, 1).unwrap()
}

/// A counter of the node.
pub fn counter(outcome: &Outcome, name: &str) -> u64 {
    let mut all = outcome.nodes[0].counters.iter();
    let found = all.find(|(one, _)| one == name);
    found.map_or(0, |(_, count)| *count)
}
