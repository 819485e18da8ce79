//! The endpoint of control channels, with frames that the input makes.

use node::{Frame, Out, Port, Time};
use openflow::channel::{Channels, Event, Settings};
use packet::segment::{Kind, Segment};

/// Each piece: kind, connection, an offset of the count, a length, and so many bytes.
pub fn target(data: &[u8]) {
    let mut channels = Channels::new(Settings {
        connections: 4,
        hold: 4096,
        limit: 16_384,
        ..Settings::default()
    });
    channels.dial(Port(0), 0);
    let mut out = Out::default();
    let mut counts = [0u32; 8];
    let mut now = Time::ZERO;
    let mut rest = data;
    while let Some((&[kind, connection, offset, length], behind)) = rest.split_first_chunk() {
        let (bytes, behind) = behind.split_at(behind.len().min(length.into()));
        rest = behind;
        let place = usize::from(connection % 8);
        let kind = match kind % 8 {
            0 => Kind::Open,
            1 => Kind::Close,
            2 => Kind::Acknowledge,
            _ => Kind::Data,
        };
        // Mostly what is due, else nothing would ever be read.
        let off = if offset < 240 {
            0
        } else {
            u32::from(offset - 239)
        };
        let segment = Segment {
            kind,
            connection: place as u32,
            count: counts[place].wrapping_add(off),
            bytes,
        };
        match kind {
            Kind::Data => counts[place] = counts[place].wrapping_add(bytes.len() as u32),
            Kind::Open | Kind::Close => counts[place] = 0,
            Kind::Acknowledge => {}
        }
        let mut frame = Vec::new();
        segment.write(&mut frame);
        now += Time::from_ms(offset.into());
        let batches = [
            channels.frame(now, Port(0), Frame::new(&frame)),
            channels.wake(now),
        ];
        for mut batch in batches {
            while let Some(event) = batch.next(&mut channels) {
                match event {
                    Event::Opened(peer) => channels.agreed(peer, 4),
                    Event::Message(peer, bytes) => {
                        assert!(bytes.len() >= 8);
                        channels.send(peer, bytes);
                        if bytes[1] == 77 {
                            channels.close(peer, "wanted");
                        }
                    }
                    Event::Closed(peer, _) => assert!(!channels.is_open(peer)),
                }
            }
            channels.finish(batch, &mut out);
        }
        for departure in out.sends() {
            assert!(Segment::read(&departure.frame).is_ok());
        }
        assert!(channels.peers().count() <= 4);
    }
}
