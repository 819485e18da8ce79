//! Bytes that a client sends over TCP to an authoritative DNS server.

use dns::message::records;
use dns::service::zone::{self, ZoneConfig};
use hosts::endpoint::{Egress, Endpoint, SocketOptions, Stack};
use ip::Interface;
use ip::service::Link;
use node::{Frame, Out, Port, Time, When};
use std::collections::VecDeque;
use std::net::IpAddr;

const ZONE: &str = "$TTL 60\n@ SOA ns root 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n*.w A 192.0.2.3\n";
/// Maximum number of turns of the two ends.
const TURNS: u64 = 400;

/// Frames to the server.
struct Wire(VecDeque<Frame>);

impl Egress for Wire {
    fn send(&mut self, _: Time, _: IpAddr, _: When, frame: Frame, _: &mut Out) {
        self.0.push_back(frame);
    }
}

/// The first byte is the length of the pieces in which the rest is sent.
pub fn target(data: &[u8]) {
    let Some((&piece, stream)) = data.split_first() else {
        return;
    };
    let config = zone::Config {
        zone: vec![ZoneConfig {
            name: "example.".into(),
            text: ZONE.into(),
        }],
        ..zone::Config::default()
    };
    let mut service = zone::make(&config, 1).expect("a zone");
    let interface = Interface::new(ip::Config {
        addresses: vec!["10.0.0.1/24".parse().expect("an address")],
        ..ip::Config::default()
    });
    let link = Link {
        port: Port(0),
        interface: &interface,
        mtu: 1_500,
    };
    let (mut out, mut wire) = (Out::default(), Wire(VecDeque::new()));
    let mut stack = Stack::new(1_500, 2);
    let [own, server] = ["10.0.0.2:4000", "10.0.0.1:53"].map(|end| end.parse().expect("an end"));
    let options = SocketOptions::default();
    let client = Endpoint::opening(&mut stack, own, server, options);
    let mut client = client.expect("two ends");
    let (mut sent, mut received) = (0, Vec::new());
    for turn in 0..TURNS {
        let now = Time::from_ms(turn);
        let end = stream.len().min(sent + usize::from(piece).max(1));
        sent += client.send_slice(&stream[sent..end]).unwrap_or(0);
        client.drive(now, &mut wire, &mut out);
        for frame in core::mem::take(&mut wire.0) {
            if let Some(frame) = service.handle_frame(now, &link, frame, &mut out) {
                out.done(frame);
            }
        }
        if service.next_wake().is_some_and(|due| due <= now) {
            service.wake(now, &[link], &mut out);
        }
        let frames: Vec<Frame> = out.sends().map(|departure| departure.frame).collect();
        for frame in frames {
            let _ = client.segment(&mut stack, now, &frame, &mut wire, &mut out);
            out.done(frame);
        }
        let _ = client.recv(|bytes| {
            received.extend(bytes);
            (bytes.len(), ())
        });
    }
    check(stream, &received);
}

/// Responses are whole messages, no more than there were queries, and each has the identifier of one.
fn check(stream: &[u8], received: &[u8]) {
    let messages = |mut bytes: &[u8]| {
        let mut all = Vec::new();
        while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
            let length = usize::from(u16::from_be_bytes(*length));
            let Some((message, rest)) = rest.split_at_checked(length) else {
                break;
            };
            all.push(message.to_vec());
            bytes = rest;
        }
        (all, bytes.len())
    };
    let (queries, _) = messages(stream);
    let (responses, rest) = messages(received);
    assert_eq!(rest, 0, "a response that is not whole");
    let mut queries = queries.iter();
    for response in responses {
        assert!(response[2] & 0x80 != 0 && records(&response).all(|record| record.is_ok()));
        // Of a server with its own zones the order is that of the queries.
        assert!(queries.any(|query| query.starts_with(&response[..2])));
    }
}
