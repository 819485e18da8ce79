//! An IP interface with everything on, which gets the input as frames: each with a byte for its length and one for the time
//! before it. A frame that begins with zeros gets the interface's MAC address.

use ip::interface::{Config, Interface, Received};
use ip::routes::Route;
use node::{Frame, Out, Time, When};

/// Maximum number of frames of one input.
const MAX_FRAMES: usize = 2_000;
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

pub fn target(data: &[u8]) {
    let mut interface = Interface::new(Config {
        mac: MAC,
        addresses: ["10.0.0.2/24", "fd00::2/64"]
            .map(|text| text.parse().expect("good"))
            .into(),
        routes: [Route::default_via([10, 0, 0, 1].into())].into(),
        redirects: true,
        detects_duplicates: data.first().is_some_and(|first| first & 1 == 1),
        autoconfiguration: true,
        reachable: Some(Time::from_secs(1)),
        ..Config::default()
    });
    let (mut out, mut now, mut rest) = (Out::default(), Time::ZERO, data);
    for _ in 0..MAX_FRAMES {
        let Some((&[length, time], after)) = rest.split_first_chunk() else {
            break;
        };
        let (bytes, after) = after.split_at(after.len().min(length.into()));
        rest = after;
        now += Time::from_ms(u64::from(time).pow(2));
        while interface
            .poll_timeout()
            .is_some_and(|timeout| timeout <= now)
        {
            interface.poll_transmit(now, &mut out);
        }
        let mut frame = Frame::new(bytes);
        if frame.starts_with(&[0; 6]) {
            frame[..6].copy_from_slice(&MAC);
        }
        match interface.handle_frame(now, frame, &mut out) {
            Received::Packet(frame, packet) => {
                assert!(packet.payload <= packet.end && packet.end <= frame.len());
                let copy = out.copy(&frame);
                interface.unclaimed(now, copy, &packet, &mut out);
                interface.send_any(now, packet.source, When::Now, frame, &mut out);
            }
            Received::Consumed => {}
            Received::Other(frame) => out.done(frame),
        }
        let bound = ip::neighbours::MAX_WAITING_BYTES + ip::fragments::MAX_BYTES;
        assert!(interface.waiting_bytes() <= bound);
        assert!(interface.addresses().count() <= ip::addresses::MAX_ADDRESSES);
        out.sends().count();
    }
}
