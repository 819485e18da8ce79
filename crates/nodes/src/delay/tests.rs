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
