//! Hosts with a router between them, which is ours or a kernel's.

use super::{Kernels, kernels, run};
use live::netns::{Namespace, NetnsError, VethEnd, veth};
use router::router::Config;
use std::thread::JoinHandle;

/// The router between the hosts.
pub enum Middle {
    Ours(Box<Config>),
    /// Commands that set up the interfaces `r0`, `r1` and so on, one to each host.
    Kernel(String),
}

/// The router that runs.
pub enum Running {
    Ours(JoinHandle<node::Outcome>),
    Kernel(Namespace),
}

/// A namespace for each script, with an interface `k` that the script sets up, and the router between them.
pub fn between(middle: Middle, scripts: &[&str]) -> Option<(Kernels, Running)> {
    match middle {
        Middle::Ours(config) => {
            let (kernels, ports) = kernels(scripts)?;
            Some((kernels, Running::Ours(run(*config, ports))))
        }
        Middle::Kernel(script) => match around_kernel(scripts, &script) {
            Ok((kernels, router)) => Some((kernels, Running::Kernel(router))),
            Err(NetnsError::Permission { doing }) => {
                println!("skipped: {doing} is not allowed here");
                None
            }
            Err(error) => panic!("{error}"),
        },
    }
}

fn around_kernel(scripts: &[&str], router: &str) -> Result<(Kernels, Namespace), NetnsError> {
    let middle = Namespace::new()?;
    let mut all = Vec::new();
    for number in 0..scripts.len() {
        let host = Namespace::new()?;
        let near = format!("r{number}");
        let end = |namespace, name| VethEnd {
            namespace,
            name,
            mac: None,
        };
        veth([end(&host, "k"), end(&middle, &near)], 1500)?;
        all.push(host);
    }
    let script = format!(
        "cd /proc/sys/net; echo 1 >ipv4/ip_forward; echo 1 >ipv6/conf/all/forwarding; \
         for file in ipv6/conf/*/disable_ipv6 ipv4/conf/*/rp_filter; do echo 0 >$file; done; {router}"
    );
    set_up(&middle, &script);
    for (host, script) in all.iter().zip(scripts) {
        set_up(
            host,
            &format!("echo 0 >/proc/sys/net/ipv6/conf/k/disable_ipv6; {script}"),
        );
    }
    Ok((Kernels(all), middle))
}

fn set_up(namespace: &Namespace, script: &str) {
    let script = format!("set -e; PATH=$PATH:/sbin:/usr/sbin; {script}");
    let output = namespace.command("sh").args(["-c", &script]).output();
    let output = output.expect("a shell");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {error}");
}

impl Running {
    pub fn name(&self) -> &'static str {
        match self {
            Running::Ours(_) => "ours",
            Running::Kernel(_) => "kernel",
        }
    }

    /// Ends the links; the outcome of our router.
    pub fn end(self, kernels: Kernels) -> Option<node::Outcome> {
        match self {
            Running::Ours(router) => {
                kernels.end();
                Some(router.join().unwrap())
            }
            Running::Kernel(router) => {
                drop((kernels, router));
                None
            }
        }
    }
}
