//! A middlebox that is told anything and gets any frames: no more leaves than came in, but for its dummies and replies, and what it holds has a bound.

use node::{Frame, Node, Out, Port, Time};
use nodes::bandwidth::middlebox::{Command, Config, Flow, Middlebox};

/// Maximum number of packets that it holds.
const MAX_HELD_PACKETS: usize = 8;

/// The input is a line, which is a command, and a series of frames: one byte of port and time, two of length, and the frame.
pub fn target(data: &[u8]) {
    let line = data.iter().position(|byte| *byte == b'\n');
    let (text, mut rest) = data.split_at(line.unwrap_or(data.len()));
    let config = Config {
        flows: vec![Flow::default()],
        room: MAX_HELD_PACKETS,
        ..Config::default()
    };
    let made = Middlebox::new(config, Box::new(|_| ()), Box::new(|_, _, _| ()));
    let mut node = made.expect("a good configuration");
    let command = core::str::from_utf8(text).ok();
    if let Some(command) = command.and_then(|text| text.parse::<Command>().ok()) {
        // What there is no room for is refused.
        let _ = node.command(command);
    }
    rest = rest.get(1..).unwrap_or_default();
    let (mut out, mut now) = (Out::default(), Time::ZERO);
    while let Some((&[first, high, low], behind)) = rest.split_first_chunk() {
        let len = (usize::from(high) << 8 | usize::from(low)).min(behind.len());
        let (bytes, behind) = behind.split_at(len);
        rest = behind;
        now += Time::from_us(u64::from(first));
        let mut frame = Frame::new(&bytes[..len.min(packet::MAX_FRAME_LEN)]);
        frame.set_arrived(now);
        node.frames(now, Port(u16::from(first % 2)), &mut vec![frame], &mut out);
        while let Some(wake) = node.next_wake().filter(|wake| *wake <= now) {
            node.wake(wake, &mut out);
        }
        out.sends().for_each(|departure| {
            assert!(departure.port.index() < 2);
            assert!(departure.frame.len() <= packet::MAX_FRAME_LEN);
        });
        let statistics = node.statistics();
        let held = statistics.counters.iter().find(|(name, _)| *name == "held");
        assert!(held.is_some_and(|(_, held)| *held <= MAX_HELD_PACKETS as u64));
    }
}
