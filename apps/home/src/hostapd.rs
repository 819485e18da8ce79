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

use anyhow::Context;
use home::association::{Event, Station};
use home::device::Wifi;
use home::home::{Change, News, Shared};
use packet::ethernet::Mac;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Maximum length of a message of hostapd, bytes.
const MAX_MESSAGE: usize = 4096;
/// Timeout of a reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval between two polls of all stations, and between two attempts to connect.
const INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of stations that are read.
const MAX_STATIONS: usize = 2048;

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
            let invited = home.take_invitations();
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
            lines.extend(invited.iter().map(|mac| format!("ask {mac}\n")));
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

/// The agent's own program: runs until its input ends.
///
/// # Errors
/// When the guards cannot be set.
pub fn agent(sockets: &[PathBuf]) -> anyhow::Result<()> {
    // It starts no programs. Its rights are those of its user number, root, on hostapd's folder.
    confine::ports(&[], true)?;
    let commands: Vec<_> = sockets
        .iter()
        .cloned()
        .enumerate()
        .map(|(number, path)| {
            let (send, receive) = channel::<String>();
            std::thread::spawn(move || {
                let mut socket = Socket {
                    number,
                    is_wire: path.file_name() == Some(crate::machine::EAPOL.as_ref()),
                    path,
                    authorized: BTreeSet::new(),
                    denied: BTreeSet::new(),
                };
                socket.run(&receive);
            });
            send
        })
        .collect();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        for each in &commands {
            let _ = each.send(line.clone());
        }
    }
    Ok(())
}

/// One control socket of hostapd.
struct Socket {
    number: usize,
    path: PathBuf,
    /// Whether its stations are at cables, where hostapd does not notice new stations by itself.
    is_wire: bool,
    authorized: BTreeSet<Mac>,
    denied: BTreeSet<Mac>,
}

