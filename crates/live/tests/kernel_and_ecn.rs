//! ECN of our hosts' TCP against that of a real kernel, in both directions, with marks made on the way. Without the rights to make a
//! namespace the tests say that they were skipped.
//!
//! A machine that is busy pauses either side for longer than a retransmission time-out. Retransmissions are not ECN-capable, and a SYN that
//! is sent again asks for no ECN, so neither side has a timer here that a pause lets expire: see [`steady_pair`].
#![allow(
    clippy::disallowed_methods,
    reason = "a test waits for other processes"
)]

use crate::kernel_and_hosts::{pair, patient};
use hosts::host::{Config, make};
use hosts::program::{Config as Program, Congestion, Ecn, bulk, sink};
use live::netns::Namespace;
use live::port::{self, Options};
use live::world;
use measure::distribution::Distribution;
use node::random::Random;
use node::{Frame, Node, Out, Port, Properties, Statistics, Time, When};
use packet::ecn;
use packet::ethernet::EthernetView;
use packet::ip::IpView;
use packet::tcp::{TcpView, flag};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex};

const SETTINGS: [Ecn; 5] = [Ecn::Off, Ecn::Passive, Ecn::On, Ecn::Accurate, Ecn::L4s];
/// Flags of `tcpi_options` in Linux's `tcp.h`: ECN is agreed on; an ECN-capable packet has come.
const AGREED: u8 = 8;
const SEEN: u8 = 16;

/// A segment on the way between the two, with the mark that it has got on the way.
#[derive(Clone, Copy, Debug)]
struct Seen {
    from_kernel: bool,
    /// Port of the host.
    host: u16,
    codepoint: u8,
    flags: u8,
    /// AE, CWR and ECE.
    ace: u8,
    sequence: u32,
    number: u32,
    length: u32,
}

impl Seen {
    fn is(&self, flags: u8) -> bool {
        self.flags & (flag::SYN | flag::ACK) == flags
    }
}

/// A host whose frames are marked by chance and noted down, both ways.
struct Marker {
    host: Box<dyn Node>,
    marks: f64,
    random: Random,
    out: Out,
    log: Arc<Mutex<Vec<Seen>>>,
}

impl Marker {
    fn pass(&mut self, from_kernel: bool, frame: &mut Frame) {
        if self.random.chance(self.marks) {
            ecn::mark(frame);
        }
        let Ok(ethernet) = EthernetView::new(frame) else {
            return;
        };
        let Ok(ip) = IpView::new(ethernet.ethertype(), ethernet.payload()) else {
            return;
        };
        let payload = match ip {
            IpView::V4(ip) if ip.protocol() == 6 => ip.payload(),
            _ => return,
        };
        let tcp = TcpView::new(payload).unwrap();
        let (flags, ae) = (tcp.flags(), tcp.reserved() & 1);
        let bit = |flag: u8| u8::from(flags & flag != 0);
        self.log.lock().unwrap().push(Seen {
            from_kernel,
            host: match from_kernel {
                true => tcp.destination_port(),
                false => tcp.source_port(),
            },
            codepoint: ip.traffic_class() & 3,
            flags,
            ace: ae << 2 | bit(flag::CWR) << 1 | bit(flag::ECE),
            sequence: tcp.sequence(),
            number: tcp.acknowledgement(),
            length: tcp.payload().len() as u32,
        });
    }

    fn hand_on(&mut self, out: &mut Out) {
        let sends: Vec<_> = self.out.sends().collect();
        for mut departure in sends {
            self.pass(false, &mut departure.frame);
            match departure.when {
                When::At(at) => out.send_at(departure.port, at, departure.frame),
                _ => out.send(departure.port, departure.frame),
            }
        }
    }
}

