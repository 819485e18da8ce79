use super::*;
use crate::kernel::wait;
use packet::segment::{Kind, WINDOW};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

type Said = (Kind, u32, u32, Vec<u8>);

/// A port as a node uses it.
struct End {
    port: Port,
    seen: VecDeque<Said>,
    sent: u32,
}

impl End {
    fn open(text: &str, tls: Option<Tls>) -> End {
        let options = Options {
            tls,
            ..Options::default()
        };
        let spec: crate::port::PortSpec = text.parse().unwrap();
        End {
            port: crate::port::open(&spec, &options).unwrap(),
            seen: VecDeque::new(),
            sent: 0,
        }
    }

    fn send(&mut self, kind: Kind, connection: u32, count: u32, bytes: &[u8]) {
        let mut frame = Vec::new();
        let segment = Segment {
            kind,
            connection,
            count,
            bytes,
        };
        segment.write(&mut frame);
        self.port.tx.send(&[&frame]).unwrap();
    }

    fn data(&mut self, connection: u32, bytes: &[u8]) {
        self.send(Kind::Data, connection, self.sent, bytes);
        self.sent = self.sent.wrapping_add(bytes.len() as u32);
    }

    /// Takes what is there, waiting so long for the first of it.
    fn look(&mut self, wait: Duration) -> bool {
        let seen = &mut self.seen;
        let given = self.port.rx.receive(wait, &mut |frame| {
            let segment = Segment::read(frame.bytes).unwrap();
            seen.push_back((
                segment.kind,
                segment.connection,
                segment.count,
                segment.bytes.to_vec(),
            ));
        });
        given.unwrap() > 0
    }

    fn next(&mut self) -> Said {
        let began = now_ns();
        while self.seen.is_empty() {
            self.look(Duration::from_millis(100));
            assert!(now_ns() - began < 20_000_000_000, "nothing came");
        }
        self.seen.pop_front().unwrap()
    }

    /// Whether the port's descriptor says that there is something to do.
    fn is_ready(&self) -> bool {
        let mut poll = [wait::readable(self.port.rx.descriptor().unwrap())];
        wait::for_any(&mut poll, Duration::ZERO).unwrap();
        poll[0].revents != 0
    }

    /// The next that is no acknowledgement.
    fn event(&mut self) -> Said {
        loop {
            let said = self.next();
            if said.0 != Kind::Acknowledge {
                return said;
            }
        }
    }

    /// Data of so many bytes in all, each piece acknowledged.
    fn read(&mut self, connection: u32, length: usize, from: u32) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < length {
            let (kind, id, count, bytes) = self.event();
            assert_eq!((kind, id), (Kind::Data, connection));
            assert_eq!(count, from.wrapping_add(all.len() as u32));
            all.extend(bytes);
            let taken = from.wrapping_add(all.len() as u32);
            self.send(Kind::Acknowledge, connection, taken, &[]);
        }
        all
    }
}

/// Somebody who listens and somebody who has connected; the number of the connection at the former.
fn pair(listen: &str, tls: [Option<Tls>; 2]) -> ([End; 2], u32) {
    let [server, client] = tls;
    let mut far = End::open(listen, server);
    let name = far.port.info.name.clone();
    let to = match name.strip_prefix("punix:") {
        Some(path) => format!("unix:{path}"),
        None => {
            let mut parts = name.splitn(3, ':');
            let kind = &parts.next().unwrap()[1..];
            let port = parts.next().unwrap();
            format!("{kind}:{}:{port}", parts.next().unwrap())
        }
    };
    let mut near = End::open(&to, client);
    near.send(Kind::Open, 0, 0, b"");
    // TLS needs both sides to be looked at.
    let began = now_ns();
    while near.seen.is_empty() || far.seen.is_empty() {
        near.look(Duration::from_millis(5));
        far.look(Duration::from_millis(5));
        assert!(now_ns() - began < 20_000_000_000, "no connection");
    }
    let (kind, id, ..) = far.next();
    assert_eq!(kind, Kind::Open);
    far.send(Kind::Open, id, 0, b"");
    assert_eq!(near.next().0, Kind::Open);
    ([near, far], id)
}

