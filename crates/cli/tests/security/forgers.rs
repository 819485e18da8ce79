//! A server of capacity tests, and clients that may have forged their address.

use super::{Running, free_address};
use crate::shell::Place;
use packet::udpstp::{Activation, Direction, Integrity, Message, Setup, VERSION};
use std::net::UdpSocket;
use std::time::Duration;

fn bytes(message: Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.build(&mut bytes);
    bytes
}

fn setup() -> Vec<u8> {
    bytes(Message::Setup(Setup {
        version: VERSION,
        connections: 1,
        identifier: 7,
        ..Setup::default()
    }))
}

fn activation(integrity: Integrity) -> Vec<u8> {
    bytes(Message::Activation(Activation {
        version: VERSION,
        direction: Direction::Downstream,
        test_time: 5,
        row: 100,
        integrity,
        ..Activation::default()
    }))
}

/// The next message from the server and its length; `None` when there is none.
fn next(socket: &UdpSocket) -> Option<(Message, usize)> {
    let mut buffer = [0; 65_536];
    let length = socket.recv(&mut buffer).ok()?;
    Some((Message::parse(&buffer[..length]).unwrap(), length))
}

#[test]
fn a_client_gets_no_more_than_it_sent_until_it_repeats_the_cookie() {
    let place = Place::new("probe-forgers");
    let on = free_address();
    let script = format!("exec wire probe --answer --on {on} --at-once 1 >&2");
    let mut running = Running::start(&place, &script);
    let server = running
        .told("answering at ")
        .trim_end_matches(',')
        .to_owned();
    let client = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(&server).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        socket
    };
    // More setups than there is room for tests take none of it, and are answered by as many bytes.
    let forger = client();
    for _ in 0..200 {
        forger.send(&setup()).unwrap();
        let (Message::Setup(answer), length) = next(&forger).unwrap() else {
            panic!("not an answer to a setup");
        };
        assert_eq!(length, setup().len());
        assert_eq!(answer.port.to_string(), server.rsplit_once(':').unwrap().1);
    }
    for guess in [
        Integrity::default(),
        Integrity {
            digest: [7; 32],
            ..Integrity::default()
        },
    ] {
        let request = activation(guess);
        forger.send(&request).unwrap();
        let (Message::Activation(answer), length) = next(&forger).unwrap() else {
            panic!("not an answer to an activation");
        };
        assert_eq!((answer.accepted, length), (Some(false), request.len()));
    }
    // An honest client has its test, at the same port.
    let honest = client();
    honest.send(&setup()).unwrap();
    let Some((Message::Setup(answer), _)) = next(&honest) else {
        panic!("no answer");
    };
    // A cookie is that of its address.
    forger.send(&activation(answer.integrity)).unwrap();
    assert!(
        matches!(next(&forger), Some((Message::Activation(it), _)) if it.accepted == Some(false))
    );
    honest.send(&activation(answer.integrity)).unwrap();
    assert!(
        matches!(next(&honest), Some((Message::Activation(it), _)) if it.accepted == Some(true))
    );
    assert!(matches!(next(&honest), Some((Message::Load(_), _))));
    let said = running.stop();
    assert!(said.contains("does not prove that it receives"), "{said}");
}

#[test]
fn both_ends_may_have_a_key() {
    let place = Place::new("probe-key");
    let on = free_address();
    let script = format!("exec wire probe --answer --on {on} --key-file key >&2");
    let mut running = Running::start(&place, &script);
    let server = running
        .told("answering at ")
        .trim_end_matches(',')
        .to_owned();
    let ask = |options: &str| {
        place.run(&format!(
            "wire probe {server} --up --duration 5s --rate 1Mb/s --quiet {options}"
        ))
    };
    let without = ask("");
    assert_eq!(without.code, Some(2), "{without:?}");
    assert!(without.err.contains("--key-file"), "{without:?}");
    let wrong = ask("--key-file other");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.err.contains("the key is another"), "{wrong:?}");
    let right = ask("--key-file key");
    assert_eq!(right.code, Some(0), "{right:?}");
}
