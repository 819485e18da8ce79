//! Captures longer than 213 days, which is 64 bits of picoseconds: each command is correct, or ends
//! with an error.

use crate::shell::{Ended, Place};
use node::random::Random;
use packet::capture::{ETHERNET, Interface, PcapWriter, PcapngWriter, Resolution};
use serde_json::Value;

const SECOND: u128 = 1_000_000_000_000;
const DAY: u128 = 86_400 * SECOND;
const START: u128 = 1_700_000_000 * SECOND;
/// The time of a run, 2^64 ps.
const RUN: u128 = u64::MAX as u128;

/// A packet at each time, in ps since 1970; pcap until 2106.
fn capture(times: &[u128]) -> Vec<u8> {
    let mut file = Vec::new();
    PcapWriter::NANO.header(ETHERNET, 0, &mut file);
    for (number, at_ps) in times.iter().enumerate() {
        let mut frame = vec![0; 60 + number];
        frame[12..14].copy_from_slice(&[0x88, 0xB5]);
        PcapWriter::NANO.packet(*at_ps, &frame, &mut file);
    }
    file
}

/// The first object of a command's JSON.
fn object(ended: Ended) -> Value {
    let out = ended.good();
    serde_json::from_str(out.lines().next().unwrap_or_default()).unwrap()
}

fn close(value: &Value, wanted: u128) -> bool {
    let (value, wanted) = (value.as_f64().unwrap_or(f64::NAN), wanted as f64);
    (value - wanted).abs() <= wanted * 1e-9
}

/// Gaps from zero to decades, up to where pcap ends, forward and backward.
fn gaps() -> Vec<Vec<u128>> {
    let mut generator = Random::new(5);
    let mut random = |bound| u128::from(generator.below(bound));
    let mut all = vec![
        vec![START, START, START],
        vec![START, START + 212 * DAY, START + 213 * DAY],
        vec![START, START + 214 * DAY, START + 214 * DAY + SECOND],
        vec![START, START + 300 * DAY, START + 301 * DAY],
        vec![SECOND, 80 * 365 * DAY, 2 * SECOND],
        vec![START + 4 * SECOND, START + 3 * SECOND, START],
        (0..5).map(|n| START + n * 100 * DAY).collect(),
    ];
    for _ in 0..8 {
        let mut at = START;
        let times = (0..6).map(|_| {
            let step = random(1 << 20) * random(3_000) * SECOND;
            at = if random(4) == 0 {
                at.saturating_sub(step)
            } else {
                at + step
            };
            // Where pcap ends.
            at = at.min(4_294_967_295 * SECOND);
            at
        });
        all.push(times.collect());
    }
    all
}

#[test]
fn a_profile_of_years_is_that_of_the_stamps() {
    let place = Place::new("long-profile");
    for times in gaps() {
        place.write("t.pcap", capture(&times));
        let output = object(place.run("wire profile --json t.pcap"));
        let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
        assert!(
            close(&output["duration_ps"], most - least),
            "{times:?}: {output}"
        );
        // A packet before the latest so far has no delay.
        let (mut latest, mut delays) = (times[0], Vec::new());
        for &at in &times[1..] {
            if let Some(delay) = at.checked_sub(latest) {
                delays.push(delay);
                latest = at;
            }
        }
        delays.sort_unstable();
        let delay = &output["delay"];
        match (delays.first(), delays.last()) {
            (Some(&min), Some(&max)) => {
                assert!(close(&delay["min_ps"], min), "{times:?}: {output}");
                assert!(close(&delay["max_ps"], max), "{times:?}: {output}");
                let mean = delays.iter().sum::<u128>() / delays.len() as u128;
                assert!(close(&delay["mean_ps"], mean), "{times:?}: {output}");
                let middle = delays[delays.len().div_ceil(2) - 1];
                assert!(close(&delay["p50_ps"], middle), "{times:?}: {output}");
            }
            _ => assert_eq!(*delay, Value::Null),
        }
        let backwards = times.len() - 1 - delays.len();
        assert_eq!(output["backwards"], backwards);
    }
    // Time that only runs backwards lasts as well.
    place.write(
        "t.pcap",
        capture(&[5, 4, 3, 2, 1].map(|s| START + s * SECOND)),
    );
    let output = place.run("wire profile t.pcap").good();
    assert!(
        output.starts_with("t.pcap: 5 packets in 4 s, 1 packets/s"),
        "{output}"
    );
}

