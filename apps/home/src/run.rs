//! Runs the router until Ctrl-C.

use crate::arguments::{Arguments, SwitchKind};
use crate::{hostapd, machine};
use anyhow::{Context, bail};
use confine::Service;
use home::calendar::Calendar;
use home::clock::Clock;
use home::gateway::Settings;
use home::live::{Lan, Uplink, whole};
use home::messages::settings::Wanted;
use home::networks::Network;
use home::plan::Plan;
use home::store::Store;
use home::tables::Tables;
use home::web::{self, Web};
use home::{Home, Shared};
use live::port::{self, Options, Port, PortSpec};
use live::world::PortsOptions;
use node::Time;
use packet::ethernet::Mac;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use stream::udp;

/// Time from the opening of the ports to time zero of the router, ns.
const LEAD_NS: u64 = 20_000_000;
/// Port of the page for guests.
const GUESTS_PORT: u16 = 8480;
/// Port of the board.
const WEB_PORT: u16 = 8443;
/// Timeout of a question to a running router.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Control channel for Open vSwitch.
const CONTROL: &str = "ptcp:6653:127.0.0.1";

/// Runs the router, or the demonstration.
///
/// # Errors
/// When it cannot start, or an interface is lost.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if !arguments.hostapd_agent.is_empty() {
        return hostapd::agent(&arguments.hostapd_agent);
    }
    capture::signal::install();
    if let (Some(sql), Some(address)) = (&arguments.ask, arguments.calls) {
        return ask(address, sql);
    }
    match &arguments.wan {
        Some(wan) => router(arguments, wan),
        None => crate::demo::run(arguments),
    }
}

/// Sends a question to a running router.
fn ask(address: SocketAddr, sql: &str) -> anyhow::Result<()> {
    let unreachable = || format!("no router answers at {address}; is one running with --calls?");
    let mut client = udp::Client::connect(address, CALL_TIMEOUT).with_context(unreachable)?;
    let reply = client.call(sql, CALL_TIMEOUT)?;
    match reply.split_once('\n') {
        Some(("OK", rows)) => print!("{rows}"),
        _ => bail!("{}", reply.trim_start_matches("ERROR ").trim_end()),
    }
    Ok(())
}

/// Router time, which is the time of the node, and Unix time.
#[expect(clippy::disallowed_methods, reason = "the program's clock")]
pub fn clock(start_ns: u64) -> Clock {
    Clock::new(
        move || Time::from_ns(capture::clock::now_ns().saturating_sub(start_ns)),
        || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs())
        },
    )
}

/// Local time of the machine. The zone is read once: without access to its file the program could not read it later.
pub fn calendar(clock: &Clock) -> Calendar {
    let zone = jiff::tz::TimeZone::try_system().unwrap_or_else(|error| {
        eprintln!("wire home: warning: the time zone of this machine is unknown ({error}); bedtimes are in UTC");
        jiff::tz::TimeZone::UTC
    });
    let clock = clock.clone();
    Calendar::new(zone, move |_| clock.unix())
}

