//! The server: one thread and one test for each client that proves that it receives.

use super::cookie::Cookies;
use super::desk::{self, Desk, Refusal, Running};
use super::intervals::{of_server, served};
use super::line::Line;
use super::{Probe, address, word};
use crate::Verdict;
use crate::output::{Buffering, Output};
use ::capture::clock::{epoch_ns, now_ns};
use ::capture::signal::stop_requested;
use ::report::text::bits;
use anyhow::Context;
use confine::Service;
use live::datagram::Datagrams;
use live::port::PortSpec;
use node::Time;
use nodes::bandwidth::capacity::server::{Limits, Test, activation, reject, setup};
use nodes::bandwidth::message::{Message, REPLY};
use packet::udpstp::{Direction, PORT, Setup, SetupAnswer};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Maximum interval between two passes of the loop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A train ends, and is reported, after this time without a probe, so that reporting takes no time
/// from its packets. No train waits longer than the second limit, and no more than the third wait.
const OVER: Duration = Duration::from_millis(2);
const WAITS_NS: u64 = 50_000_000;
const WAITING: usize = 4_096;

/// A test that is over.
struct Ended {
    peer: SocketAddr,
    test: Test,
    dropped: u64,
    error: Option<io::Error>,
}

/// Answers until somebody asks for the end, or enough tests were.
pub fn run(command: &Probe) -> anyhow::Result<Verdict> {
    let mut desk = Desk {
        at_once: usize::from(command.at_once),
        public: command.public,
        any_client: command.any_client,
        signer: desk::signer(command.key_file.as_deref())?,
        cookies: Cookies::new()?,
        running: Running::default(),
        setups: BTreeMap::new(),
    };
    let mut control = control(command)?;
    let at = control.local()?;
    if at.ip().is_unspecified() {
        control.tell_destinations()?;
    }
    let spec = PortSpec::Udp {
        host: at.ip().to_string(),
        port: at.port(),
        listen: true,
    };
    let service = Service {
        user: command.user.as_deref(),
        shared: &[control.as_fd()],
        // Each test has a socket of its own.
        connects: true,
        ..Service::default()
    };
    let _kept = confine::server([&spec], service)?;
    let limits = Limits {
        test_time: u16::try_from(command.max_duration.as_ns() / 1_000_000_000).unwrap_or(u16::MAX),
        rate: command
            .max_rate
            .map_or(f64::INFINITY, |rate| rate.bits_per_second() as f64),
    };
    let mut stdout = Output::open(&Buffering::default())?;
    match command.json {
        true => {
            let line = json_line!("probe", "answering", { "address": at.ip(), "port": at.port(), "at_once": command.at_once });
            stdout.tell(&format!("{line}\n"))?;
        }
        false => stdout.tell(&format!(
            "answering at {at}, {} tests at once, to {}; until Ctrl-C\n",
            command.at_once,
            desk.whom()
        ))?,
    }
    stdout.flush()?;
    let (sender, ended) = channel();
    let (mut over, mut refused, mut unreadable, mut probes) = (0, 0u64, 0u64, 0u64);
    // Reasons of refusals that were reported.
    let (mut told_key, mut told_cookie) = (false, false);
    // Of which probes is still to be told, and since when.
    let (mut stamped, mut since) = (Vec::new(), 0);
    while !stop_requested() && command.count.is_none_or(|count| over < count) {
        let (mut requests, waiting) = (Vec::new(), stamped.len());
        // What is told of earlier answers, such as that nobody is there any more, is no reason to end.
        if let Err(error) = control.receive(&mut |it| match Message::parse(it.bytes) {
            // A reply is never longer than what it answers.
            Some(probe) if probe.came.is_none() && it.bytes.len() >= REPLY => {
                let came = Some(Time::from_ns(it.at_ns));
                stamped.push((it.from, it.to, Message { came, ..probe }));
            }
            _ => requests.push((it.from, it.to, it.bytes.to_vec())),
        }) && error.kind() != io::ErrorKind::ConnectionRefused
        {
            return Err(error).context("receiving");
        }
        let now = now_ns();
        since = if waiting == 0 { now } else { since };
        let is_over =
            stamped.len() == waiting || stamped.len() >= WAITING || now - since > WAITS_NS;
        let told = if is_over { stamped.len() } else { 0 };
        for (from, to, reply) in stamped.drain(..told) {
            let mut bytes = Vec::with_capacity(REPLY);
            reply.build(&mut bytes);
            answer_from(&mut control, to.unwrap_or(at.ip()), from, &bytes);
            probes += 1;
        }
        for (from, to, bytes) in requests {
            // All that a client hears comes from the address that it asked.
            let own = to.unwrap_or(at.ip());
            let unix_time = ((epoch_ns() + now_ns()) / 1_000_000_000) as u32;
            let mut answer = Vec::new();
            if let Some(request) = activation(&bytes) {
                let socket = || connected(own, at.port(), from);
                match desk.activate(from, &request, unix_time) {
                    Ok(setup) => match socket() {
                        Ok(socket) => {
                            let test = (setup, bytes);
                            start(test, socket, from, limits, &sender, &desk.running)?;
                        }
                        Err(error) => {
                            desk.running.end(from);
                            refused += 1;
                            eprintln!("wire: {from}: no socket for its test: {error}");
                        }
                    },
                    Err(Refusal::Runs) => {}
                    Err(refusal) => {
                        refused += 1;
                        if refusal == Refusal::Unproven
                            && !std::mem::replace(&mut told_cookie, true)
                        {
                            eprintln!(
                                "wire: {from} does not prove that it receives, as udpst does not: for such clients use --any-client; further ones are counted"
                            );
                        }
                        reject(&request, &mut answer);
                        answer_from(&mut control, own, from, &answer);
                    }
                }
                continue;
            }
            let grant = |setup: &Setup| {
                let granted = desk.grant(from, at.port(), setup, unix_time);
                if granted == Err(SetupAnswer::KEY_WANTED)
                    && !std::mem::replace(&mut told_key, true)
                {
                    eprintln!(
                        "wire: refused {from}: no key; use --key-file FILE at both ends, or --public to serve any address; further refusals are only counted"
                    );
                }
                granted
            };
            match setup(&bytes, grant, &mut answer) {
                Err(_) => unreadable += 1,
                Ok(granted) => {
                    answer_from(&mut control, own, from, &answer);
                    refused += u64::from(granted.is_none());
                }
            }
        }
        over += tell(command, &mut stdout, &ended)?;
        control.wait(
            false,
            if stamped.is_empty() {
                POLL_INTERVAL
            } else {
                OVER
            },
        )?;
    }
    // Those that still run see the request to stop.
    drop(sender);
    while !desk.running.is_empty() {
        std::thread::park_timeout(POLL_INTERVAL);
    }
    over += tell(command, &mut stdout, &ended)?;
    match command.json {
        true => {
            let line = json_line!("probe", "answered", { "tests": over, "refused": refused, "unreadable": unreadable, "probes": probes });
            stdout.tell(&format!("{line}\n"))?;
        }
        false => stdout.tell(&format!(
            "{over} tests, {probes} probes of trains, {refused} requests refused, {unreadable} datagrams that were no requests\n"
        ))?,
    }
    stdout.finish()?;
    Ok(Verdict::if_done(
        command.count.is_none_or(|count| over >= count),
    ))
}

