//! Services of a router on live ports between two network namespaces, with real programs in them.
//!
//! `c0`, 10.0.0.2, is the link of clients, `s0`, 10.1.0.2 to 10.1.0.9, that of servers; the router has 10.0.0.1 and 10.1.0.1.
//! Without the rights to make a namespace, or without a program, a test says that it was skipped.
#![allow(
    clippy::disallowed_methods,
    reason = "a test waits for other processes"
)]

mod authority;
mod discovery;
mod forwarding;
mod resolving;
mod streams;
mod translating;

use ip::service::Service;
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use live::port::{self, Options};
use live::world;
use node::Time;
use node::outcome::NodeOutcome;
use router::router::{Config, PortConfig, Router};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Net {
    pub clients: Namespace,
    pub servers: Namespace,
    pub folder: PathBuf,
    running: Vec<Child>,
}

/// Whether programs are here; says which one is missing.
pub fn has(programs: &[&str]) -> bool {
    let paths = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let is_there = |program: &&&str| {
        paths
            .split(':')
            .any(|path| Path::new(path).join(program).exists())
    };
    let missing = programs.iter().find(|program| !is_there(program));
    if let Some(missing) = missing {
        println!("skipped: {missing} is not installed");
    }
    missing.is_none()
}

impl Net {
    fn new(test: &str) -> Option<(Net, Vec<port::Port>)> {
        let made = (|| {
            let [clients, servers, outside] =
                [Namespace::new()?, Namespace::new()?, Namespace::new()?];
            for (namespace, name, far) in [(&clients, "c0", "n0"), (&servers, "s0", "n1")] {
                let end = |namespace, name| VethEnd {
                    namespace,
                    name,
                    mac: None,
                };
                veth([end(namespace, name), end(&outside, far)], 1500)?;
                namespace.set_up("lo")?;
            }
            clients.add_address("c0", [10, 0, 0, 2].into(), 24)?;
            for host in 2..10 {
                servers.add_address("s0", [10, 1, 0, host].into(), 24)?;
            }
            Ok::<_, NetnsError>([clients, servers, outside])
        })();
        let [clients, servers, outside] = match made {
            Ok(made) => made,
            Err(NetnsError::Permission { doing }) => {
                println!("skipped: {doing} is not allowed here");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        for (namespace, far) in [(&clients, "10.0.0.1"), (&servers, "10.1.0.1")] {
            let route = namespace
                .command("ip")
                .args(["route", "add", "default", "via", far])
                .status();
            assert!(route.expect("iproute2").success());
        }
        let ports = ["n0", "n1"].map(|name| {
            let open = || port::open(&name.parse().unwrap(), &Options::default());
            outside.enter(open).unwrap().expect("a port")
        });
        let folder =
            std::env::temp_dir().join(format!("wireline-dns-{}-{test}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let net = Net {
            clients,
            servers,
            folder,
            running: Vec::new(),
        };
        Some((net, ports.into()))
    }

    /// Starts a program of the servers' namespace; it ends with the test. Its output goes to a file.
    pub fn start(&mut self, program: &str, arguments: &[&str]) {
        self.start_in(false, program, arguments);
    }

    /// Starts a program of the clients' or the servers' namespace.
    pub fn start_in(&mut self, in_clients: bool, program: &str, arguments: &[&str]) {
        let log = self.folder.join(format!("{}.log", self.running.len()));
        let log = fs::File::create(log).unwrap();
        let namespace = match in_clients {
            true => &self.clients,
            false => &self.servers,
        };
        let child = namespace
            .command(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.running
            .push(child.unwrap_or_else(|error| panic!("{program}: {error}")));
    }

    /// Runs a program of the clients' namespace; gives its output.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        output(self.clients.command(program).args(arguments))
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().into()
    }

    /// Waits until a server responds to a query for `name`.
    pub fn await_server(&self, server: &str, name: &str) {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) {
            let at = format!("@{server}");
            let arguments = ["+tries=1", "+time=1", "+noedns", &at, name, "SOA"];
            if self.run("dig", &arguments).contains("status:") {
                return;
            }
        }
        panic!("no response of {server}: {}", self.logs());
    }

    pub fn logs(&self) -> String {
        let logs = (0..self.running.len()).map(|log| self.folder.join(format!("{log}.log")));
        logs.filter_map(|log| fs::read_to_string(log).ok())
            .collect()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Runs a program and gives its output, errors included.
pub fn output(command: &mut Command) -> String {
    let done = command.output().expect("the program starts");
    [done.stdout, done.stderr]
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .concat()
}

/// Runs a router with services while `act` does something; gives the router's counters, too.
pub fn with_router<T>(
    test: &str,
    prepare: impl FnOnce(&mut Net) -> Vec<Box<dyn Service>>,
    act: impl FnOnce(&mut Net) -> T,
) -> Option<(T, NodeOutcome)> {
    let (mut net, ports) = Net::new(test)?;
    let services = prepare(&mut net);
    let port = |address: &str| PortConfig {
        address: vec![address.parse().unwrap()],
        ..PortConfig::default()
    };
    let config = Config {
        port: vec![port("10.0.0.1/24"), port("10.1.0.1/24")],
        ..Config::default()
    };
    let router = Router::new(config).unwrap();
    let router = router.with_services(None, services).unwrap();
    let run = std::thread::spawn(move || {
        let end = Some(Time::from_secs(120));
        world::on_ports("router", Box::new(router), ports, end).unwrap()
    });
    let done = act(&mut net);
    // The end of both pairs is the end of the run.
    net.clients.remove("c0").unwrap();
    net.servers.remove("s0").unwrap();
    let outcome = run.join().unwrap().outcome;
    Some((done, outcome.nodes.into_iter().next().expect("one node")))
}

/// Writes the file with the key of a signed root zone for `delv`.
pub fn anchor(net: &Net, signed: &str) -> String {
    let lines = signed
        .lines()
        .map(|line| line.split(';').next().unwrap_or_default());
    let flat = lines.collect::<Vec<_>>().join(" ");
    let mut keys = flat
        .split("DNSKEY")
        .filter(|key| key.trim_start().starts_with("257"));
    let (_, key) = keys
        .next()
        .and_then(|key| key.split_once('('))
        .expect("a key in parentheses");
    let key: String = key
        .split(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    net.write(
        "anchor",
        &format!("trust-anchors {{ . static-key 257 3 13 \"{key}\"; }};"),
    )
}