impl Node for Marker {
    fn properties(&self) -> Properties {
        self.host.properties()
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.iter_mut() {
            self.pass(true, frame);
        }
        self.host.frames(now, port, frames, &mut self.out);
        self.hand_on(out);
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.host.wake(now, &mut self.out);
        self.hand_on(out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.host.next_wake()
    }

    fn statistics(&self) -> Statistics {
        self.host.statistics()
    }
}

/// `tcpi_options`, `tcpi_total_retrans` and `tcpi_snd_ssthresh` of a socket of the kernel.
fn tcp_info(socket: &impl AsRawFd) -> (u8, u32, u32) {
    // SAFETY: all zeros is a value of this plain struct.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    let at: *mut libc::tcp_info = &mut info;
    // SAFETY: the kernel writes at most `len` bytes to `info`, which outlives the call.
    let done = unsafe {
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        libc::getsockopt(socket.as_raw_fd(), level, option, at.cast(), &mut len)
    };
    assert_eq!(done, 0);
    (
        info.tcpi_options,
        info.tcpi_total_retrans,
        info.tcpi_snd_ssthresh,
    )
}

/// Time-out of retransmissions on both sides, longer than pauses of a busy machine.
const MIN_RTO: Time = Time::from_secs(10);
/// Maximum number of runs in which a connection was asked for twice, as the first second passed without an answer.
const RUNS: usize = 5;

/// A pair whose kernel sends nothing again because its peer was paused: it makes no tail loss probes, and its time-outs are of at least
/// [`MIN_RTO`].
fn steady_pair() -> Option<[Namespace; 2]> {
    let pair = pair()?;
    assert!(set(&pair[0], "tcp_early_retrans", "0"));
    let route = "route change 10.9.0.0/24 dev k proto kernel scope link src 10.9.0.1 rto_min 10s";
    let mut command = std::process::Command::new("ip");
    command.args(route.split(' '));
    match pair[0].enter(|| command.output()).unwrap() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => {
            println!("skipped: time-outs of a route are set by ip: {error}");
            return None;
        }
    }
    Some(pair)
}

/// Segments that came to the kernel before an earlier one: there are some as soon as one is lost.
fn out_of_order(kernel: &Namespace) -> u64 {
    // Read for the thread: its process is in another namespace.
    let read = || std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
    let all = kernel.enter(read).unwrap();
    let mut lines = all.lines().filter(|line| line.starts_with("TcpExt:"));
    let [names, values] = [lines.next().unwrap(), lines.next().unwrap()];
    let mut counters = names.split(' ').zip(values.split(' '));
    let (_, value) = counters.find(|(name, _)| *name == "TCPOFOQueue").unwrap();
    value.parse().unwrap()
}

/// Data segments of the kernel that came a second time.
fn repeats(log: &[Seen]) -> u32 {
    let mut end: Option<u32> = None;
    let mut count = 0;
    for seen in log
        .iter()
        .filter(|seen| seen.from_kernel && seen.length > 0)
    {
        match end {
            Some(end) if (seen.sequence.wrapping_sub(end) as i32) < 0 => count += 1,
            _ => end = Some(seen.sequence.wrapping_add(seen.length)),
        }
    }
    count
}

/// Whether a connection was asked for twice, or an answer given twice.
fn asked_twice(log: &[Seen]) -> bool {
    let mut asked = std::collections::BTreeSet::new();
    let mut all = log
        .iter()
        .filter(|seen| seen.is(flag::SYN) || seen.is(flag::SYN | flag::ACK));
    all.any(|seen| !asked.insert((seen.host, seen.from_kernel)))
}

/// Sets a key of `net.ipv4` in a namespace; `false` when the kernel refuses the value.
fn set(kernel: &Namespace, key: &str, value: &str) -> bool {
    let path = format!("/proc/sys/net/ipv4/{key}");
    kernel
        .enter(|| std::fs::write(path, value).is_ok())
        .unwrap()
}

