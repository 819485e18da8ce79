//! Changes to this machine: the kernel ignores the interfaces of the router, and gets an interface of its own behind it.
//!
//! The router gives up root while it runs. A separate process, [`Undo`], reverts the changes at the end.

use anyhow::{Context, bail};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

/// Interface that makes this machine a host behind the router.
pub const HOST: &str = "home0";
/// The bridge of Open vSwitch, whose internal port leads to the router.
pub const BRIDGE: &str = "home-br";
/// Interface on which hostapd authenticates devices at cables.
pub const EAPOL: &str = "home-eap";
/// The bridge's internal port, which leads to the router.
pub const GATEWAY: &str = "home-gw";
const TABLE: &str = "wire_home";

/// Removes the rules and the bridge when it is dropped. After a crash they stay, which keeps devices without a permission out
/// until the router starts again.
pub struct Undo {
    process: Child,
    input: Option<ChildStdin>,
}

impl Undo {
    /// Starts the process that waits for the end of the router. It removes the bridge only if the router has one.
    ///
    /// # Errors
    /// When there is no shell.
    pub fn start(has_bridge: bool) -> anyhow::Result<Undo> {
        let bridge = match has_bridge {
            true => format!("ovs-vsctl --timeout=5 --if-exists del-br {BRIDGE}"),
            false => String::new(),
        };
        // A signal to the whole service must not end this process before the router.
        let script = format!(
            "trap '' INT TERM HUP; read -r line || exit 0\n\
             nft delete table netdev {TABLE}\n{bridge}"
        );
        let mut process = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot run sh")?;
        let input = process.stdin.take();
        Ok(Undo { process, input })
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        if let Some(mut input) = self.input.take() {
            let _ = input.write_all(b"end\n");
        }
        let _ = self.process.wait();
    }
}

/// Checks that the kernel has no addresses on interfaces that the router needs for itself.
///
/// # Errors
/// When an interface has an address, or does not exist.
pub fn check_free(interfaces: &[&str]) -> anyhow::Result<()> {
    for name in interfaces {
        let addresses =
            live::interface::addresses(name).with_context(|| format!("interface {name}"))?;
        let own = addresses.iter().find(|(address, _)| is_global(*address));
        if let Some((address, length)) = own {
            bail!(
                "{name} has the address {address}/{length}, and the router needs the interface for itself: remove it with `ip address flush dev {name}`"
            );
        }
    }
    Ok(())
}

/// Hides the frames of interfaces from the kernel. Without this a device that is not permitted would reach this machine.
///
/// # Errors
/// When nftables refuses the rules.
pub fn keep_quiet(interfaces: &[&str]) -> anyhow::Result<()> {
    let list = interfaces.join(", ");
    let rules = format!(
        "add table netdev {TABLE}\ndelete table netdev {TABLE}\nadd table netdev {TABLE}\n\
         add chain netdev {TABLE} ingress {{ type filter hook ingress devices = {{ {list} }} priority 0; policy drop; }}"
    );
    run("nft", &[&rules]).context("cannot hide the interfaces from the kernel")
}

/// Excludes IPv6 link-local addresses, which the kernel adds by itself.
fn is_global(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(address) => !address.is_unicast_link_local(),
    }
}

/// Gives this machine its address behind the router.
///
/// # Errors
/// When `ip` fails.
pub fn set_host(address: &str, gateway: &str, network: &str) -> anyhow::Result<()> {
    run("ip", &["address", "replace", address, "dev", HOST])?;
    run("ip", &["link", "set", HOST, "up"])?;
    run(
        "ip",
        &["route", "replace", network, "via", gateway, "dev", HOST],
    )
}

/// Makes the interface for hostapd ready. The kernel sends nothing of its own there.
///
/// # Errors
/// When `ip` fails.
pub fn set_authenticator() -> anyhow::Result<()> {
    run("ip", &["link", "set", EAPOL, "addrgenmode", "none"])?;
    run("ip", &["link", "set", EAPOL, "up"])
}

/// Creates a bridge of Open vSwitch, with an internal port 1 for the router and the interfaces as ports 2 and up; then an internal port for
/// hostapd. Returns whether its kernel module
/// forwards; the module takes frames of the interfaces before the kernel's own stack does.
///
/// # Errors
/// When Open vSwitch fails.
pub fn make_bridge(
    interfaces: &[&str],
    has_authenticator: bool,
    controller: &str,
) -> anyhow::Result<bool> {
    let is_in_kernel = std::path::Path::new("/sys/module/openvswitch").exists();
    let mut words: Vec<String> = ["--if-exists", "del-br", BRIDGE, "--", "add-br", BRIDGE]
        .map(Into::into)
        .into();
    // Fail mode secure: without its control program the switch keeps its entries and adds none, so no device gets in.
    let settings = [
        "--",
        "set",
        "bridge",
        BRIDGE,
        "fail_mode=secure",
        "protocols=OpenFlow13",
        "other_config:disable-in-band=true",
    ];
    words.extend(settings.map(Into::into));
    if !is_in_kernel {
        words.push("datapath_type=netdev".into());
    }
    let authenticator = has_authenticator.then_some(EAPOL);
    let ports = std::iter::once(GATEWAY)
        .chain(interfaces.iter().copied())
        .chain(authenticator);
    for (number, port) in (1..).zip(ports) {
        words.extend(
            [
                "--",
                "add-port",
                BRIDGE,
                port,
                "--",
                "set",
                "interface",
                port,
            ]
            .map(Into::into),
        );
        words.push(format!("ofport_request={number}"));
        if [GATEWAY, EAPOL].contains(&port) {
            words.push("type=internal".into());
        }
    }
    words.extend(["--", "set-controller", BRIDGE, controller].map(Into::into));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    run("ovs-vsctl", &words)?;
    for name in interfaces.iter().chain(&[GATEWAY]) {
        run("ip", &["link", "set", name, "up"])?;
    }
    Ok(is_in_kernel)
}

/// Runs a system program to completion.
fn run(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("{program}: {}", message.trim());
    }
    Ok(())
}
