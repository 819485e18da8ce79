//! The compressing node, fed with arbitrary frames by both ports: what it compresses the far node restores, nothing leaves longer than it
//! came by the plain side, and nothing that is restored is longer than it may be.

use node::{Frame, Node, Out, Port, Time};
use relay::codec::Algorithm;
use relay::compress::{Choice, Compress, Config, Mode};
use relay::encapsulation::{is_marked, locate};

const DICTIONARY: &[u8] =
    b"GET / HTTP/1.1\r\nHost: shop.example\r\nContent-Type: application/json\r\n\r\n";

fn node(mode: Mode, algorithm: Choice) -> Compress {
    let config = Config {
        mode,
        algorithm,
        dictionary: Some("given".into()),
        flows: 8,
        ..Config::default()
    };
    Compress::new(config, DICTIONARY).expect("a good configuration")
}

/// A frame in by one port, and what comes out by the other; none if it was dropped.
fn pass(node: &mut Compress, port: u16, bytes: &[u8], out: &mut Out) -> Option<Vec<u8>> {
    let before: u64 = out.drops().iter().map(|(_, count)| count).sum();
    node.frames(Time::ZERO, Port(port), &mut vec![Frame::new(bytes)], out);
    let dropped = out.drops().iter().map(|(_, count)| count).sum::<u64>() - before;
    let sent: Vec<_> = out.sends().collect();
    assert_eq!(sent.len() as u64 + dropped, 1);
    let departure = sent.into_iter().next()?;
    assert_eq!(departure.port, Port(1 - port));
    Some(departure.frame.to_vec())
}

/// The input: one byte of port and algorithm, and a frame. By the plain side whatever follows the headers is as the input has it; by the far
/// side it is a packet of ours if its mark is there.
pub fn target(data: &[u8]) {
    let Some((&first, frame)) = data.split_first() else {
        return;
    };
    let frame = &frame[..frame.len().min(packet::MAX_FRAME_LEN)];
    let algorithm = Algorithm::ALL[usize::from(first >> 1) % 3];
    let (mut near, mut far) = (
        node(Mode::Always, Choice::One(algorithm)),
        node(Mode::Never, Choice::Auto),
    );
    let mut out = Out::default();
    if first & 1 == 1 {
        if let Some(came) = pass(&mut far, 1, frame, &mut out) {
            assert!(came.len() <= packet::MAX_FRAME_LEN);
        }
        return;
    }
    let sent = pass(&mut near, 0, frame, &mut out).expect("nothing is dropped on the plain side");
    assert!(sent.len() <= frame.len());
    let ours = locate(frame).is_ok_and(|place| place.protocol() == 253 && is_marked(frame, &place));
    if sent != frame {
        assert!(!ours);
        let came = pass(&mut far, 1, &sent, &mut out).expect("what was made is restored");
        assert_eq!(came, frame);
    }
}