fn router(arguments: &Arguments, wan: &str) -> anyhow::Result<()> {
    let plan = plan(arguments)?;
    let start_ns = capture::clock::now_ns() + LEAD_NS;
    let clock = clock(start_ns);
    let store = open_store(arguments, &clock)?;
    let mut home = Home::new(plan, store.journal());
    if arguments.authenticated_only {
        home.require_authentication();
    }
    let restored = store.restore(&mut home)?;
    if restored.devices > 0 {
        eprintln!("wire home: {} devices are known", restored.devices);
    }
    if restored.moved > 0 {
        eprintln!(
            "wire home: {} of them have another address than before",
            restored.moved
        );
    }
    if restored.left_out > 0 {
        eprintln!(
            "wire home: {} devices have no address in this network and wait again",
            restored.left_out
        );
    }
    if let Some(local) = local(arguments)? {
        home.networks.set(local);
    }
    home.calendar = calendar(&clock);
    let home = home.shared();
    let lan: Vec<&str> = arguments.lan.iter().map(String::as_str).collect();
    machine::check_free(&lan)?;
    machine::check_free(&[wan])?;
    let authenticators = authenticators(arguments)?;
    let has_authenticator = authenticators.contains(&None);
    let eapol = format!("tap:{}", machine::EAPOL);
    let mut agent = match arguments.hostapd.is_empty() {
        true => None,
        false => Some(hostapd::Agent::start(&arguments.hostapd)?),
    };
    let _undo = machine::Undo::start(arguments.switch == SwitchKind::Openvswitch)?;
    let (kind, names, quiet) = match arguments.switch {
        SwitchKind::Wireline => {
            let (mut names, count) = (lan.clone(), lan.len() + usize::from(has_authenticator));
            names.extend(has_authenticator.then_some(eapol.as_str()));
            let count = u16::try_from(count).context("too many interfaces")?;
            (Lan::Switch(count), names, lan.clone())
        }
        SwitchKind::Openvswitch => {
            let is_in_kernel = machine::make_bridge(&lan, has_authenticator, "tcp:127.0.0.1:6653")?;
            let mut quiet = vec![machine::GATEWAY];
            // The kernel's datapath takes frames after the rules, and its own stack sees none of them.
            if !is_in_kernel {
                quiet.extend(&lan);
            }
            (Lan::Bridge, vec![machine::GATEWAY, CONTROL], quiet)
        }
    };
    let quiet: Vec<&str> = quiet.into_iter().chain([wan]).collect();
    machine::keep_quiet(&quiet)?;
    let tap = format!("tap:{}", machine::HOST);
    let names = names.into_iter().chain([wan, &tap]);
    let specs: Vec<PortSpec> = names
        .map(|name| name.parse().with_context(|| format!("port {name}")))
        .collect::<anyhow::Result<_>>()?;
    let options = Options {
        coalesces: true,
        ..Options::of_nodes(lan.len() + 2)
    };
    let ports: Vec<Port> = specs
        .iter()
        .map(|spec| Ok(port::open(spec, &options)?))
        .collect::<anyhow::Result<_>>()?;
    let mac = ports[ports.len() - 2]
        .info
        .mac
        .context("the WAN interface has no MAC address")?;
    let uplink = Uplink {
        mac: Mac(mac),
        address: arguments.wan_address,
        gateway: arguments.gateway,
    };
    let settings = Settings {
        dns: servers(arguments)?,
        denied: arguments.denied,
        exact: !arguments.wildcard,
        ipv6: !arguments.no_ipv6,
        authenticator: has_authenticator.then_some(2 + lan.len() as u32),
        guests: Some(GUESTS_PORT),
        seed: secret()?,
        ..Settings::default()
    };
    let host = plan.device(plan.host());
    let (network, prefix) = plan.network();
    machine::set_host(
        &format!("{host}/30"),
        &plan.gateway(plan.host()).to_string(),
        &format!("{network}/{prefix}"),
    )?;
    if has_authenticator {
        machine::set_authenticator()?;
    }
    let tables = Tables::new(&clock)?;
    let web_settings = settings.clone();
    let node = whole(kind, &home, settings, Box::new(tables.clone()), &uplink)?;
    let web = board(
        arguments,
        &home,
        store,
        &tables,
        (clock, web_settings),
        &[IpAddr::V4(host), Ipv4Addr::LOCALHOST.into()],
        Some((host, GUESTS_PORT).into()),
    )?;
    let service = Service {
        user: arguments.user.as_deref(),
        accepts: true,
        // Messages go to a webhook and to a broker.
        connects: true,
        stores: true,
        ..Service::default()
    };
    let _kept = confine::server(&specs, service)?;
    // `server` removes the capabilities of existing threads. Without CAP_IPC_LOCK a thread cannot start others.
    let _calls = calls(arguments, &tables)?;
    if let Some(agent) = &mut agent {
        let clock = self::clock(start_ns);
        agent.connect(&home, authenticators, move || clock.now())?;
    }
    let web = web.start()?;
    let options = PortsOptions {
        start_ns: Some(start_ns),
        ..PortsOptions::default()
    };
    let outcome = live::world::on_ports_with("home", Box::new(node), ports, options)?;
    web.stop();
    home.lock().save_used();
    if let Some(trouble) = &outcome.trouble {
        eprintln!("wire home: {trouble}");
    }
    for (name, count) in outcome.outcome.nodes.iter().flat_map(|node| &node.counters) {
        println!("{name} {count}");
    }
    Ok(())
}

/// The switch port of each control socket of hostapd; `None` for the interface of cables. Sockets have the names of their interfaces.
fn authenticators(arguments: &Arguments) -> anyhow::Result<Vec<Option<u32>>> {
    let port = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        if name == Some(machine::EAPOL) {
            return Ok(None);
        }
        let at = arguments
            .lan
            .iter()
            .position(|lan| Some(lan.as_str()) == name);
        let at = at.with_context(|| {
            let (path, cables) = (path.display(), machine::EAPOL);
            format!("--hostapd {path}: its file name must be an interface of --lan, or {cables} for devices at cables")
        })?;
        Ok(Some(2 + at as u32))
    };
    arguments.hostapd.iter().map(port).collect()
}