/// Runs a host with these programs, whose frames are marked, while `act` does something in the kernel's namespace.
fn with_marks<T>(
    programs: Vec<Program>,
    marks: f64,
    [kernel, outside]: [Namespace; 2],
    act: impl FnOnce(&Namespace) -> T,
) -> (T, Vec<Seen>, node::Outcome) {
    let config = Config {
        address: vec!["10.9.0.2/24".parse().unwrap()],
        windows: true,
        ..Config::default()
    };
    let log = Arc::new(Mutex::new(Vec::new()));
    let marker = Box::new(Marker {
        host: make(config, programs, 7).unwrap(),
        marks,
        random: Random::new(1),
        out: Out::default(),
        log: Arc::clone(&log),
    });
    let open = || port::open(&"n".parse().unwrap(), &Options::default());
    let port = outside.enter(open).unwrap().unwrap();
    let run = std::thread::spawn(move || {
        let end = Some(Time::from_secs(60));
        world::on_ports("host", marker, vec![port], end).unwrap()
    });
    let done = act(&kernel);
    // The end of the pair is the end of the run.
    kernel.remove("k").unwrap();
    let outcome = run.join().unwrap().outcome;
    let log = log.lock().unwrap().clone();
    (done, log, outcome)
}

/// Sends `bytes` to the host with this congestion control and returns the state of the kernel's socket when the host has them.
fn send(kernel: &Namespace, port: u16, congestion: &str, bytes: usize) -> (u8, u32, u32) {
    let to = format!("10.9.0.2:{port}");
    let mut stream = kernel.enter(|| TcpStream::connect(to).unwrap()).unwrap();
    let name = congestion.as_bytes();
    // SAFETY: the kernel reads `name`, which outlives the call.
    let done = unsafe {
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
        let len = name.len() as libc::socklen_t;
        libc::setsockopt(stream.as_raw_fd(), level, option, name.as_ptr().cast(), len)
    };
    assert_eq!(done, 0, "{congestion}");
    patient(&stream);
    stream.write_all(&vec![7; bytes]).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    tcp_info(&stream)
}

fn take(listener: &TcpListener) -> (u64, (u8, u32, u32)) {
    let (mut stream, _) = listener.accept().unwrap();
    patient(&stream);
    let (mut all, mut piece) = (0, vec![0; 1 << 16]);
    loop {
        match stream.read(&mut piece).unwrap() {
            0 => return (all, tcp_info(&stream)),
            count => all += count as u64,
        }
    }
}

fn bulk(port: u16, bytes: u64) -> bulk::Config {
    bulk::Config {
        bytes: Some(Distribution::Constant(bytes)),
        count: Some(1),
        min_rto: MIN_RTO,
        ..bulk::Config::new(format!("10.9.0.1:{port}").parse().unwrap())
    }
}

/// Connections of all settings with a kernel whose `tcp_ecn` has a value, both ways: the options of the kernel's sockets that took and
/// that sent, and all segments. `None` where there can be no pair, or no such value.
fn handshakes(mode: usize) -> Option<([Vec<u8>; 2], Vec<Seen>)> {
    for _ in 0..RUNS {
        let pair = steady_pair()?;
        if !set(&pair[0], "tcp_ecn", &mode.to_string()) {
            println!("skipped in part: this kernel has no tcp_ecn = {mode}");
            return None;
        }
        let listen = |port| TcpListener::bind(("10.9.0.1", port)).unwrap();
        let listeners: Vec<_> = (0..5)
            .map(|index| pair[0].enter(|| listen(5100 + index)).unwrap())
            .collect();
        let programs = SETTINGS.iter().zip(0..).flat_map(|(&ecn, index)| {
            let bulk = Program::Bulk(bulk::Config {
                ecn,
                ..bulk(5100 + index, 30_000)
            });
            let sink = Program::Sink(sink::Config {
                port: 5200 + index,
                ecn,
                ..sink::Config::default()
            });
            [bulk, sink]
        });
        let (infos, log, _) = with_marks(programs.collect(), 0.0, pair, |kernel| {
            let took = listeners.iter().map(|listener| take(listener).1.0);
            let took: Vec<_> = took.collect();
            let sent = (0..5).map(|index| send(kernel, 5200 + index, "reno", 30_000).0);
            [took, sent.collect()]
        });
        if !asked_twice(&log) {
            return Some((infos, log));
        }
    }
    panic!("in each of {RUNS} runs a SYN had no answer for a second");
}

