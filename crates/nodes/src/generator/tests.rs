use super::*;
use measure::probe;
use node::{Rate, When};
use packet::checksum::Sum;
use std::vec;

/// Wakes a generator when it asks for it, and takes down what it sends.
fn run(generator: &mut Generator, until: Time) -> Vec<(Time, Vec<u8>)> {
    let (mut out, mut sent) = (Out::default(), Vec::new());
    while let Some(at) = generator.next_wake().filter(|at| *at <= until) {
        generator.wake(at, &mut out);
        let departures: Vec<_> = out.sends().collect();
        for departure in departures {
            let When::At(time) = departure.when else {
                panic!("a departure without a time");
            };
            assert!(time <= at + Time::from_us(100), "too far ahead");
            sent.push((time, departure.frame.to_vec()));
            out.done(departure.frame);
        }
    }
    sent
}

fn departures(config: Config) -> Vec<u64> {
    let mut generator = Generator::new(Config {
        start: Time::ZERO,
        ..config
    })
    .unwrap();
    let sent = run(&mut generator, Time::from_secs(10));
    sent.iter().map(|(time, _)| time.as_ps()).collect()
}

#[test]
fn shortest_frames_at_ten_gigabit_leave_every_67_200_ps() {
    let rate = Some(Rate::TEN_GIGABIT);
    let times = departures(Config {
        rate,
        count: Some(1_000),
        ..Config::default()
    });
    assert_eq!(times, (0..1_000).map(|n| n * 67_200).collect::<Vec<_>>());
}

#[test]
fn a_third_of_a_picosecond_is_never_lost() {
    let third = Config {
        packets_per_second: Some(3),
        duration: Some(Time::from_secs(3)),
        ..Config::default()
    };
    let times = departures(third);
    assert_eq!(times.len(), 9);
    assert_eq!(
        times[..4],
        [0, 333_333_333_333, 666_666_666_666, 1_000_000_000_000]
    );
    assert_eq!(times[6], 2_000_000_000_000);
}

#[test]
fn sizes_come_in_turn_and_imix_is_seven_to_four_to_one() {
    let sizes = |size| {
        let config = Config {
            size,
            count: Some(12),
            ..Config::default()
        };
        let mut generator = Generator::new(config).unwrap();
        let sent = run(&mut generator, Time::from_secs(1));
        sent.iter()
            .map(|(_, frame)| frame.len() + 4)
            .collect::<Vec<_>>()
    };
    assert_eq!(sizes(Sizes::List(vec![64, 100]))[..3], [64, 100, 64]);
    assert_eq!(
        sizes(Sizes::Range {
            from: 64,
            to: 70,
            step: 3
        })[..4],
        [64, 67, 70, 64]
    );
    let imix = sizes(Sizes::Imix);
    let many = |size| imix.iter().filter(|&&s| s == size).count();
    assert_eq!((many(64), many(594), many(1518)), (7, 4, 1));
}

#[test]
fn a_frame_carries_its_probe_and_right_checksums() {
    let versions = [(4, ["10.0.0.1", "10.0.0.2"]), (6, ["fd00::1", "fd00::2"])];
    let payloads = ["zeros", "text", "random(0.5)", "random"];
    for ((version, ends), payload) in versions.into_iter().flat_map(|v| payloads.map(|p| (v, p))) {
        let config = Config {
            ip_source: ends[0].parse().unwrap(),
            ip_destination: ends[1].parse().unwrap(),
            vlan: Some(7),
            size: Sizes::One(101),
            flows: 3,
            count: Some(5),
            stream: 9,
            payload: payload.parse().unwrap(),
            ..Config::default()
        };
        let template = Template::new(&config).unwrap();
        let sent = run(&mut Generator::new(config).unwrap(), Time::from_secs(1));
        for (sequence, (time, frame)) in sent.iter().enumerate() {
            let probe = probe::parse(frame).unwrap();
            assert_eq!((probe.stream, probe.sequence), (9, sequence as u32));
            assert_eq!(probe.departure, *time);
            let udp = template.udp_start() - 8;
            if version == 4 {
                assert!(Sum::default().plus(&frame[18..udp]).is_valid());
            }
            let addresses = if version == 4 { udp - 8 } else { udp - 32 };
            let sum = Sum::default()
                .plus(&[0, 17])
                .plus(&((frame.len() - udp) as u16).to_be_bytes());
            assert!(sum.plus(&frame[addresses..]).is_valid(), "IPv{version}");
        }
    }
}

