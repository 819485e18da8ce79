//! Programs of hostapd that authenticate the devices: their results go to the home, and its decisions to them.
//!
//! The router gives up root, and hostapd's control sockets belong to root. A separate process, the agent, keeps the rights and is
//! connected to the router by two pipes with a line for each message:
//!
//! | line | direction | meaning |
//! |---|---|---|
//! | `connected N MAC SIGNAL IDENTITY` | to the router | a station of socket N is authorized; also repeated for each known station. `-`: unknown |
//! | `disconnected N MAC` | to the router | it is not |
//! | `deny MAC`, `accept MAC` | to the agent | whether a station may associate |
//! | `ask MAC` | to the agent | a device sends packets and is not authenticated |
//! | `end MAC` | to the agent | its authentication has ended, such as by a pulled cable |

mod agent;

pub use agent::agent;

use anyhow::Context;
use home::device::Wifi;
use home::home::{Change, News, Shared};
use packet::ethernet::Mac;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// The process with the rights. It ends with the router, when its input ends.
pub struct Agent {
    process: Child,
    input: Option<ChildStdin>,
}

impl Agent {
    /// Starts the process for these control sockets.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn start(sockets: &[PathBuf]) -> anyhow::Result<Agent> {
        let mut process = Command::new("/proc/self/exe")
            .arg("--hostapd-agent")
            .args(sockets)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A signal to the whole service must not end it before the router.
            .process_group(0)
            .spawn()
            .context("cannot start the agent for hostapd")?;
        let input = process.stdin.take();
        Ok(Agent { process, input })
    }

    /// Connects it to a home: `ports` has the switch port of each socket, or `None` for the interface that devices reach by EAPOL
    /// through the switch. Must be called after the process has given up its rights.
    ///
    /// # Errors
    /// When a thread cannot start.
    pub fn connect(
        &mut self,
        home: &Shared,
        ports: Vec<Option<u32>>,
        now: impl Fn() -> node::Time + Send + 'static,
    ) -> anyhow::Result<()> {
        let (Some(output), Some(input)) = (self.process.stdout.take(), self.input.take()) else {
            return Ok(());
        };
        let (wake, woken) = channel();
        home.lock().on_notice(move || {
            let _ = wake.send(());
        });
        let (deciding, reporting) = (home.clone(), home.clone());
        std::thread::Builder::new()
            .name("hostapd-decisions".into())
            .spawn(move || send_decisions(&deciding, &woken, input))?;
        std::thread::Builder::new()
            .name("hostapd-reports".into())
            .spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    report(&line, &reporting, &ports, now());
                }
            })?;
        Ok(())
    }
}

/// Sends decisions to the agent, first those of the start.
fn send_decisions(home: &Shared, woken: &Receiver<()>, mut input: ChildStdin) {
    let mut seen = None;
    loop {
        let lines: Vec<String> = {
            let mut home = home.lock();
            let unauthenticated = home.take_unauthenticated();
            let notices = seen.and_then(|seen| home.notices(seen));
            let mut lines: Vec<String> = match notices {
                Some(notices) => notices.filter_map(decision).collect(),
                None => home
                    .devices()
                    .filter(|device| device.blacklisted || seen.is_some())
                    .map(|device| line(device.mac, device.blacklisted))
                    .collect(),
            };
            seen = Some(home.last_notice());
            lines.extend(unauthenticated.iter().map(|mac| format!("ask {mac}\n")));
            lines
        };
        for line in lines {
            if input.write_all(line.as_bytes()).is_err() {
                eprintln!("wire home: the agent for hostapd has ended");
                return;
            }
        }
        if woken.recv().is_err() {
            return;
        }
    }
}

fn decision(notice: &home::Notice) -> Option<String> {
    let mac = notice.mac;
    match notice.news {
        News::Changed(Change::Blacklisted(is_denied)) => Some(line(mac, is_denied)),
        News::Changed(Change::Forgotten) => Some(line(mac, false)),
        News::Authenticated(false) => Some(format!("end {mac}\n")),
        _ => None,
    }
}

fn line(mac: Mac, is_denied: bool) -> String {
    let verb = if is_denied { "deny" } else { "accept" };
    format!("{verb} {mac}\n")
}

/// Applies a line of the agent.
fn report(line: &str, home: &Shared, ports: &[Option<u32>], now: node::Time) {
    let mut words = line.splitn(5, ' ');
    let mut next = || words.next();
    let (Some(kind), Some(number), Some(mac)) = (next(), next(), next()) else {
        return;
    };
    let port = number.parse().ok().and_then(|at: usize| ports.get(at));
    let (Some(port), Ok(mac)) = (port, mac.parse::<Mac>()) else {
        return;
    };
    let mut home = home.lock();
    if kind == "disconnected" {
        return home.end_authentication(now, mac);
    }
    let signal = next().and_then(|word| word.parse().ok());
    let identity = next().filter(|word| *word != "-");
    // A station that the home has not seen is new.
    if port.is_some() && home.device(mac).is_none() && home.seen_at(now, mac, *port).is_err() {
        return;
    }
    home.authenticated(now, mac, *port, identity);
    if let Some(device) = home.device_mut(mac) {
        device.wifi = signal.map(|signal| Wifi {
            signal,
            retransmitted: None,
        });
    }
}
