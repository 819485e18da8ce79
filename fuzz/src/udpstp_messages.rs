//! UDPSTP: what is read of a message writes back as one that reads the same, of the same length but for a payload; and a client and a server that
//! receive it, waiting and in a test, go on and send no more at once than a burst of each transmitter.

use node::Time;
use nodes::bandwidth::capacity::client::Client;
use nodes::bandwidth::capacity::server::{self, Grant, Limits, Test, setup};
use nodes::bandwidth::capacity::{Clock, Settings};
use packet::udpstp::{
    Activation, Direction, Integrity, LOAD, Message, Setup, SetupAnswer, VERSION,
};

const CLOCK: Clock = Clock { epoch_ns: 0 };
const PORT: u16 = 9;
/// Maximum size of two bursts of the longest datagrams, with a margin, bytes.
const MAX_BURSTS_BYTES: usize = 300 * 65_536;

pub fn target(data: &[u8]) {
    if let Ok(message) = Message::parse(data) {
        let written = built(message);
        match message {
            Message::Load(_) => assert_eq!(written.len(), LOAD),
            _ => assert_eq!(written.len(), data.len()),
        }
        assert_eq!(Message::parse(&written), Ok(message));
    }
    let granted = Grant {
        port: PORT,
        integrity: Integrity::default(),
    };
    let mut answer = Vec::new();
    if setup(data, |_| Ok(granted), &mut answer).is_ok() {
        assert_eq!(answer.len(), data.len(), "the address may be forged");
    }
    let _ = server::activation(data);
    for direction in [Direction::Upstream, Direction::Downstream] {
        client(direction, data);
        server(direction, data);
    }
}

fn built(message: Message) -> Vec<u8> {
    let mut out = Vec::new();
    message.build(&mut out);
    out
}

fn activation(direction: Direction, accepted: Option<bool>) -> Vec<u8> {
    built(Message::Activation(Activation {
        version: VERSION,
        direction,
        accepted,
        ..Activation::default()
    }))
}

fn client(direction: Direction, data: &[u8]) {
    let settings = Settings {
        direction,
        ..Settings::default()
    };
    let mut client = Client::new(settings, 1, PORT, false, CLOCK, Time::ZERO);
    client.handle(Time::ZERO, PORT, data);
    let accepted = Setup {
        answer: Some(SetupAnswer::OK),
        port: PORT,
        ..Setup::default()
    };
    client.handle(Time::ZERO, PORT, &built(Message::Setup(accepted)));
    client.handle(Time::ZERO, PORT, data);
    client.handle(Time::ZERO, PORT, &activation(direction, Some(true)));
    for ms in [0, 60, 120] {
        let now = Time::from_ms(ms);
        client.handle(now, PORT, data);
        client.wake(now);
        let mut out = Vec::new();
        while client.poll_transmit(now, &mut out).is_some() {
            assert!(out.len() < MAX_BURSTS_BYTES);
        }
    }
}

fn server(direction: Direction, data: &[u8]) {
    let mut test = Test::new(
        Setup::default(),
        false,
        Limits::default(),
        CLOCK,
        Time::ZERO,
    );
    test.handle(Time::ZERO, data);
    test.handle(Time::ZERO, &activation(direction, None));
    for ms in [0, 60, 120] {
        let now = Time::from_ms(ms);
        test.handle(now, data);
        test.wake(now);
        let mut out = Vec::new();
        while test.poll_transmit(now, &mut out).is_some() {
            assert!(out.len() < MAX_BURSTS_BYTES);
        }
    }
}
