//! A switch with all of its protocols, and frames: the first byte chooses the configuration, each frame has four bytes for its length, its
//! port, the time and the parts that are made good. No frame comes out of nowhere: copies, and messages as often as the limits allow.

use bridge::lacp::{self, Mode, pdu};
use bridge::stp::{Version, bpdu};
use bridge::switch::{Config, MirrorConfig, Switch};
use bridge::{snooping, stp};
use multicast::message;
use node::event::What;
use node::{Event, Frame, Node, Out, Port, Time};

/// Maximum number of frames of one input.
const MAX_FRAMES: usize = 1_000;
const PORTS: u16 = 6;

fn switch(kind: u8) -> Switch {
    let lag = lacp::Config {
        ports: vec![0, 1],
        mode: [Mode::Active, Mode::Passive, Mode::Static][usize::from(kind >> 4) % 3],
        ..lacp::Config::default()
    };
    let snooping = snooping::Config {
        querier: kind & 8 != 0,
        memberships: 16,
        memberships_per_port: 8,
        ..snooping::Config::default()
    };
    let mirror = MirrorConfig {
        from: vec![2],
        to: 5,
        ..MirrorConfig::default()
    };
    Switch::new(Config {
        ports: PORTS,
        vlan_aware: kind & 1 == 1,
        stations: 8,
        stp: [None, Some(Version::Rstp), Some(Version::Stp)][usize::from(kind >> 1) % 3],
        lag: vec![lag],
        snooping: Some(snooping),
        mirror: vec![mirror],
        ..Config::default()
    })
    .expect("a good configuration")
}

/// Makes the beginning of a frame that of a protocol.
fn repair(frame: &mut [u8], kind: u8) {
    let mut put = |at: usize, bytes: &[u8]| {
        if let Some(place) = frame.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    };
    match kind & 3 {
        1 => {
            put(0, &bpdu::DESTINATION.0);
            put(12, &[0, 39, 0x42, 0x42, 3, 0, 0]);
        }
        2 => {
            put(0, &pdu::DESTINATION.0);
            put(12, &[0x88, 9]);
        }
        3 => {
            put(0, &[1, 0, 0x5E]);
            put(12, &[8, 0, 0x46]);
            put(23, &[2]);
        }
        _ => {}
    }
    if kind & 3 == 3 && frame.len() >= 46 {
        let length = (frame.len() - 14) as u16;
        frame[16..18].copy_from_slice(&length.to_be_bytes());
        frame[20..22].fill(0);
        frame[24..26].fill(0);
        let sum = packet::checksum::checksum(&frame[14..38]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame[40..42].fill(0);
        let sum = packet::checksum::checksum(&frame[38..]);
        frame[40..42].copy_from_slice(&sum.to_be_bytes());
    }
}

pub fn target(data: &[u8]) {
    let Some((&kind, mut rest)) = data.split_first() else {
        return;
    };
    let (mut switch, mut out, mut now) = (switch(kind), Out::default(), Time::ZERO);
    let mut sent = 0;
    for _ in 0..MAX_FRAMES {
        let [length, port, time, parts, bytes @ ..] = rest else {
            break;
        };
        let length = usize::from(*length).min(bytes.len());
        let (bytes, next) = bytes.split_at(length);
        rest = next;
        now += Time::from_ms(u64::from(*time) * 40);
        if switch.next_wake().is_some_and(|at| at <= now) {
            switch.wake(now, &mut out);
        }
        let port = Port(u16::from(*port) % PORTS);
        if parts & 0xF0 == 0xF0 {
            let what = What::Link(parts & 1 == 1);
            switch.event(
                now,
                &Event {
                    at: now,
                    port,
                    what,
                },
                &mut out,
            );
        }
        let mut frame = Frame::new(bytes);
        repair(&mut frame, *parts);
        // A message that is read is written, and read again the same.
        if let Ok(read) = bpdu::Bpdu::parse_frame(&frame) {
            let mut copy = Frame::new(&[]);
            read.build_frame(stp::bpdu::DESTINATION, &mut copy);
            assert_eq!(bpdu::Bpdu::parse_frame(&copy), Ok(read));
        }
        if let Ok(pdu::Pdu::Lacp { actor, partner }) = pdu::Pdu::parse_frame(&frame) {
            let mut copy = Frame::new(&[]);
            pdu::build_frame(&actor, &partner, pdu::DESTINATION, &mut copy);
            assert_eq!(
                pdu::Pdu::parse_frame(&copy),
                Ok(pdu::Pdu::Lacp { actor, partner })
            );
        }
        if let Some(Ok(read)) = message::parse_frame(&frame, 14) {
            let mut copy = Frame::new(&[]);
            message::build_frame(&read.message, read.source, pdu::DESTINATION, &mut copy);
            assert!(message::parse_frame(&copy, 14).is_some_and(|again| again.is_ok()));
        }
        switch.frames(now, port, &mut vec![frame], &mut out);
        let departures = out
            .sends()
            .inspect(|departure| assert!(departure.port.0 < PORTS));
        sent += departures.count();
        assert!(
            switch.next_wake().is_none_or(|at| at > now),
            "what is due has been done"
        );
    }
    // A copy by each port and one of the mirror, and messages: 6 BPDUs and 3 LACPDUs a second of each port, two queries.
    let seconds = 2 + (now.as_secs_f64() as usize);
    assert!(
        sent <= MAX_FRAMES * 8 + seconds * 100 * usize::from(PORTS),
        "{sent} frames in {seconds} s"
    );
    assert!(
        switch
            .statistics()
            .get("memberships")
            .is_none_or(|count| count <= 16)
    );
    let _ = switch.tables(now);
}
