use super::*;
use node::When;
use std::string::ToString;
use std::vec::Vec;

fn frame_arrived(at: Time) -> Frame {
    let mut frame = Frame::new(&[0; 60]);
    frame.set_arrived(at);
    frame
}

#[test]
fn departure_is_arrival_and_delay_in_either_direction() {
    let config = Config::fixed(Time::from_secs(1), Time::from_ms(1));
    let mut delay = Delay::new(config).unwrap();
    let mut out = Out::default();
    let (arrived, now) = (Time::from_ns(100), Time::from_ns(151));
    delay.frames(
        now,
        Port(0),
        &mut alloc::vec![frame_arrived(arrived)],
        &mut out,
    );
    delay.frames(
        now,
        Port(1),
        &mut alloc::vec![frame_arrived(arrived)],
        &mut out,
    );
    let sends: Vec<_> = out.sends().map(|d| (d.port, d.when)).collect();
    let forth = (Port(1), When::At(arrived + Time::from_secs(1)));
    let back = (Port(0), When::At(arrived + Time::from_ms(1)));
    assert_eq!(sends, [forth, back]);
}

#[test]
fn a_bucket_lets_through_what_it_holds_and_then_its_rate() {
    // 8 Mb/s: a frame of 60 bytes takes 60 us; 150 bytes are two of them and a half.
    let forth: Spec = "rate 8mbit burst 150".parse().unwrap();
    let mut node = Delay::new(Config { forth, back: None }).unwrap();
    let mut out = Out::default();
    let mut departures = |at: u64, count: usize| -> Vec<u64> {
        let now = Time::from_us(at);
        let mut frames: Vec<Frame> = (0..count).map(|_| frame_arrived(now)).collect();
        node.frames(now, Port(0), &mut frames, &mut out);
        let mut left = Vec::new();
        let mut now = now;
        loop {
            left.extend(out.sends().map(|send| match send.when {
                When::Now => now.as_ns() / 1_000,
                When::At(at) => at.as_ns() / 1_000,
            }));
            match node.next_wake() {
                Some(wake) => now = wake,
                None => break left,
            }
            node.wake(now, &mut out);
        }
    };
    assert_eq!(departures(1_000, 5), [1_000, 1_000, 1_030, 1_090, 1_150]);
    // It has 50 bytes by now, and later it is full.
    assert_eq!(departures(1_200, 1), [1_210]);
    assert_eq!(departures(2_000, 3), [2_000, 2_000, 2_030]);
}

#[test]
fn a_full_line_drops_until_a_frame_has_left() {
    let config = Config {
        forth: "delay 1s limit 1".parse().unwrap(),
        back: None,
    };
    let mut delay = Delay::new(config).unwrap();
    let mut out = Out::default();
    for at in [0, 1, 1_000] {
        let at = Time::from_ms(at);
        delay.frames(at, Port(0), &mut alloc::vec![frame_arrived(at)], &mut out);
    }
    assert_eq!(out.sends().count(), 2);
    assert_eq!(out.drops(), [("delay line full", 1)]);
}

#[test]
fn a_file_that_was_not_read_is_refused() {
    let config = Config {
        forth: "delay trace delays.txt".parse().unwrap(),
        back: None,
    };
    let refused = Delay::new(config).unwrap_err();
    assert!(refused.to_string().contains("delays.txt"), "{refused}");
}
