//! What was measured of ports, in a file of the user's: a line a port, `key=value` each.

use super::{Method, PortError, PortSpec, Transmit, TxCounters};
use crate::kernel::interface;
use ::capture::output;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What a port is worth, as it was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// The port, as a user names it.
    pub port: String,
    /// The address of its interface when it was measured; empty where it has none.
    pub mac: String,
    /// The port that it was measured against.
    pub to: String,
    /// When, in seconds since 1970.
    pub at: u64,
    /// The best way of sending, where there is a choice.
    pub method: Option<Method>,
    /// How long before its time a frame is to be given to the port, ns.
    pub lead_ns: u64,
    /// How far off the departures were, ns: p50, p99, p99.9 and the worst, without what the way to the far
    /// stamp takes each time.
    pub error_ns: [u64; 4],
}

const ERRORS: [&str; 4] = ["p50_ns", "p99_ns", "p999_ns", "max_ns"];

impl Calibration {
    fn line(&self) -> String {
        let mut line = format!(
            "port={} mac={} to={} at={} lead_ns={}",
            self.port, self.mac, self.to, self.at, self.lead_ns
        );
        if let Some(method) = self.method {
            line += &format!(" method={}", method.name());
        }
        for (name, value) in ERRORS.iter().zip(self.error_ns) {
            line += &format!(" {name}={value}");
        }
        line
    }

    /// A line of the file; `None` for one that is none. Keys that are not known are those of a later version.
    fn parse(line: &str) -> Option<Calibration> {
        let mut found = Calibration::default();
        for field in line.split_whitespace() {
            let (key, value) = field.split_once('=')?;
            let number = || value.parse::<u64>().ok();
            match key {
                "port" => found.port = value.into(),
                "mac" => found.mac = value.into(),
                "to" => found.to = value.into(),
                "at" => found.at = number()?,
                "lead_ns" => found.lead_ns = number()?,
                "method" => {
                    found.method = Method::ALL.into_iter().find(|one| one.name() == value);
                }
                _ => {
                    if let Some(index) = ERRORS.iter().position(|&name| name == key) {
                        found.error_ns[index] = number()?;
                    }
                }
            }
        }
        (!found.port.is_empty()).then_some(found)
    }
}

/// The address of a port's interface, if there is one.
pub(super) fn address(spec: &PortSpec) -> Option<String> {
    let (PortSpec::Interface(name) | PortSpec::Xdp(name, _)) = spec else {
        return None;
    };
    let mac = interface::find(name).ok()??.mac?;
    Some(mac.map(|byte| format!("{byte:02x}")).join(":"))
}

/// Where it is kept: `wireline/ports` under `XDG_STATE_HOME`, by default `~/.local/state`. `None` without a
/// home.
pub fn path() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = match set("XDG_STATE_HOME").map(PathBuf::from) {
        Some(path) if path.is_absolute() => path,
        _ => PathBuf::from(set("HOME")?).join(".local/state"),
    };
    Some(state.join("wireline/ports"))
}

/// What was measured of a port before, if it is still the same one: its interface has the same address.
pub fn find(spec: &PortSpec) -> Option<Calibration> {
    if !matches!(
        spec,
        PortSpec::Interface(_) | PortSpec::Xdp(..) | PortSpec::Tap(_)
    ) {
        return None;
    }
    let found = read(&path()?, &spec.to_string())?;
    (found.mac == address(spec).unwrap_or_default()).then_some(found)
}

fn read(path: &Path, port: &str) -> Option<Calibration> {
    let text = fs::read_to_string(path).ok()?;
    let mut lines = text.lines().filter_map(Calibration::parse);
    lines.find(|found| found.port == port)
}

/// Saves what was measured, in place of what was known of the same ports before; returns where.
///
/// # Errors
/// When there is no home, or the file cannot be written.
pub fn save(measured: &[Calibration]) -> io::Result<PathBuf> {
    let path = path().ok_or_else(|| {
        let missing = "neither XDG_STATE_HOME nor HOME is set";
        io::Error::new(io::ErrorKind::NotFound, missing)
    })?;
    write(&path, measured)?;
    Ok(path)
}

fn write(path: &Path, new: &[Calibration]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let old = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let replaced = |line: &&str| {
        let known = Calibration::parse(line);
        !known.is_some_and(|known| new.iter().any(|new| new.port == known.port))
    };
    let mut text: String = old
        .lines()
        .filter(replaced)
        .map(|line| format!("{line}\n"))
        .collect();
    for found in new {
        text += &found.line();
        text.push('\n');
    }
    output::replace(path, text.as_bytes()).map_err(|error| error.source)
}

/// The port with what is known of its latency, ns.
pub fn with_latency(tx: Box<dyn Transmit>, latency: u64) -> Box<dyn Transmit> {
    match latency {
        0 => tx,
        _ => Box::new(WithLatency { tx, latency }),
    }
}

struct WithLatency {
    tx: Box<dyn Transmit>,
    latency: u64,
}

impl Transmit for WithLatency {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        self.tx.send(frames)
    }

    fn flush(&mut self) -> Result<(), PortError> {
        self.tx.flush()
    }

    fn finish(&mut self) -> Result<(), PortError> {
        self.tx.finish()
    }

    fn method(&self) -> &'static str {
        self.tx.method()
    }

    fn prepare(&mut self, frame: &[u8]) {
        self.tx.prepare(frame);
    }

    fn known_latency(&self) -> u64 {
        self.latency
    }

    fn warm(&mut self) {
        self.tx.warm();
    }

    fn ask_for_stamp(&mut self) -> bool {
        self.tx.ask_for_stamp()
    }

    fn take_stamp(&mut self) -> Option<u64> {
        self.tx.take_stamp()
    }

    fn counters(&self) -> TxCounters {
        self.tx.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(port: &str, lead_ns: u64) -> Calibration {
        Calibration {
            port: port.into(),
            mac: "02:00:00:00:00:01".into(),
            to: "eth2".into(),
            at: 1_700_000_000,
            method: Some(Method::Ring),
            lead_ns,
            error_ns: [60, 400, 2_000, 90_000],
        }
    }

    #[test]
    fn what_is_kept_is_found_again_and_replaced_by_what_is_newer() {
        let place = std::env::temp_dir().join(format!("wl-kept-{}", std::process::id()));
        let path = place.join("wireline/ports");
        write(&path, &[found("eth1", 700), found("xdp:eth1", 0)]).unwrap();
        write(&path, &[found("eth1", 800)]).unwrap();
        assert_eq!(read(&path, "eth1"), Some(found("eth1", 800)));
        assert_eq!(read(&path, "xdp:eth1"), Some(found("xdp:eth1", 0)));
        assert_eq!(read(&path, "eth2"), None);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2);
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_line_that_is_none_is_passed_over_and_a_later_key_too() {
        assert_eq!(Calibration::parse("hello"), None);
        assert_eq!(Calibration::parse("port=eth0 lead_ns=many"), None);
        assert_eq!(Calibration::parse("lead_ns=5"), None);
        let later = Calibration::parse("port=eth0 lead_ns=5 method=teleport moon=full").unwrap();
        assert_eq!((later.lead_ns, later.method), (5, None));
    }
}
