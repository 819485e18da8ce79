//! The agent: a process with the rights on the control sockets of hostapd.

use home::association::{Event, Station};
use packet::ethernet::Mac;
use std::collections::BTreeSet;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
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