/// Sends from the address that was asked, if that is known.
fn answer_from(control: &mut Datagrams, own: IpAddr, to: SocketAddr, bytes: &[u8]) {
    // What finds no room is lost, as on any way.
    let _ = match own.is_unspecified() {
        true => control.send(bytes, bytes.len(), Some(to)),
        false => control.send_from(own, to, bytes),
    };
}

fn control(command: &Probe) -> anyhow::Result<Datagrams> {
    let told = |at: SocketAddr, error: io::Error| {
        let mend = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another server has this port; choose one by --on ADDR:PORT"
            }
            io::ErrorKind::AddrNotAvailable => "no interface of this machine has that address",
            _ => "choose another by --on ADDR:PORT",
        };
        anyhow::anyhow!("cannot answer at {at}: {error}; {mend}")
    };
    if let Some(text) = &command.on {
        let at = address::own(text, PORT)?;
        return bind(at).map_err(|error| told(at, error));
    }
    let any = (Ipv4Addr::UNSPECIFIED, PORT).into();
    if !command.ipv4 {
        let both = (Ipv6Addr::UNSPECIFIED, PORT).into();
        match bind(both) {
            Ok(socket) => return Ok(socket),
            // There is no IPv6 here.
            Err(error) if !command.ipv6 && error.kind() != io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(told(both, error)),
        }
    }
    bind(any).map_err(|error| told(any, error))
}