#[test]
fn a_payload_is_drawn_for_each_frame_and_the_same_for_a_seed() {
    let sent = |payload: &str, seed| {
        let config = Config {
            size: Sizes::One(1_018),
            count: Some(20),
            payload: payload.parse().unwrap(),
            seed,
            ..Config::default()
        };
        run(&mut Generator::new(config).unwrap(), Time::from_secs(1))
    };
    for payload in ["random", "text"] {
        let frames = sent(payload, 1);
        assert_eq!(frames, sent(payload, 1));
        assert_ne!(frames, sent(payload, 2));
        assert_ne!(frames[0].1[200..], frames[1].1[200..], "{payload}");
    }
    // 42 bytes of headers, 18 of the probe; of the other 954 a quarter is 239.
    let (_, frame) = &sent("random(0.25)", 1)[7];
    let zeros = frame.iter().rev().take_while(|byte| **byte == 0).count();
    assert!((715..718).contains(&zeros), "{zeros}");
    let (_, frame) = &sent("text", 1)[7];
    assert!(frame[60..].starts_with(b"{\"items\":[{\"id\":"));
    assert!(frame[60..].iter().all(|byte| (0x20..0x7F).contains(byte)));
    for wrong in ["", "noise", "random(x)", "random(1.5", "text(1)"] {
        assert!(wrong.parse::<Payload>().is_err(), "{wrong}");
    }
    let wrong = Config {
        payload: Payload::Random(1.5),
        ..Config::default()
    };
    assert!(Generator::new(wrong).is_err());
}

#[test]
fn a_replay_keeps_its_own_timing_scaled_and_in_loops() {
    let frames = vec![(Time::ZERO, vec![1; 60]), (Time::from_us(30), vec![2; 60])];
    let config = Config {
        start: Time::from_us(5),
        speed: 1.5,
        loops: 2,
        pause: Time::from_us(7),
        ..Config::default()
    };
    let source = Box::new(Frames::new(frames));
    let mut generator = Generator::replay(config, source).unwrap();
    let sent = run(&mut generator, Time::from_secs(1));
    let times: Vec<_> = sent
        .iter()
        .map(|(time, frame)| (time.as_ns(), frame[0]))
        .collect();
    assert_eq!(times, [(5_000, 1), (25_000, 2), (32_000, 1), (52_000, 2)]);
    assert_eq!(generator.next_wake(), None);
}

#[test]
fn a_replay_takes_another_pace_when_told() {
    let frames = vec![(Time::ZERO, vec![1; 60]), (Time::from_us(30), vec![2; 60])];
    let gap = Some(Time::from_us(1));
    let config = Config {
        gap,
        loops: 0,
        count: Some(5),
        ..Config::default()
    };
    let mut generator = Generator::replay(config, Box::new(Frames::new(frames))).unwrap();
    let sent = run(&mut generator, Time::from_secs(1));
    let times: Vec<_> = sent.iter().map(|(time, _)| time.as_ns()).collect();
    assert_eq!(times, [1_000, 2_000, 3_000, 4_000, 5_000]);
}

#[test]
fn a_source_of_nothing_or_of_nonsense_comes_to_an_end() {
    let config = Config {
        loops: 0,
        ..Config::default()
    };
    let mut empty = Generator::replay(config.clone(), Box::new(Frames::default())).unwrap();
    assert!(run(&mut empty, Time::from_secs(1)).is_empty());
    assert_eq!(empty.next_wake(), None);

    let long = Frames::new(vec![(Time::ZERO, vec![0; packet::MAX_FRAME_LEN + 1])]);
    let mut long = Generator::replay(config, Box::new(long)).unwrap();
    assert!(run(&mut long, Time::from_ms(1)).is_empty());
}

#[test]
fn frames_shorter_than_an_ethernet_header_are_sent_as_they_are() {
    let short = Frames::new(vec![(Time::ZERO, vec![7; 5])]);
    let mut short = Generator::replay(Config::default(), Box::new(short)).unwrap();
    let sent = run(&mut short, Time::from_ms(1));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].1, [7; 5]);
}