#[test]
fn rates_over_years_have_digits() {
    let place = Place::new("long-rates");
    for days in [1, 30, 400, 4_000, 40_000] {
        let times = [START, START + days * DAY];
        let times = times.map(|at| at.min(4_294_967_295 * SECOND));
        place.write("t.pcap", capture(&times));
        let output = place.run("wire profile t.pcap").good();
        let words: Vec<&str> = output.lines().next().unwrap().split(' ').collect();
        let number = |unit: &str| {
            let place = words.iter().position(|word| *word == unit).unwrap();
            words[place - 1].parse::<f64>().unwrap()
        };
        let seconds = (times[1] - times[0]) as f64 / 1e12;
        for (unit, wanted) in [("packets/s,", 1.0), ("b/s", 8.0 * 64.5)] {
            let error = number(unit) * seconds / wanted - 1.0;
            assert!(error.abs() < 1e-3, "{days}: {output}");
        }
    }
}

#[test]
fn a_comparison_over_years_finds_the_delay() {
    let place = Place::new("long-compare");
    let times = [START, START + 400 * DAY, START + 4_000 * DAY];
    place.write("before.pcap", capture(&times));
    place.write("after.pcap", capture(&times.map(|at| at + 7_000)));
    let output = object(place.run("wire profile --json --compare before.pcap after.pcap"));
    assert_eq!(output["found"]["by_content"], 3);
    for figure in ["min_ps", "p50_ps", "max_ps"] {
        assert_eq!(output["delay"][figure], 7_000, "{output}");
    }
}

#[test]
fn a_replay_is_whole_or_says_where_it_ends() {
    let place = Place::new("long-replay");
    let lab = "[node.g]\nkind = \"generator\"\nreplay = \"t.pcap\"\n\
               [node.s]\nkind = \"sink\"\n[[link]]\nends = [\"g.0\", \"s.0\"]\n";
    place.write("t.toml", lab);
    for times in gaps() {
        place.write("t.pcap", capture(&times));
        // Departures begin with the first packet, 1 us after the start of the run, and do not go
        // back.
        let first = times[0];
        let fits = times
            .iter()
            .take_while(|at| at.saturating_sub(first) + 1_000_000 < RUN);
        let fits = fits.count();
        for script in [
            "wire gen --replay t.pcap > t.lines",
            "wire lab t.toml > output",
        ] {
            let ended = place.run(script);
            match fits == times.len() {
                true => assert_eq!(ended.code, Some(0), "{script} {times:?} {}", ended.err),
                false => {
                    assert_eq!(ended.code, Some(1), "{script} {times:?} {}", ended.err);
                    let output = String::from_utf8(place.read("output")).unwrap();
                    let place = format!("the replay ended early: packet {}", fits + 1);
                    let unsent = match times.len() - fits {
                        1 => "lab: 1 replayed packet was not sent, ".to_string(),
                        many => format!("lab: {many} replayed packets were not sent, "),
                    };
                    match script.contains("lab") {
                        true => assert!(output.starts_with(&unsent), "{output}"),
                        false => assert!(ended.err.contains(&place), "{}", ended.err),
                    }
                }
            }
        }
        let sent = String::from_utf8(place.read("t.lines")).unwrap();
        assert_eq!(sent.lines().count(), fits, "{times:?}");
    }
    // Ten thousand times as fast, or at a pace, all of it fits.
    place.write("t.pcap", capture(&[START, START + 30_000 * DAY]));
    for faster in ["--speed 10000", "--gap 1ms"] {
        let sent = place.run(&format!("wire gen --replay t.pcap {faster}"));
        assert_eq!(sent.good().lines().count(), 2);
    }
    // Generated packets behave the same.
    let made = place.run("wire gen --gap 24h --count 300");
    assert_eq!((made.code, made.out.lines().count()), (Some(1), 214));
    assert!(made.err.contains("behind 214 packets"), "{}", made.err);
}

