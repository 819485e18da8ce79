//! Arguments of `wire-home`.

use clap::ValueEnum;
use home::dns::Denied;
use ip::address::InterfaceAddress;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Home router with a board on which people admit devices and see their traffic
///
/// A new device waits until a person permits or denies it on the board. The router takes over the interfaces: they must have no
/// addresses in the kernel. This machine is a host behind the router, on the interface `home0`.
#[derive(clap::Parser)]
#[command(
    name = "wire home",
    bin_name = "wire home",
    version,
    after_help = "Examples:
  wire home --demo
  sudo wire home --lan eth1 eth2 --wan eth0
  sudo wire home --lan eth1 --wan eth0 --switch openvswitch --dns 192.0.2.53
  wire home --calls 127.0.0.1:8800 --ask 'SELECT device, sum(bytes) FROM Flows [RANGE 1 HOUR] GROUP BY device'"
)]
pub struct Arguments {
    /// Interfaces to the devices of the home
    #[arg(long, value_name = "IF", num_args = 1.., required_unless_present_any = ["demo", "ask", "hostapd_agent"])]
    pub lan: Vec<String>,
    /// Interface to the Internet provider
    #[arg(long, value_name = "IF", required_unless_present_any = ["demo", "ask", "hostapd_agent"])]
    pub wan: Option<String>,
    /// Address of the WAN interface, such as 192.0.2.2/24; default: by DHCP
    #[arg(long, value_name = "ADDRESS/LENGTH", requires = "gateway")]
    pub wan_address: Option<InterfaceAddress>,
    /// Next hop to the Internet, with --wan-address
    #[arg(long, value_name = "ADDRESS", requires = "wan_address")]
    pub gateway: Option<Ipv4Addr>,
    /// Recursive DNS servers; default: those of /etc/resolv.conf
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    pub dns: Vec<IpAddr>,
    /// Response to queries for denied domains
    #[arg(long, value_name = "RESPONSE", default_value = "nxdomain", value_parser = denied)]
    pub denied: Denied,
    /// Network of the devices, /16 to /28
    #[arg(long, value_name = "NETWORK", default_value = "10.2.0.0/16")]
    pub network: InterfaceAddress,
    /// Drop IPv6. Default: IPv6 with a prefix that the provider delegates by DHCPv6
    #[arg(long)]
    pub no_ipv6: bool,
    /// Local IPv6 network inside the home (RFC 4193), next to the delegated one, such as fd12:3456:789a::/48; default: none
    #[arg(long, value_name = "NETWORK", conflicts_with = "no_ipv6")]
    pub local: Option<InterfaceAddress>,
    /// Switch between the devices
    #[arg(long, value_name = "SWITCH", value_enum, default_value = "wireline")]
    pub switch: SwitchKind,
    /// Control sockets of hostapd, one for each interface on which it authenticates devices, such as /run/hostapd/home-eap
    #[arg(long, value_name = "SOCKET", num_args = 1..)]
    pub hostapd: Vec<PathBuf>,
    /// Let devices reach nothing until hostapd has authenticated them
    #[arg(long, requires = "hostapd")]
    pub authenticated_only: bool,
    /// Sockets of the agent for hostapd, which `wire home` starts itself
    #[arg(long, hide = true, num_args = 1.., exclusive = true)]
    pub hostapd_agent: Vec<PathBuf>,
    /// Use one flow entry for all Internet flows of a device that has no denied domains
    #[arg(long)]
    pub wildcard: bool,
    /// File with the devices, the decisions and the password
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/var/lib/wire-home/home.db"
    )]
    pub state: PathBuf,
    /// HTTPS addresses of the board and its API; default: port 8443 on loopback and on home0
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 1..)]
    pub web: Vec<SocketAddr>,
    /// Loopback address for questions about traffic by calls over UDP, without a password, such as 127.0.0.1:8800
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = loopback)]
    pub calls: Option<SocketAddr>,
    /// Put a question in SQL to a router that runs with the same --calls, print the answer, and end
    #[arg(long, value_name = "SQL", requires = "calls", conflicts_with_all = ["lan", "wan", "demo"])]
    pub ask: Option<String>,
    /// Destinations of messages: a file with JSON as in a call of POST /ws.v1/messages. They are stored
    #[arg(long, value_name = "FILE")]
    pub messages: Option<PathBuf>,
    /// User to change to after the ports are open, when started as root; default: an unused user number
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Show the board with simulated devices, without privileges
    #[arg(long, conflicts_with_all = ["lan", "wan", "switch", "hostapd"])]
    pub demo: bool,
}

/// The switch between the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SwitchKind {
    /// Switch of Wireline, in this program
    Wireline,
    /// Open vSwitch, with a bridge `home-br`
    Openvswitch,
}

fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|error| format!("{error}"))?;
    match address.ip().is_loopback() {
        true => Ok(address),
        false => Err("only loopback, since everybody who reaches the address may ask".into()),
    }
}

fn denied(text: &str) -> Result<Denied, String> {
    match text {
        "nxdomain" => Ok(Denied::Nxdomain),
        "refused" => Ok(Denied::Refused),
        _ => Err("use nxdomain (no such name) or refused".into()),
    }
}
