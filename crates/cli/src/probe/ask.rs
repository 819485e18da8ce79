//! Who asks: a test each way, and what came of it.

use super::desk;
use super::intervals::Teller;
use super::line::Line;
use super::outcome::Outcome;
use super::report::tell;
use super::{Probe, word};
use crate::Verdict;
use ::capture::signal::stop_requested;
use anyhow::{Context, bail};
use live::datagram::Datagrams;
use live::port::PortSpec;
use node::Time;
use nodes::bandwidth::capacity::client::{Client, End};
use packet::udpstp::{PORT, SetupAnswer};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Maximum interval between two passes of the loop.
const POLL_INTERVAL: Time = Time::from_ms(50);
/// A client that was stopped tells the server within this.
const FAREWELL: Time = Time::from_ms(200);
/// From this MTU on jumbo datagrams go as they are.
const JUMBO: usize = 9_000;

/// Asks, one way after the other.
pub fn run(command: &Probe, host: &str, server: SocketAddr) -> anyhow::Result<Verdict> {
    let directions = command.directions();
    // Problems of the options and of the path are reported before anything is sent.
    let mut lines = Vec::new();
    for direction in directions {
        lines.push((command.settings(*direction)?, line(server)?));
    }
    let signer = desk::signer(command.key_file.as_deref())?;
    let spec = PortSpec::Udp {
        host: host.into(),
        port: server.port(),
        listen: false,
    };
    confine::ports([&spec], command.plot.is_some())?;
    let mut outcomes: Vec<Outcome> = Vec::new();
    for (mut settings, mut line) in lines {
        let what = word(settings.direction);
        let mtu = line.socket.mtu();
        settings.jumbo = mtu.is_none_or(|mtu| mtu >= JUMBO);
        if !command.json {
            let from = match what {
                "up" => "to",
                _ => "from",
            };
            eprintln!(
                "wire: capacity {what}, {from} {server}, for {} s of load, or until Ctrl-C",
                settings.test_time
            );
        }
        let teller = Teller::start(command, settings.direction, settings.test_time)?;
        let identifier = std::process::id() as u16 ^ (::capture::clock::now_ns() >> 10) as u16;
        let mut client = Client::new(
            settings,
            identifier.max(1),
            server.port(),
            server.is_ipv6(),
            line.clock(),
            line.now(),
        )
        .with_key(signer.clone());
        let driven = drive(&mut line, &mut client, &teller);
        teller.join()?;
        driven.with_context(|| format!("to {server}"))?;
        let end = client.end().unwrap_or(End::Stopped);
        if client.intervals().is_empty() {
            mend(end, server)?;
        }
        let asked = settings.test_time;
        outcomes.push(Outcome::new(&client, &line, end, asked, server.is_ipv6()));
        if stop_requested() {
            break;
        }
    }
    let verdict = tell(command, host, &outcomes)?;
    Ok(verdict.max(Verdict::if_done(false)))
}

/// A socket to the server.
fn line(server: SocketAddr) -> anyhow::Result<Line> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = Datagrams::bind((any, 0).into()).and_then(|mut socket| {
        socket.connect(server)?;
        Ok(socket)
    });
    Ok(Line::new(
        socket.with_context(|| format!("no way to {server}"))?,
        server,
    ))
}

/// Until the client is through, or somebody asks for the end.
fn drive(line: &mut Line, client: &mut Client, teller: &Teller) -> io::Result<()> {
    live::scheduling::for_node();
    let (mut told, mut until) = (0, None);
    while line.turn(client, POLL_INTERVAL)? {
        for interval in &client.intervals()[told..] {
            teller.interval(*interval);
        }
        told = client.intervals().len();
        match until {
            None if stop_requested() => {
                client.stop(line.now());
                until = Some(line.now() + FAREWELL);
            }
            Some(at) if line.now() > at => break,
            _ => {}
        }
    }
    Ok(())
}

/// Why there is nothing to report, and what to do about it.
fn mend(end: End, server: SocketAddr) -> anyhow::Result<()> {
    let old = "servers of udpst before 9.0.0 answer at port 25000 and speak older versions";
    match end {
        End::Stopped | End::Complete => Ok(()),
        End::NoAnswer => bail!(
            "nobody answers at {server}: start `wire probe --answer` there, and let UDP through to port {} (of udpst 9.0.0 or later also to the \
             ports above 32767 that its tests get){}",
            server.port(),
            match server.port() {
                PORT => format!("; {old}"),
                _ => String::new(),
            }
        ),
        End::Refused(SetupAnswer::BAD_VERSION, _) => {
            bail!("{end}: it takes udpst 9.0.0 or later, or `wire probe --answer`")
        }
        End::Refused(SetupAnswer::FULL, _) => {
            bail!(
                "{end}: try again later, or give it more by `wire probe --answer --at-once`; an address has one test at a time"
            )
        }
        End::Refused(SetupAnswer::KEY_WANTED, _) => {
            bail!(
                "{end}: copy the file of its --key-file here and give it by --key-file; or the server serves anybody by --public. Keys of udpst \
                 are others: let it run without"
            )
        }
        End::Refused(SetupAnswer::NO_KEYS, _) => bail!("{end}: leave --key-file out"),
        End::Rejected => {
            bail!("{end}, or the key is another, or it serves no test more: try again")
        }
        End::Refused(SetupAnswer(9 | 10), _) => {
            bail!(
                "{end}: it has a limit of bandwidth (-B), which wire does not ask for; let it run without"
            )
        }
        _ => bail!("{end} ({server})"),
    }
}