fn talk(mut ends: [End; 2], id: u32) {
    let bytes: Vec<u8> = (0..40_000u32).map(|at| (at / 7) as u8).collect();
    for piece in bytes.chunks(9_000) {
        ends[0].data(0, piece);
    }
    assert_eq!(ends[1].read(id, bytes.len(), 0), bytes);
    ends[1].data(id, b"and back");
    assert_eq!(ends[0].read(0, 8, 0), b"and back");
    ends[0].send(Kind::Close, 0, 0, b"done");
    assert_eq!(ends[1].event().0, Kind::Close);
    // The same number again, at once.
    ends[0].send(Kind::Open, 0, 0, b"");
    // TLS needs both sides to be looked at.
    for _ in 0..2_000 {
        ends[0].look(Duration::from_millis(5));
        if ends[1].look(Duration::from_millis(5)) {
            break;
        }
    }
    let (kind, again, ..) = ends[1].event();
    assert!(kind == Kind::Open && again != id);
}

#[test]
fn two_nodes_speak_over_tcp() {
    let (ends, id) = pair("ptcp:0:127.0.0.1", [None, None]);
    talk(ends, id);
}

#[test]
fn two_nodes_speak_over_a_unix_socket() {
    let path = std::env::temp_dir().join(format!("wire-channel-{}", std::process::id()));
    let (ends, id) = pair(&format!("punix:{}", path.display()), [None, None]);
    assert!(path.exists());
    talk(ends, id);
    assert!(!path.exists(), "the socket goes with its port");
}

#[test]
fn who_does_not_read_holds_the_far_end_up() {
    let ([mut near, mut far], id) = pair("ptcp:0:127.0.0.1", [None, None]);
    // The far node acknowledges nothing: its port gives it a window's worth, and reads no more.
    let piece = vec![5; 10_000];
    let (mut acknowledged, mut idle) = (0u32, 0);
    while idle < 20 {
        let before = (near.sent, acknowledged, far.seen.len());
        if near.sent.wrapping_sub(acknowledged) + 10_000 <= WINDOW {
            near.data(0, &piece);
        }
        near.look(Duration::from_millis(2));
        far.look(Duration::from_millis(2));
        for said in near.seen.drain(..) {
            assert_eq!(said.0, Kind::Acknowledge);
            acknowledged = said.2;
        }
        let after = (near.sent, acknowledged, far.seen.len());
        idle = if before == after { idle + 1 } else { 0 };
    }
    let given: usize = far.seen.iter().map(|said| said.3.len()).sum();
    assert_eq!(given, WINDOW as usize);
    assert!(
        near.sent - acknowledged > WINDOW - 10_000,
        "the sender stands"
    );
    // It reads on, and all comes.
    let (mut taken, began) = (0, now_ns());
    while taken < near.sent {
        for said in far.seen.split_off(0) {
            assert_eq!((said.0, said.2), (Kind::Data, taken));
            assert!(said.3.iter().all(|&byte| byte == 5));
            taken += said.3.len() as u32;
            far.send(Kind::Acknowledge, id, taken, b"");
        }
        near.look(Duration::from_millis(1));
        far.look(Duration::from_millis(1));
        assert!(now_ns() - began < 20_000_000_000, "not all came");
    }
}

/// An end that listens, and a connection to it.
fn reached() -> (End, TcpStream) {
    let far = End::open("ptcp:0:127.0.0.1", None);
    let port = far.port.info.name.split(':').nth(1).unwrap();
    let stream = TcpStream::connect(("127.0.0.1", port.parse::<u16>().unwrap())).unwrap();
    (far, stream)
}

#[test]
fn a_far_end_that_vanishes_in_the_middle_closes_with_the_reason() {
    let (mut far, mut stream) = reached();
    let (kind, id, _, peer) = far.next();
    assert_eq!(kind, Kind::Open);
    assert_eq!(peer, stream.local_addr().unwrap().to_string().as_bytes());
    far.send(Kind::Open, id, 0, b"");
    stream.write_all(&[4, 0, 0, 16, 0, 0]).unwrap();
    drop(stream);
    assert_eq!(far.read(id, 6, 0), [4, 0, 0, 16, 0, 0]);
    assert_eq!(
        far.event(),
        (Kind::Close, id, 0, b"the far end is gone".to_vec())
    );
    // Data that was on its way does no harm.
    far.data(id, b"too late");
    assert!(!far.look(Duration::from_millis(50)));
}

