//! Messages as the RFC has them.

use super::*;

fn built(message: Message) -> Vec<u8> {
    let mut out = Vec::new();
    message.build(&mut out);
    out
}

fn samples() -> [Message; 5] {
    let rate = SendingRate {
        interval1: 100,
        payload1: 1222,
        burst1: 3,
        interval2: 1000,
        addon2: 97,
        ..SendingRate::default()
    };
    [
        Message::Setup(Setup {
            version: VERSION,
            connections: 1,
            identifier: 0x1234,
            bandwidth: 100,
            upstream: true,
            jumbo: true,
            ..Setup::default()
        }),
        Message::Null(Null {
            version: VERSION,
            ..Null::default()
        }),
        Message::Activation(Activation {
            version: VERSION,
            direction: Direction::Upstream,
            accepted: Some(true),
            row: SEARCH,
            row_is_start: true,
            algorithm: Algorithm::C,
            rate,
            sub_interval: 1000,
            ..Activation::default()
        }),
        Message::Load(Load {
            sequence: 7,
            payload: 1222,
            status_errors: 1,
            ..Load::default()
        }),
        Message::Status(Status {
            action: Action::Stop,
            deaf: true,
            rate,
            clock_difference: -5,
            variation: [NO_VALUE, 0, 0, 0],
            mode: 1,
            ..Status::default()
        }),
    ]
}

#[test]
fn messages_have_the_lengths_of_the_rfc_and_read_back() {
    let lengths = [SETUP, NULL, ACTIVATION, LOAD, STATUS];
    for (message, length) in samples().into_iter().zip(lengths) {
        let mut bytes = built(message);
        assert_eq!(bytes.len(), length);
        assert_eq!(Message::parse(&bytes), Ok(message));
        bytes.truncate(length - 1);
        assert!(Message::parse(&bytes).is_err());
    }
}

/// RFC 9946 figure 3, by hand.
#[test]
fn fields_of_a_setup_request_lie_where_the_rfc_has_them() {
    let bytes = built(samples()[0]);
    let begin = [
        0xAC, 0xE1, 0, 20, 0, 1, 0x12, 0x34, 1, 0, 0x80, 100, 0, 0, 1, 0,
    ];
    assert_eq!(bytes[..16], begin);
}

#[test]
fn a_checksum_that_is_there_has_to_be_right() {
    for message in samples() {
        let mut bytes = built(message);
        let sum = checksum::checksum(&bytes).to_be_bytes();
        let end = bytes.len();
        bytes[end - 2..].copy_from_slice(&sum);
        assert_eq!(Message::parse(&bytes), Ok(message));
        bytes[end - 1] ^= 1;
        let wrong = BadHeader("UDPSTP message with a wrong checksum");
        assert_eq!(Message::parse(&bytes), Err(wrong));
    }
}

#[test]
fn what_is_no_message_is_refused() {
    let refused = |sample: usize, at: usize, byte: u8| {
        let mut bytes = built(samples()[sample]);
        bytes[at] = byte;
        Message::parse(&bytes).unwrap_err().0
    };
    assert_eq!(
        Message::parse(&[1]).unwrap_err().0,
        "UDPSTP message cut off"
    );
    assert_eq!(refused(0, 0, 1), "no UDPSTP message");
    let neither = "UDPSTP setup that is neither request nor response";
    assert_eq!(refused(0, 8, 3), neither);
    assert_eq!(refused(1, 4, 0), "UDPSTP null that is no request");
    assert_eq!(refused(2, 4, 3), "UDPSTP activation of no direction");
    let unknown = "UDPSTP activation of an unknown algorithm";
    assert_eq!(refused(2, 26, 9), unknown);
    let action = "UDPSTP test action that is neither test nor stop";
    assert_eq!(refused(3, 2, 9), action);
    assert_eq!(refused(4, 3, 2), "UDPSTP flag that is neither 0 nor 1");
}