#[test]
fn a_spurious_wake_sends_nothing() {
    let start = Time::from_secs(1);
    let mut generator = Generator::new(Config {
        start,
        ..Config::default()
    })
    .unwrap();
    let mut out = Out::default();
    generator.wake(Time::from_ms(1), &mut out);
    assert_eq!(out.sends().count(), 0);
    assert_eq!(generator.next_wake(), Some(start - Time::from_us(100)));
}

#[test]
fn after_the_last_frame_nobody_is_woken() {
    let config = Config {
        gap: Some(Time::from_secs(10)),
        count: Some(1),
        ..Config::default()
    };
    let mut made = Generator::new(config.clone()).unwrap();
    let frames = Frames::new(vec![(Time::ZERO, vec![1; 60])]);
    let mut replayed = Generator::replay(config, Box::new(frames)).unwrap();
    for generator in [&mut made, &mut replayed] {
        generator.wake(Time::ZERO, &mut Out::default());
        assert_eq!(generator.next_wake(), None);
    }
}

#[test]
fn what_cannot_work_is_refused_with_the_key() {
    let key = |config: Config| Generator::new(config).err().map(|error| error.key);
    let default = Config::default;
    assert_eq!(
        key(Config {
            size: Sizes::One(63),
            ..default()
        }),
        Some("size")
    );
    assert_eq!(
        key(Config {
            size: Sizes::List(vec![]),
            ..default()
        }),
        Some("size")
    );
    assert_eq!(
        key(Config {
            vlan: Some(4095),
            ..default()
        }),
        Some("vlan")
    );
    assert_eq!(
        key(Config {
            gap: Some(Time::ZERO),
            ..default()
        }),
        Some("gap")
    );
    assert_eq!(
        key(Config {
            pattern: Pattern::Chains { d_len: 1.0 },
            ..default()
        }),
        Some("pattern")
    );
    assert_eq!(
        key(Config {
            frame: Some(vec![0; 3]),
            ..default()
        }),
        Some("frame")
    );
    let both = Config {
        gap: Some(Time::from_ns(1)),
        rate: Some(Rate::TEN_GIGABIT),
        ..default()
    };
    assert_eq!(key(both), Some("gap"));
}

#[test]
fn by_default_frames_are_as_short_as_their_headers_allow() {
    let v6 = |last| Some(core::net::IpAddr::from([0xFE80, 0, 0, 0, 0, 0, 0, last]));
    for (vlan, ipv6, bytes) in [
        (None, false, 60),
        (Some(2), false, 64),
        (None, true, 80),
        (Some(2), true, 84),
    ] {
        let mut config = Config {
            vlan,
            count: Some(1),
            ..Config::default()
        };
        if ipv6 {
            config.ip_source = v6(1).unwrap();
            config.ip_destination = v6(2).unwrap();
        }
        let mut node = Generator::new(config).unwrap();
        let mut out = Out::default();
        node.wake(node.next_wake().unwrap(), &mut out);
        let frame = out.sends().next().unwrap().frame;
        assert_eq!(frame.len(), bytes, "{vlan:?} {ipv6}");
    }
}

/// Figure 4.12 of paper 002: rates step up from train to train, and begin again with the next sample.
#[test]
fn trains_of_the_whole_model_leave_as_they_say() {
    let config = Config {
        pattern: "trains(2, 4:4:8 Gb/s, 10 us, 1 ms)".parse().unwrap(),
        size: Sizes::One(1_000),
        count: Some(7),
        ..Config::default()
    };
    let times = departures(config.clone());
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // 1020 bytes with preamble and gap, at 4 and at 8 Gb/s.
    let (slow, fast, gap, distance) = (2_040_000, 1_020_000, 10_000_000, 1_000_000_000);
    assert_eq!(gaps, [slow, gap, fast, distance, slow, gap]);
    let twice = Config {
        rate: Some(Rate::TEN_GIGABIT),
        ..config.clone()
    };
    assert_eq!(
        Generator::new(twice).err().map(|error| error.key),
        Some("pattern")
    );
    let deaf = Pattern::Trains(crate::train::Trains::PATHLOAD);
    let deaf = Config {
        pattern: deaf,
        ..config
    };
    assert_eq!(
        Generator::new(deaf).err().map(|error| error.key),
        Some("pattern")
    );
}