#[test]
fn handshakes_of_all_settings_agree_with_a_kernels() {
    for mode in 0..=5 {
        let Some((infos, log)) = handshakes(mode) else {
            continue;
        };
        let kernel_is_accurate = mode >= 3;
        let kernel_asks = [0, 3, 0, 7, 3, 0][mode];
        for (index, setting) in SETTINGS.into_iter().enumerate() {
            let context = format!("tcp_ecn = {mode}, {setting:?}");
            // The host asks. Ports of clients come in the order of the programs.
            let mut clients = log
                .iter()
                .filter(|seen| !seen.from_kernel && seen.is(flag::SYN));
            let first = clients.nth(index).unwrap();
            let asks = [0, 0, 3, 7, 7][index];
            assert_eq!((first.ace, first.codepoint), (asks, 0), "{context}");
            let of = |port| move |seen: &&Seen| seen.host == port;
            let answer = log
                .iter()
                .filter(of(first.host))
                .find(|seen| seen.from_kernel);
            let wanted = match (mode, asks) {
                (0, _) | (_, 0) => 0,
                (_, 7) if kernel_is_accurate => 2,
                _ => 1,
            };
            assert_eq!(answer.map(|seen| seen.ace), Some(wanted), "{context}");
            // Without what a host that was paused sends again as a tail loss probe, which is not ECN-capable.
            let data = |port, from_kernel: bool| {
                let all = log
                    .iter()
                    .filter(of(port))
                    .filter(move |seen| seen.length > 0);
                let mut sent = std::collections::BTreeSet::new();
                all.filter(move |seen| seen.from_kernel == from_kernel)
                    .filter(|seen| sent.insert(seen.sequence))
                    .map(|seen| seen.codepoint)
                    .collect::<Vec<_>>()
            };
            let capable = match (wanted, setting) {
                (0, _) => ecn::NOT_ECT,
                (2, Ecn::L4s) => ecn::ECT_1,
                _ => ecn::ECT_0,
            };
            let sent = data(first.host, false);
            assert!(
                sent.len() >= 20 && sent.iter().all(|&sent| sent == capable),
                "{context}"
            );
            let kernel_knows = infos[0][index] & AGREED != 0;
            assert_eq!(kernel_knows, wanted != 0, "{context}");
            assert_eq!(infos[0][index] & SEEN != 0, wanted != 0, "{context}");
            // The kernel asks.
            let port = 5200 + index as u16;
            let mut first = log.iter().filter(of(port));
            let (asked, answered) = (first.next().unwrap(), first.next().unwrap());
            assert!(asked.is(flag::SYN) && answered.is(flag::SYN | flag::ACK));
            assert_eq!((asked.ace, asked.codepoint), (kernel_asks, 0), "{context}");
            let wanted = match (kernel_asks, setting) {
                (0, _) | (_, Ecn::Off) => 0,
                (7, Ecn::Passive | Ecn::Accurate | Ecn::L4s) => 2,
                _ => 1,
            };
            assert_eq!(answered.ace, wanted, "{context}");
            assert_eq!(infos[1][index] & AGREED != 0, wanted != 0, "{context}");
            let sent = data(port, true);
            let capable = if wanted == 0 {
                ecn::NOT_ECT
            } else {
                ecn::ECT_0
            };
            assert!(
                !sent.is_empty() && sent.iter().all(|&sent| sent == capable),
                "{context}"
            );
        }
    }
}