fn plan(arguments: &Arguments) -> anyhow::Result<Plan> {
    let network = arguments.network;
    let IpAddr::V4(address) = network.address else {
        bail!("--network: an IPv4 network, such as 10.2.0.0/16");
    };
    Ok(Plan::new(address, network.prefix)?)
}

/// The local IPv6 network.
fn local(arguments: &Arguments) -> anyhow::Result<Option<Network>> {
    let Some(network) = arguments.local else {
        return Ok(None);
    };
    let IpAddr::V6(address) = network.address else {
        bail!("--local: an IPv6 network, such as fd12:3456:789a::/48");
    };
    let local = Network::new(address, network.prefix, Time::MAX, Time::MAX);
    let local = local.context("--local")?;
    if !local.is_local() {
        bail!("--local: a network of fd00::/8 (RFC 4193), such as fd12:3456:789a::/48");
    }
    Ok(Some(local))
}

/// Opens the state file, and creates its folder if necessary.
pub fn open_store(arguments: &Arguments, clock: &Clock) -> anyhow::Result<Store> {
    if let Some(folder) = arguments
        .state
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    }
    Ok(Store::open(&arguments.state, clock.clone())?)
}

/// Starts the server of calls, with `--calls`.
pub fn calls(arguments: &Arguments, tables: &Tables) -> anyhow::Result<Option<udp::Server>> {
    let start = |address: SocketAddr| {
        udp::Server::start(tables.database().clone(), address, udp::Options::default())
            .with_context(|| format!("--calls {address}"))
    };
    arguments.calls.map(start).transpose()
}

/// Opens the board and the API, and prints their addresses.
pub fn board(
    arguments: &Arguments,
    home: &Shared,
    store: Store,
    tables: &Tables,
    (clock, settings): (Clock, Settings),
    usual: &[IpAddr],
    guests: Option<SocketAddr>,
) -> anyhow::Result<Web> {
    let mut options = web::Options::new(clock);
    options.database = Some(tables.database().clone());
    options.settings = settings;
    options.join = guests;
    options.messages.dns = servers(arguments).unwrap_or_default();
    options.https = match arguments.web.is_empty() {
        true => usual
            .iter()
            .map(|address| SocketAddr::new(*address, WEB_PORT))
            .collect(),
        false => arguments.web.clone(),
    };
    let web = Web::open(home.clone(), store, options)?;
    if let Some(path) = &arguments.messages {
        let named = || format!("--messages {}", path.display());
        let text = std::fs::read(path).with_context(named)?;
        let wanted: Wanted = serde_json::from_slice(&text).with_context(named)?;
        if wanted.lacks_secret() {
            bail!(
                "--messages {}: the webhook needs a `secret`, such as `whsec_` and the output of `openssl rand -base64 32`",
                path.display()
            );
        }
        web.messages().change(wanted).with_context(named)?;
    }
    let code = web.setup_code();
    for (address, _) in web.addresses() {
        match &code {
            Some(code) => eprintln!("wire home: set a password at https://{address}/#setup={code}"),
            None => eprintln!("wire home: the board is at https://{address}/"),
        }
    }
    if let Some(fingerprint) = web.fingerprint() {
        eprintln!("wire home: SHA-256 fingerprint of the certificate: {fingerprint}");
    }
    Ok(web)
}

/// The recursive servers: those of the arguments, or of the machine.
fn servers(arguments: &Arguments) -> anyhow::Result<Vec<SocketAddr>> {
    let given: Vec<IpAddr> = match arguments.dns.is_empty() {
        false => arguments.dns.clone(),
        true => {
            let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
            let lines = text
                .lines()
                .filter_map(|line| line.strip_prefix("nameserver"));
            lines.filter_map(|rest| rest.trim().parse().ok()).collect()
        }
    };
    let usable = given
        .into_iter()
        .filter(|server| server.is_ipv4() && !server.is_loopback());
    let servers: Vec<SocketAddr> = usable.map(|server| SocketAddr::new(server, 53)).collect();
    if servers.is_empty() {
        bail!("no usable recursive DNS server (IPv4, not loopback): name one with --dns ADDRESS");
    }
    Ok(servers)
}

/// A random seed: the ports and identifiers of DNS queries depend on it.
fn secret() -> anyhow::Result<u64> {
    Ok(u64::from_str_radix(&home::secret::random::<8>()?, 16)?)
}
