//! Memory and places that peers without identity take from servers.

use super::unidentified::{begin, capabilities, connect, frame};
use super::{PORTS, PROGRAM, Running, eventually};
use crate::shell::Place;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// The most memory that a process ever had, in MiB.
fn peak(running: &Running) -> u64 {
    let status = format!("/proc/{}/status", running.child.id());
    let status = std::fs::read_to_string(status).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.unwrap().split_whitespace().next().unwrap();
    number.parse::<u64>().unwrap() >> 10
}

/// A client's side of an HTTP/2 connection with one call.
struct Call {
    stream: TcpStream,
    /// Bytes that the server takes now, of the connection and of the call.
    windows: [i64; 2],
    ended: bool,
}

impl Call {
    fn new(address: &str, method: &str) -> Call {
        let mut stream = connect(address);
        stream.write_all(&begin(method)).unwrap();
        Call {
            stream,
            windows: [65_535; 2],
            ended: false,
        }
    }

    /// Takes the server's next frame.
    fn hear(&mut self) {
        let mut head = [0; 9];
        if self.stream.read_exact(&mut head).is_err() {
            self.ended = true;
            return;
        }
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0i64, |all, &byte| all << 8 | i64::from(byte))
        };
        let mut payload = vec![0; number(&head[..3]) as usize];
        self.stream.read_exact(&mut payload).unwrap();
        match head[3] {
            // SETTINGS: the initial window of calls, and its acknowledgement.
            4 if head[4] & 1 == 0 => {
                for setting in payload.chunks_exact(6).filter(|setting| setting[1] == 4) {
                    self.windows[1] += number(&setting[2..]) - 65_535;
                }
                self.stream.write_all(&frame(4, 1, 0, &[])).unwrap();
            }
            // WINDOW_UPDATE.
            8 => self.windows[usize::from(head[8] > 0)] += number(&payload),
            // The answer's header, RST_STREAM and GOAWAY.
            1 | 3 | 7 => self.ended = true,
            _ => {}
        }
    }

    /// Sends bytes as the server makes room, until it answers.
    fn send(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() && !self.ended {
            let room = self.windows[0].min(self.windows[1]).clamp(0, 16_384) as usize;
            let (piece, after) = rest.split_at(room.min(rest.len()));
            if piece.is_empty() {
                self.hear();
                continue;
            }
            let last = u8::from(after.is_empty());
            if self.stream.write_all(&frame(0, last, 1, piece)).is_err() {
                return;
            }
            self.windows = self.windows.map(|window| window - piece.len() as i64);
            rest = after;
        }
    }
}

/// 4 MiB of updates without content are 2 million objects, of several hundred MiB.
#[test]
fn a_request_that_expands_does_not_exhaust_a_p4runtime_server() {
    let place = Place::new("p4runtime-expands");
    let script = format!("exec wire p4 run {PROGRAM} {PORTS} --p4runtime 127.0.0.1:0");
    let mut running = Running::start(&place, &script);
    let address = running.told("P4Runtime at ");
    let before = peak(&running);
    for (method, tag) in [("Write", [0x22, 0]), ("Read", [0x12, 0])] {
        let message = tag.repeat(2 << 20);
        let head = [&[0][..], &(message.len() as u32).to_be_bytes()].concat();
        let mut call = Call::new(&address, method);
        call.send(&[head, message].concat());
        while !call.ended {
            call.hear();
        }
    }
    let grown = peak(&running) - before;
    assert!(grown < 300, "{grown} MiB");
    let mut controller = connect(&address);
    controller.write_all(&capabilities()).unwrap();
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while !answer.windows(3).any(|three| three == b"1.4") {
        let read = controller.read(&mut piece).unwrap();
        assert!(read > 0, "{answer:?}");
        answer.extend_from_slice(&piece[..read]);
    }
}

/// An OpenFlow 1.3 message.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (8 + body.len() as u16).to_be_bytes();
    [&[4, kind], &length[..], &[0, 0, 0, 7], body].concat()
}

/// A message about a bundle, of the ONF's experimenter extension: its number, then type and flags of the request or the message that is added.
fn of_bundle(kind: u32, bundle: u32, rest: &[u8]) -> Vec<u8> {
    let numbers = [0x4f4e_4600, kind, bundle].map(u32::to_be_bytes);
    message(4, &[&numbers.concat(), rest].concat())
}

/// A switch and the address of its listener.
fn switch(place: &Place, more: &str) -> (Running, String) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let script = format!(
        "{more} exec wire of switch --on udp:127.0.0.1:9 --listen ptcp:{}",
        address.port()
    );
    let running = Running::start(place, &script);
    let address = address.to_string();
    assert!(eventually(|| TcpStream::connect(&address).is_ok()));
    (running, address)
}

/// Whether a controller that connects now has its echo request answered.
fn answers(address: &str) -> bool {
    let mut stream = connect(address);
    let asks = [message(0, &[]), message(2, b"here")].concat();
    // A refused connection is closed at once.
    if stream.write_all(&asks).is_err() {
        return false;
    }
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        answer.extend_from_slice(&piece[..read]);
        if answer.windows(4).any(|four| four == b"here") {
            return true;
        }
    }
    false
}

#[test]
fn bundles_do_not_exhaust_a_switch() {
    let place = Place::new("bundles-memory");
    let (running, address) = switch(&place, "");
    let before = peak(&running);
    let mut stream = connect(&address);
    let mut far = stream.try_clone().unwrap();
    // The errors of messages that find no room.
    let hears = std::thread::spawn(move || std::io::copy(&mut far, &mut std::io::sink()));
    stream.write_all(&message(0, &[])).unwrap();
    let added = message(14, &[0; 64_900]);
    for bundle in 1..=16 {
        stream.write_all(&of_bundle(2300, bundle, &[0; 4])).unwrap();
        let add = of_bundle(2301, bundle, &[&[0; 4][..], &added].concat());
        // 200 MiB in all.
        for _ in 0..200 {
            stream.write_all(&add).unwrap();
        }
    }
    assert!(answers(&address));
    let grown = peak(&running) - before;
    assert!((40..130).contains(&grown), "{grown} MiB");
    let _ = stream.shutdown(std::net::Shutdown::Both);
    // The switch may have reset the connection, since not all was read.
    let _ = hears.join().unwrap();
}

/// Whether one of a few attempts is answered.
fn answers_in_the_end(address: &str) -> bool {
    (0..5).any(|_| answers(address))
}

#[test]
fn connections_that_only_say_hello_do_not_lock_a_controller_out() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let current = maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
    let place = Place::new("openflow-places");
    for (limit, count, served) in [
        // More than the process may have descriptors by default: it raises the limit.
        ("ulimit -Sn 1024;", 1_300, answers as fn(&str) -> bool),
        // Where it cannot, a refused controller is served when it tries again.
        ("ulimit -n 100;", 150, answers_in_the_end),
    ] {
        let (_running, address) = switch(&place, limit);
        let mut silent = Vec::new();
        for number in 0..count {
            let mut stream = TcpStream::connect(&address).unwrap();
            let _ = stream.write_all(&message(0, &[]));
            silent.push(stream);
            if number % 50 == 49 {
                assert!(served(&address), "{limit} after {number}");
            }
        }
    }
}