/// Checks a direction of a connection with RFC 3168's feedback: marks of data are echoed until CWR, and CWR comes once in a round trip. Returns the
/// number of marks and of answers.
fn check_echoes(log: &[Seen], data_from_kernel: bool) -> (usize, usize) {
    let (mut marks, mut answers) = (0, 0);
    // A marked segment whose acknowledgement must echo, and where the last segment with CWR began.
    let mut unanswered: Option<u32> = None;
    let (mut answered, mut acknowledged): (Option<u32>, u32) = (None, 0);
    let behind = |a: u32, b: u32| (a.wrapping_sub(b) as i32) > 0;
    for seen in log.iter().filter(|seen| seen.flags & flag::SYN == 0) {
        if seen.from_kernel == data_from_kernel && seen.length > 0 {
            if seen.ace & 2 != 0 {
                assert!(answered.is_none_or(|number| behind(acknowledged, number)));
                answered = Some(seen.sequence);
                (answers, unanswered) = (answers + 1, None);
            }
            if seen.codepoint == ecn::CE {
                (marks, unanswered) = (marks + 1, Some(seen.sequence));
            }
        } else if seen.from_kernel != data_from_kernel {
            if behind(seen.number, acknowledged) || acknowledged == 0 {
                acknowledged = seen.number;
            }
            if unanswered.is_some_and(|number| behind(seen.number, number)) {
                assert!(seen.ace & 1 != 0, "{seen:?} does not echo");
                unanswered = None;
            }
        }
    }
    (marks, answers)
}

#[test]
fn a_kernel_reduces_its_window_for_marks_that_a_host_echoes() {
    for congestion in ["cubic", "reno"] {
        let Some(pair) = steady_pair() else { return };
        assert!(set(&pair[0], "tcp_ecn", "1"));
        // Fits in the ring of the host's port while the host is paused, so that no segment is lost there.
        let sink = Program::Sink(sink::Config {
            buffer: 64 << 10,
            ..sink::Config::default()
        });
        let (info, log, outcome) = with_marks(vec![sink], 0.01, pair, |kernel| {
            send(kernel, 5001, congestion, 4_000_000)
        });
        let (marks, answers) = check_echoes(&log, true);
        assert!(
            marks > 10 && answers > 3,
            "{marks} marks, {answers} answers"
        );
        let (options, resent, threshold) = info;
        assert!(options & AGREED != 0);
        // Each segment that the kernel sent again had come before: none was lost, so the window fell for marks alone.
        let repeats = repeats(&log);
        assert!(
            resent <= repeats,
            "{resent} sent again, {repeats} came twice"
        );
        assert!(threshold < 1000, "{threshold}");
        assert_eq!(outcome.nodes[0].flows[0].bytes, 4_000_000);
    }
}

#[test]
fn a_host_reduces_its_window_for_marks_that_a_kernel_echoes() {
    for congestion in [Congestion::Cubic, Congestion::Reno] {
        let Some(pair) = steady_pair() else { return };
        assert!(set(&pair[0], "tcp_ecn", "1"));
        let listener = pair[0]
            .enter(|| TcpListener::bind("10.9.0.1:5002").unwrap())
            .unwrap();
        let bulk = Program::Bulk(bulk::Config {
            congestion,
            ecn: Ecn::On,
            ..bulk(5002, 4_000_000)
        });
        let (((bytes, info), out_of_order), log, outcome) =
            with_marks(vec![bulk], 0.01, pair, |kernel| {
                (take(&listener), out_of_order(kernel))
            });
        let (marks, answers) = check_echoes(&log, false);
        assert_eq!(bytes, 4_000_000);
        assert!(
            marks > 10 && answers > 3,
            "{marks} marks, {answers} answers"
        );
        assert_eq!(info.0 & (AGREED | SEEN), AGREED | SEEN);
        let flow = &outcome.nodes[0].flows[0];
        let falls = flow.windows.windows(2);
        let falls = falls.filter(|pair| pair[1].1 < pair[0].1).count();
        // No segment was lost, so the window fell for marks alone. A host that was paused for two round trips has sent the last one again,
        // as a tail loss probe, before it has read the acknowledgement.
        assert_eq!(out_of_order, 0);
        assert!(falls > 3, "{falls}");
    }
}
