//! Unidentified peers: the operator is served in spite of them.

use super::{PORTS, PROGRAM, Running, eventually, rest};
use crate::shell::Place;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

pub fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    let patience = Some(Duration::from_secs(10));
    stream.set_read_timeout(patience).unwrap();
    stream
}

#[test]
fn peers_without_a_token_do_not_lock_the_operator_out_of_rest() {
    let place = Place::new("rest-unidentified");
    let (_running, address, token) = rest::start(&place);
    let head = "GET /switches HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    let whole = format!("{head}\r\n");
    let asks = format!("{head}Authorization: Bearer {}\r\n\r\n", token);
    let mut others = Vec::new();
    for round in 0..4 {
        // Some send a request without a token, some send nothing, and some an incomplete request.
        for number in 0..64 {
            let mut stream = connect(&address);
            let said = ["", head, &whole][number % 3];
            let _ = stream.write_all(said.as_bytes());
            others.push(stream);
        }
        let mut operator = connect(&address);
        operator.write_all(asks.as_bytes()).unwrap();
        let mut answer = [0; 15];
        operator.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200 OK", "round {round}");
    }
    let mut operator = connect(&address);
    let metrics = asks.replace("/switches", "/metrics");
    let metrics = metrics.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    operator.write_all(metrics.as_bytes()).unwrap();
    let mut answer = String::new();
    operator.read_to_string(&mut answer).unwrap();
    let (_, gave_way) = answer.split_once("result=\"gave_way\"} ").expect(&answer);
    assert!(!gave_way.starts_with("0\n"), "{answer}");
}

/// A frame of HTTP/2 (RFC 9113 section 4.1).
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = &(payload.len() as u32).to_be_bytes()[1..];
    let head = [length, &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The start of a connection with a call of a method of P4Runtime, as header fields that no table knows (RFC 7541 section
/// 6.2.2).
pub fn begin(method: &str) -> Vec<u8> {
    let path = format!("/p4.v1.P4Runtime/{method}");
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", &path),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ] {
        block.push(0);
        for text in [name, value] {
            block.push(text.len() as u8);
            block.extend_from_slice(text.as_bytes());
        }
    }
    [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 4, 1, &block)].concat()
}

/// A call without an argument.
pub fn capabilities() -> Vec<u8> {
    [begin("Capabilities"), frame(0, 1, 1, &[0; 5])].concat()
}

#[test]
fn peers_that_only_ping_do_not_lock_a_controller_out_of_p4runtime() {
    let place = Place::new("p4runtime-unidentified");
    let script = format!("exec wire p4 run {PROGRAM} {PORTS} --p4runtime 127.0.0.1:0");
    let mut running = Running::start(&place, &script);
    let address = running.told("P4Runtime at ");
    let mut others: Vec<TcpStream> = Vec::new();
    for _ in 0..256 {
        let mut stream = connect(&address);
        stream
            .write_all(&[PREFACE, &frame(4, 0, 0, &[])].concat())
            .unwrap();
        others.push(stream);
    }
    for round in 0..3u8 {
        for stream in &mut others {
            // Evicted connections are closed.
            let _ = stream.write_all(&frame(6, 0, 0, &[round; 8]));
        }
        let mut controller = connect(&address);
        controller.write_all(&capabilities()).unwrap();
        let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
        // The version is in the message.
        while !answer.windows(3).any(|three| three == b"1.4") {
            let read = controller.read(&mut piece).unwrap();
            assert!(read > 0, "round {round}: {answer:?}");
            answer.extend_from_slice(&piece[..read]);
        }
    }
    // Connections that only ping are closed in the end.
    let gone = |stream: &mut TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let mut nothing = [0; 4096];
        let read = std::iter::repeat_with(|| stream.read(&mut nothing));
        let mut read = read.skip_while(|read| read.as_ref().is_ok_and(|&read| read > 0));
        matches!(read.next(), Some(Ok(_))) || stream.write_all(&frame(6, 0, 0, &[9; 8])).is_err()
    };
    assert!(eventually(|| others.iter_mut().all(&gone)));
}
