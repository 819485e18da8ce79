//! Where the processor's load of a switch comes from: its SNMP agent, or this machine's kernel.

use ::capture::clock::now_ns;
use openflow::flops::{Agent, Value};
use openflow::snmp::{Oid, PduType, request, response};
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;

/// Timeout of a request, ns, after which it is sent again.
const ANSWER_TIMEOUT_NS: u64 = 250_000_000;
/// Number of times that a request is sent.
const TRIES: u32 = 3;
/// Maximum length of an answer, bytes.
const MAX_ANSWER_LEN: usize = 65_536;
/// Maximum number of requests that wait for an answer.
const MAX_PENDING_REQUESTS: usize = 256;

/// Ticks of UCD-SNMP-MIB's raw processor times: user, nice, system; and idle.
pub(crate) const TICKS: ([&str; 3], [&str; 1]) = (
    [
        "1.3.6.1.4.1.2021.11.50.0",
        "1.3.6.1.4.1.2021.11.51.0",
        "1.3.6.1.4.1.2021.11.52.0",
    ],
    ["1.3.6.1.4.1.2021.11.53.0"],
);

/// Processor time that a process of this machine has used, and the rest; both in nanoseconds.
pub(crate) const PROCESS: ([&str; 1], [&str; 1]) = (["process"], ["rest"]);

/// A client of an SNMP agent that never waits.
#[derive(Debug)]
pub struct Snmp {
    socket: UdpSocket,
    community: String,
    last: i32,
    open: VecDeque<Question>,
    done: VecDeque<Value>,
    room: Vec<u8>,
}

#[derive(Debug)]
struct Question {
    id: i32,
    name: String,
    sent_ns: u64,
    tries: u32,
}

impl Snmp {
    /// For the agent at `HOST` or `HOST:PORT`, port 161 by default, as `community` in version 2c.
    ///
    /// # Errors
    /// When there is no such host, or no socket.
    pub fn new(to: &str, community: &str) -> io::Result<Snmp> {
        let address = to
            .to_socket_addrs()
            .or_else(|_| (to, 161).to_socket_addrs())?
            .next();
        let address = address.ok_or(io::ErrorKind::AddrNotAvailable)?;
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
            SocketAddr::V6(_) => ([0u16; 8], 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(address)?;
        socket.set_nonblocking(true)?;
        Ok(Snmp {
            socket,
            community: community.into(),
            last: 0,
            open: VecDeque::new(),
            done: VecDeque::new(),
            room: vec![0; MAX_ANSWER_LEN],
        })
    }

    fn send(&self, question: &Question) {
        if let Ok(name) = question.name.parse::<Oid>() {
            let mut out = Vec::new();
            request(
                PduType::Get,
                &self.community,
                question.id,
                &[name],
                &mut out,
            );
            // One that the system does not take is put again, as one that is lost.
            let _ = self.socket.send(&out);
        }
    }

    fn receive(&mut self) {
        while let Ok(length) = self.socket.recv(&mut self.room) {
            let Ok(answer) = response(&self.room[..length]) else {
                continue;
            };
            let found = self.open.iter().position(|open| open.id == answer.id);
            let Some(question) = found.and_then(|at| self.open.remove(at)) else {
                continue;
            };
            let value = answer.variables.first().filter(|_| answer.error == 0);
            self.done.push_back(Value {
                name: question.name,
                number: value.and_then(|(_, value)| value.number()),
            });
        }
    }
}

impl Agent for Snmp {
    fn ask(&mut self, name: &str) {
        if self.open.len() >= MAX_PENDING_REQUESTS || name.parse::<Oid>().is_err() {
            let (name, number) = (name.into(), None);
            self.done.push_back(Value { name, number });
            return;
        }
        self.last = self.last.wrapping_add(1) & i32::MAX;
        let question = Question {
            id: self.last,
            name: name.into(),
            sent_ns: now_ns(),
            tries: 1,
        };
        self.send(&question);
        self.open.push_back(question);
    }

    fn take(&mut self) -> Option<Value> {
        self.receive();
        let now = now_ns();
        for _ in 0..self.open.len() {
            let late = |open: &mut Question| now.saturating_sub(open.sent_ns) > ANSWER_TIMEOUT_NS;
            let Some(mut question) = self.open.pop_front_if(late) else {
                break;
            };
            if question.tries >= TRIES {
                let (name, number) = (question.name, None);
                self.done.push_back(Value { name, number });
                continue;
            }
            (question.tries, question.sent_ns) = (question.tries + 1, now);
            self.send(&question);
            self.open.push_back(question);
        }
        self.done.pop_front()
    }
}

/// What the kernel tells of a switch on this machine: Open vSwitch as a process that the lab has started, or a node's
/// thread.
#[derive(Debug)]
pub(crate) struct Process {
    node: String,
    began_ns: u64,
    done: VecDeque<Value>,
}

impl Process {
    /// Of the node of this name.
    pub fn new(node: String) -> Process {
        Process {
            node,
            began_ns: now_ns(),
            done: VecDeque::new(),
        }
    }

    /// Nanoseconds on a processor; `None` if there is no such process and no such thread.
    fn used(&self) -> Option<u64> {
        let database = format!("/{}/db.sock", self.node);
        for entry in std::fs::read_dir("/proc").ok()?.flatten() {
            let path = entry.path();
            let number = entry.file_name().to_string_lossy().parse::<u32>();
            if number.is_err() || text(&path.join("comm")).trim_end() != "ovs-vswitchd" {
                continue;
            }
            if text(&path.join("cmdline")).contains(&database) {
                return Some(sum(&path.join("task"), |_| true));
            }
        }
        // The kernel keeps 15 bytes of a thread's name.
        let mut name = format!("node {}", self.node);
        name.truncate(name.floor_char_boundary(15));
        let used = sum(Path::new("/proc/self/task"), |comm| comm == name);
        (used > 0).then_some(used)
    }
}

impl Agent for Process {
    fn ask(&mut self, name: &str) {
        let used = self.used();
        let wall = now_ns().saturating_sub(self.began_ns);
        let number = match name {
            "process" => used,
            "rest" => used.map(|used| wall.saturating_sub(used)),
            _ => None,
        };
        let number = number.and_then(|number| i64::try_from(number).ok());
        let name = name.into();
        self.done.push_back(Value { name, number });
    }

    fn take(&mut self) -> Option<Value> {
        self.done.pop_front()
    }
}

fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Time on a processor of the threads whose name is wanted.
fn sum(tasks: &Path, wanted: impl Fn(&str) -> bool) -> u64 {
    let tasks = std::fs::read_dir(tasks).into_iter().flatten().flatten();
    let tasks = tasks.filter(|task| wanted(text(&task.path().join("comm")).trim_end()));
    let used = tasks.filter_map(|task| {
        let line = text(&task.path().join("schedstat"));
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    used.sum()
}