impl Socket {
    /// Connects again and again. While hostapd is away, authorized stations stay authorized.
    fn run(&mut self, commands: &Receiver<String>) {
        let mut is_reported = false;
        loop {
            let error = self.talk(commands).err();
            if let Some(error) = error.filter(|_| !is_reported) {
                let path = self.path.display();
                eprintln!("wire home: no connection to hostapd at {path}: {error}; trying again");
                is_reported = true;
            }
            loop {
                match commands.recv_timeout(INTERVAL) {
                    Ok(line) => {
                        self.note(&line);
                    }
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        }
    }

    /// Reads a line of the router, and remembers decisions.
    fn note(&mut self, line: &str) -> Option<Order> {
        let (kind, mac) = line.split_once(' ')?;
        let mac = mac.parse().ok()?;
        match kind {
            "deny" => {
                self.denied.insert(mac);
                Some(Order::Deny(mac))
            }
            "accept" => {
                self.denied.remove(&mac);
                Some(Order::Accept(mac))
            }
            "ask" => self.is_wire.then_some(Order::Ask(mac)),
            _ => self.authorized.remove(&mac).then_some(Order::End(mac)),
        }
    }

    /// Exchanges messages until hostapd is gone.
    fn talk(&mut self, commands: &Receiver<String>) -> std::io::Result<()> {
        let events = connect(&self.path)?;
        let calls = connect(&self.path)?;
        call(&events, "ATTACH")?;
        events.set_read_timeout(Some(Duration::from_millis(20)))?;
        eprintln!("wire home: connected to hostapd at {}", self.path.display());
        for mac in self.denied.clone() {
            Order::Deny(mac).send(&calls, self.is_wire)?;
        }
        // Stations whose authentication hostapd has lost authenticate again, and so do those whose port the home has lost.
        let mut known = stations(&calls)?;
        known.retain(|station| station.is_authorized);
        let mut again = self.authorized.clone();
        again.extend(known.iter().map(|station| station.mac));
        for mac in again.into_iter().filter(|_| self.is_wire) {
            Order::Ask(mac).send(&calls, self.is_wire)?;
        }
        let mut polls = 0_u32;
        loop {
            for line in commands.try_iter().collect::<Vec<_>>() {
                if let Some(order) = self.note(&line) {
                    order.send(&calls, self.is_wire)?;
                }
            }
            let mut buffer = [0; MAX_MESSAGE];
            match events.recv(&mut buffer) {
                Ok(length) => {
                    let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                    match Event::read(&text) {
                        Some(Event::Connected(mac)) => {
                            let reply = call(&calls, &format!("STA {mac}"))?;
                            self.connected(Station::read(&reply), mac);
                        }
                        Some(Event::Disconnected(mac)) => self.disconnected(mac),
                        None => {}
                    }
                    continue;
                }
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
            polls += 1;
            if polls.is_multiple_of(50) {
                let known = stations(&calls)?;
                for station in known.iter().filter(|station| station.is_authorized) {
                    self.connected(Some(station.clone()), station.mac);
                }
                let is_known = |mac: &Mac| {
                    let mut known = known.iter();
                    known.any(|station| station.mac == *mac && station.is_authorized)
                };
                for mac in self.authorized.clone() {
                    if !is_known(&mac) {
                        self.disconnected(mac);
                    }
                }
            }
        }
    }

    fn connected(&mut self, station: Option<Station>, mac: Mac) {
        self.authorized.insert(mac);
        let signal = station.as_ref().and_then(|station| station.wifi);
        let signal = signal.map_or("-".into(), |wifi| wifi.signal.to_string());
        let identity = station.and_then(|station| station.identity);
        let identity = identity.unwrap_or_else(|| "-".into());
        println!("connected {} {mac} {signal} {identity}", self.number);
    }

    fn disconnected(&mut self, mac: Mac) {
        self.authorized.remove(&mac);
        println!("disconnected {} {mac}", self.number);
    }
}

/// An order to hostapd.
enum Order {
    /// A station may not associate. Stations of wires have no list: the switch drops their EAPOL.
    Deny(Mac),
    /// It may associate again.
    Accept(Mac),
    /// It must be asked to authenticate, unless a failed attempt holds it.
    Ask(Mac),
    /// Its authentication has ended.
    End(Mac),
}

impl Order {
    fn send(&self, calls: &UnixDatagram, is_wire: bool) -> std::io::Result<()> {
        match self {
            Order::Accept(mac) => {
                call(calls, &format!("DENY_ACL DEL_MAC {mac}"))?;
            }
            Order::Deny(mac) if !is_wire => {
                call(calls, &format!("DENY_ACL ADD_MAC {mac}"))?;
                call(calls, &format!("DEAUTHENTICATE {mac}"))?;
            }
            Order::End(mac) if !is_wire => {
                call(calls, &format!("DEAUTHENTICATE {mac}"))?;
            }
            Order::Deny(mac) | Order::End(mac) => restart(calls, *mac)?,
            Order::Ask(mac) => {
                let known = call(calls, &format!("STA {mac}"))?;
                match Station::read(&known) {
                    None => drop(call(calls, &format!("NEW_STA {mac}"))?),
                    Some(station) if station.is_held => {}
                    Some(_) => restart(calls, *mac)?,
                }
            }
        }
        Ok(())
    }
}

/// Ends the session of a station at a wire and asks it again. DEAUTHENTICATE would remove it 5 s later, and with it an exchange that has
/// begun meanwhile.
fn restart(calls: &UnixDatagram, mac: Mac) -> std::io::Result<()> {
    for value in ["ForceUnauthorized", "Auto"] {
        let parameter = "AdminControlledPortControl";
        call(calls, &format!("EAPOL_SET {mac} {parameter} {value}"))?;
    }
    Ok(())
}

/// All stations.
fn stations(calls: &UnixDatagram) -> std::io::Result<Vec<Station>> {
    let mut stations: Vec<Station> = Vec::new();
    let mut command = "STA-FIRST".to_string();
    while stations.len() < MAX_STATIONS {
        let Some(station) = Station::read(&call(calls, &command)?) else {
            break;
        };
        command = format!("STA-NEXT {}", station.mac);
        stations.push(station);
    }
    Ok(stations)
}

fn connect(path: &Path) -> std::io::Result<UnixDatagram> {
    // An abstract address, to which hostapd sends its replies. It goes with the socket.
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("wire-home-{}-{count}", std::process::id());
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    socket.connect(path)?;
    socket.set_read_timeout(Some(REPLY_TIMEOUT))?;
    Ok(socket)
}

fn call(socket: &UnixDatagram, command: &str) -> std::io::Result<String> {
    socket.send(command.as_bytes())?;
    let mut buffer = [0; MAX_MESSAGE];
    let length = socket.recv(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
    )
}