/// A socket whose port tests share, at an address that no other server has.
fn bind(at: SocketAddr) -> io::Result<Datagrams> {
    let port = Datagrams::bind(at)?.local()?.port();
    Datagrams::bind_shared(SocketAddr::new(at.ip(), port))
}

/// A socket for a client's test: bound to the server's port and connected to this client.
fn connected(own: IpAddr, port: u16, client: SocketAddr) -> io::Result<Datagrams> {
    let mut at = SocketAddr::new(own, port);
    if let (SocketAddr::V6(at), SocketAddr::V6(client)) = (&mut at, client) {
        // A link-local address is one of an interface.
        at.set_scope_id(client.scope_id());
    }
    let mut socket = Datagrams::bind_shared(at)?;
    socket.connect(client)?;
    // Datagrams of others may have come before it was connected; they ask again.
    while socket.receive(&mut |_| {})? > 0 {}
    Ok(socket)
}

fn start(
    (setup, activation): (Setup, Vec<u8>),
    socket: Datagrams,
    peer: SocketAddr,
    limits: Limits,
    sender: &Sender<Ended>,
    running: &Running,
) -> anyhow::Result<()> {
    let (sender, running) = (sender.clone(), running.clone());
    let body = move || {
        let mut line = Line::new(socket, peer);
        let mut test = Test::new(setup, peer.is_ipv6(), limits, line.clock(), line.now());
        test.handle(line.now(), &activation);
        live::scheduling::for_node();
        let mut error = None;
        while !stop_requested() {
            match line.turn(&mut test, Time::from_ms(50)) {
                Ok(true) => {}
                Ok(false) => break,
                Err(failed) => {
                    error = Some(failed);
                    break;
                }
            }
        }
        let dropped = line.socket.lost();
        let _ = sender.send(Ended {
            peer,
            test,
            dropped,
            error,
        });
        running.end(peer);
    };
    live::thread::spawn("test", body)?;
    Ok(())
}

/// Tells of tests that are over: how many.
fn tell(command: &Probe, stdout: &mut Output, ended: &Receiver<Ended>) -> anyhow::Result<u64> {
    let mut over = 0;
    for Ended {
        peer,
        test,
        dropped,
        error,
    } in ended.try_iter()
    {
        over += 1;
        if command.quiet {
            continue;
        }
        let direction = test.settings().direction;
        let [sent, received] = test.traffic();
        let load = match direction {
            Direction::Upstream => received,
            Direction::Downstream => sent,
        };
        let (best, _) = of_server(test.intervals());
        if command.json {
            let object = served(
                &peer.to_string(),
                direction,
                test.intervals(),
                test.is_complete(),
                &load,
                dropped,
            );
            stdout.tell(&format!("{object}\n"))?;
            continue;
        }
        let how = match (&error, test.is_complete(), best) {
            (Some(error), ..) => format!("ended by an error: {error}"),
            (None, true, _) => "complete".into(),
            (None, false, None) => "the client said no more".into(),
            (None, false, Some(_)) => "not ended by the client".into(),
        };
        let rate = best.map_or("nothing".into(), bits);
        stdout.tell(&format!(
            "{peer} {}: {rate} at most, {:.1} MB, {how}\n",
            word(direction),
            load.bytes as f64 / 1e6
        ))?;
        let late = test.lateness();
        let slow = late.total() > 0 && late.value_at(990, 1_000) > 1_000_000;
        if dropped > 0 || slow || test.faults().late_bursts > 0 {
            eprintln!(
                "wire: warning: {peer}: {dropped} datagrams found no room here, {} bursts were left out, one burst in a hundred was {} us late or more: this \
                 machine is slow for this rate",
                test.faults().late_bursts,
                late.value_at(990, 1_000) / 1_000
            );
        }
    }
    stdout.flush()?;
    Ok(over)
}
