//! A control channel in steady state allocates nothing, however many messages it carries.

use node::{Frame, Out, Port, Time};
use openflow::channel::{Channels, Event, Settings};
use packet::segment::{Kind, Segment};

const PORT: Port = Port(0);
const LENGTH: usize = 82;

/// Sends every message back.
fn echo(channels: &mut Channels, out: &mut Out, frame: Frame) -> u64 {
    let mut messages = 0;
    let mut batch = channels.frame(Time::ZERO, PORT, frame);
    while let Some(event) = batch.next(channels) {
        if let Event::Message(peer, bytes) = event {
            messages += 1;
            channels.send(peer, bytes);
        }
    }
    channels.finish(batch, out);
    messages
}

#[test]
fn messages_are_read_and_answered_without_allocation() {
    let mut channels = Channels::new(Settings::default());
    let mut out = Out::default();
    let mut message = [7; LENGTH];
    message[..4].copy_from_slice(&[1, 10, 0, LENGTH as u8]);
    // A segment holds no whole number of messages: each has one that is begun and one that is ended.
    let stream = message.repeat(15_000);
    let mut count = 0u32;
    let mut segment = |out: &mut Out, kind, bytes: &[u8]| {
        let mut frame = out.frame();
        let segment = Segment {
            kind,
            connection: 1,
            count,
            bytes,
        };
        frame.extend(&segment.header());
        frame.extend(bytes);
        if kind == Kind::Data {
            count = count.wrapping_add(bytes.len() as u32);
        }
        frame
    };
    let open = segment(&mut out, Kind::Open, b"");
    echo(&mut channels, &mut out, open);
    let (mut messages, mut before, mut taken, mut spare) = (0, None, 0u32, Vec::new());
    for (round, bytes) in stream.chunks_exact(15_000).cycle().take(2_000).enumerate() {
        let frame = segment(&mut out, Kind::Data, bytes);
        messages += echo(&mut channels, &mut out, frame);
        if round == 500 {
            before = Some(allocations::of_this_thread());
        }
        // What has left is taken at once.
        let mut left = core::mem::take(&mut spare);
        left.extend(out.sends().map(|departure| departure.frame));
        let mut acknowledged = false;
        for frame in left.drain(..) {
            let read = Segment::read(&frame).unwrap();
            if read.kind == Kind::Data {
                taken = taken.wrapping_add(read.bytes.len() as u32);
                acknowledged = true;
            }
            out.done(frame);
        }
        spare = left;
        if acknowledged {
            let mut frame = out.frame();
            let segment = Segment {
                kind: Kind::Acknowledge,
                connection: 1,
                count: taken,
                bytes: &[],
            };
            frame.extend(&segment.header());
            echo(&mut channels, &mut out, frame);
        }
    }
    let made = allocations::of_this_thread() - before.unwrap();
    assert_eq!(made, 0, "for {messages} messages");
    assert!(messages > 300_000);
}