#[test]
fn a_stream_of_bits_carries_years_or_says_that_it_does_not() {
    let place = Place::new("long-phy");
    let seconds = |times: &[u128]| times.iter().map(|at| at / SECOND).collect::<Vec<_>>();
    for days in [1, 212, 214, 300, 3_650, 20_000] {
        let times = [START, START + days * DAY, START + days * DAY + SECOND];
        place.write("t.pcap", capture(&times));
        place
            .run("wire phy encode t.pcap -o t.phy 2> output")
            .good();
        let back = place
            .run("wire phy decode --pcapng t.phy | wire cat --json")
            .good();
        let dates = back.lines().map(|line| {
            let object: Value = serde_json::from_str(line).unwrap();
            object["ps"].as_str().unwrap().parse::<u128>().unwrap()
        });
        // A frame starts in a column, which may be up to 3.2 ns later.
        let dates: Vec<u128> = dates.collect();
        assert_eq!(seconds(&dates), seconds(&times), "{days}");
    }
    place.write("t.pcap", capture(&[SECOND, 60 * 365 * DAY]));
    let ended = place.run("wire phy encode t.pcap -o late.phy");
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(
        ended.err.contains("packet 2: it starts later"),
        "{}",
        ended.err
    );
    assert!(!place.names().contains(&"late.phy".into()));
    // Words of 8 ns reach 18 years.
    place.write("t.pcap", capture(&[START, START + 7_000 * DAY]));
    place
        .run("wire phy encode t.pcap -o t.phy 2> output")
        .good();
    let ended = place.run("wire phy decode t.phy");
    assert_eq!((ended.code, ended.out.lines().count()), (Some(2), 1));
    assert!(ended.err.contains("--tick"), "{}", ended.err);
    let ended = place.run("wire phy decode --tick 16ns t.phy");
    assert_eq!(ended.good().lines().count(), 2);
}

#[test]
fn a_date_after_the_year_40_000_is_copied_and_is_no_line() {
    let place = Place::new("long-dates");
    let (mut file, mut writer) = (Vec::new(), PcapngWriter::default());
    writer.header("", &mut file);
    for digits in [6, 0] {
        let resolution = Resolution::from_byte(digits);
        let described = Interface {
            resolution,
            ..Interface::default()
        };
        let interface = writer.interface(&described, &mut file);
        for units in [u64::MAX, u64::MAX / 3, 0] {
            writer.packet(interface, resolution.to_ps(units, 0), &[7; 60], &mut file);
        }
    }
    place.write("t.pcapng", &file);
    place.run("wire dump t.pcapng -o copy.pcapng").good();
    let copy = place.read("copy.pcapng");
    let dates = |file: &[u8]| {
        use packet::capture::{Block, Reader, Step};
        let (mut reader, mut rest, mut dates) = (Reader::default(), file, Vec::new());
        while let Ok(Step::Block { used, block }) = reader.next(rest, true) {
            if let Block::Packet { at_ps, .. } = block {
                dates.push(at_ps);
            }
            rest = &rest[used..];
        }
        dates
    };
    assert_eq!(dates(&copy), dates(&file));
    assert_eq!(dates(&file).len(), 6);
    let ended = place.run("wire cat t.pcapng");
    assert_eq!((ended.code, ended.out.lines().count()), (Some(1), 2));
    assert!(ended.err.contains("after the year 40,000"), "{}", ended.err);
}