#[test]
fn what_was_written_before_a_close_arrives() {
    let (mut far, mut stream) = reached();
    let (_, id, ..) = far.next();
    far.send(Kind::Open, id, 0, b"");
    // Something unread would make the system reset the connection.
    stream.write_all(&[1; 100]).unwrap();
    far.data(id, b"the reason");
    far.send(Kind::Close, id, 0, b"");
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).map(|_| all)
    });
    while !reader.is_finished() {
        far.look(Duration::from_millis(10));
    }
    assert_eq!(reader.join().unwrap().unwrap(), b"the reason");
}

#[test]
fn where_nobody_listens_the_node_is_told() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut near = End::open(&format!("tcp:127.0.0.1:{port}"), None);
    near.send(Kind::Open, 0, 0, b"");
    let (kind, id, _, why) = near.next();
    assert_eq!((kind, id), (Kind::Close, 0));
    assert!(String::from_utf8(why).unwrap().contains("refused"));
}

/// An authority, and keys that it or another has signed: as files in a folder of its own.
pub struct Keys(PathBuf);

impl Keys {
    pub fn new(name: &str) -> Keys {
        let folder = std::env::temp_dir().join(format!("wire-keys-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("end.ext"), "basicConstraints=CA:FALSE\n").unwrap();
        let openssl = |arguments: &str| {
            let arguments = arguments.split_whitespace();
            let mut command = std::process::Command::new("openssl");
            command.args(arguments).current_dir(&folder);
            let output = command
                .output()
                .expect("openssl is there (Debian: openssl)");
            assert!(output.status.success(), "{output:?}");
        };
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        openssl(&format!(
            "req -x509 {key} -keyout ca.key -out ca.pem -days 9 -subj /CN=authority"
        ));
        for side in ["switch", "controller"] {
            // Names that say nothing, such as Open vSwitch's own tool gives.
            openssl(&format!(
                "req -new {key} -keyout {side}.key -out {side}.csr -subj /CN={side}-id-1"
            ));
            openssl(&format!(
                "x509 -req -in {side}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 9 -extfile end.ext -out {side}.pem"
            ));
        }
        Keys(folder)
    }

    pub fn of(&self, side: &str, authority: &Keys) -> Option<Tls> {
        Some(Tls {
            private_key: Some(self.0.join(format!("{side}.key"))),
            certificate: Some(self.0.join(format!("{side}.pem"))),
            ca_cert: Some(authority.0.join("ca.pem")),
        })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn two_nodes_speak_over_tls() {
    let keys = Keys::new("good");
    let tls = ["controller", "switch"].map(|side| keys.of(side, &keys));
    let (ends, id) = pair("pssl:0:127.0.0.1", tls);
    talk(ends, id);
}

/// Both ends over TLS, where the connecting one is at work and the listening one has yet to look at the last
/// message of the handshake.
fn all_but_shaken(keys: &Keys) -> [End; 2] {
    let mut far = End::open("pssl:0:127.0.0.1", keys.of("controller", keys));
    let port = far.port.info.name.split(':').nth(1).unwrap().to_string();
    let mut near = End::open(&format!("ssl:127.0.0.1:{port}"), keys.of("switch", keys));
    near.send(Kind::Open, 0, 0, b"");
    let began = now_ns();
    while near.seen.is_empty() {
        far.look(Duration::from_millis(5));
        near.look(Duration::from_millis(5));
        assert!(now_ns() - began < 20_000_000_000, "no handshake");
    }
    assert!(far.seen.is_empty());
    [near, far]
}

#[test]
fn data_that_comes_with_the_end_of_the_handshake_waits_for_the_nodes_answer() {
    let keys = Keys::new("early");
    let [mut near, mut far] = all_but_shaken(&keys);
    near.data(0, b"hello");
    let (kind, id, ..) = far.next();
    assert_eq!(kind, Kind::Open);
    // The node takes its time, and the port is looked at meanwhile.
    for _ in 0..5 {
        assert!(!far.look(Duration::from_millis(1)));
    }
    assert!(!far.is_ready());
    // Its answer may come from another thread than the one that sleeps on the descriptor.
    far.send(Kind::Open, id, 0, b"");
    assert!(far.is_ready(), "nothing wakes the port");
    assert_eq!(far.read(id, 5, 0), b"hello");
}

#[test]
fn data_that_tls_has_decrypted_wakes_the_port_when_the_node_makes_room() {
    let keys = Keys::new("room");
    let tls = ["controller", "switch"].map(|side| keys.of(side, &keys));
    let ([mut near, mut far], id) = pair("pssl:0:127.0.0.1", tls);
    // The last record lies across the end of the window: it is decrypted as a whole.
    let bytes = vec![7; WINDOW as usize + 1_000];
    let mut pieces = bytes.chunks(8_000);
    let mut came = 0;
    while came < WINDOW as usize {
        if let Some(piece) = pieces.next() {
            near.data(0, piece);
        }
        near.look(Duration::from_millis(1));
        far.look(Duration::from_millis(1));
        came = far.seen.iter().map(|said| said.3.len()).sum();
    }
    while far.look(Duration::from_millis(20)) {}
    assert!(!far.is_ready(), "it is ready without room");
    far.send(Kind::Acknowledge, id, WINDOW, b"");
    assert!(far.is_ready(), "nothing wakes the port");
    far.seen.clear();
    assert_eq!(far.read(id, 1_000, WINDOW), vec![7; 1_000]);
}

#[test]
fn a_refused_open_wakes_the_port() {
    let mut far = End::open("ptcp:0:127.0.0.1", None);
    assert!(!far.is_ready());
    far.send(Kind::Open, 5, 0, b"");
    assert!(far.is_ready(), "nothing wakes the port");
    let (kind, id, _, why) = far.next();
    assert_eq!((kind, id), (Kind::Close, 5));
    assert!(String::from_utf8(why).unwrap().contains("listens"));
}

#[test]
fn a_key_that_the_authority_has_not_signed_does_not_do() {
    let (keys, others) = (Keys::new("mine"), Keys::new("others"));
    for (server, client) in [
        (keys.of("controller", &keys), others.of("switch", &keys)),
        (others.of("controller", &keys), keys.of("switch", &keys)),
    ] {
        let mut far = End::open("pssl:0:127.0.0.1", server);
        let port = far.port.info.name.split(':').nth(1).unwrap().to_string();
        let mut near = End::open(&format!("ssl:127.0.0.1:{port}"), client);
        near.send(Kind::Open, 0, 0, b"");
        // TLS 1.3 tells the client late that its certificate is refused.
        let began = now_ns();
        while near.seen.back().is_none_or(|said| said.0 != Kind::Close) {
            near.look(Duration::from_millis(5));
            far.look(Duration::from_millis(5));
            assert!(now_ns() - began < 20_000_000_000, "not refused");
        }
        assert!(
            far.seen.is_empty(),
            "the listening node hears nothing of it"
        );
    }
}

#[test]
fn tls_without_its_files_says_which() {
    let open = |tls| {
        let options = Options {
            tls,
            ..Options::default()
        };
        match crate::port::open(&"pssl:0:127.0.0.1".parse().unwrap(), &options) {
            Ok(_) => panic!("opened"),
            Err(error) => error.to_string(),
        }
    };
    assert!(open(None).contains("private-key, certificate and ca-cert"));
    let nowhere = Tls {
        private_key: Some("/nowhere/key".into()),
        certificate: Some("/nowhere/cert".into()),
        ca_cert: Some("none".into()),
    };
    assert!(open(Some(nowhere)).contains("/nowhere/key"));
}

#[test]
fn segments_that_make_no_sense_do_no_harm() {
    let mut near = End::open("tcp:127.0.0.1:9", None);
    for kind in [Kind::Data, Kind::Acknowledge, Kind::Close] {
        near.send(kind, 3, 99, b"x");
    }
    assert!(!near.look(Duration::from_millis(10)));
    let ([mut near, mut far], id) = pair("ptcp:0:127.0.0.1", [None, None]);
    near.send(Kind::Acknowledge, 0, 12345, b"");
    near.send(Kind::Data, 0, 7, b"a gap before it");
    assert_eq!(near.event().0, Kind::Close);
    assert_eq!((far.event().0, id), (Kind::Close, id));
    near.port.tx.send(&[&[0; 60]]).unwrap();
    assert_eq!(near.port.tx.counters().refused, 1);
}
