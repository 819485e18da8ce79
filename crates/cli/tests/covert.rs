//! Messages in gaps, through pipes, files of every kind and the line's own bits.

use crate::shell::Place;

/// Clean traffic of 1518 bytes at 9 Gb/s, and the same with a message.
fn place(name: &str) -> Place {
    let place = Place::new(name);
    place
        .run("wire gen -c 6000 --idles 170 --size 1518 --tick 800ps > clean; wire covert encode 'attack at dawn' clean 2>/dev/null > hidden")
        .good();
    place
}

#[test]
fn a_message_is_read_out_of_lines_records_captures_and_bit_streams() {
    let place = place("covert-forms");
    for (form, script) in [
        ("lines", "wire covert decode hidden | sort -u"),
        (
            "records",
            "wire cat --raw hidden | wire covert decode | sort -u",
        ),
        (
            "pcapng",
            "wire dump --tick 800ps hidden | wire covert decode | sort -u",
        ),
        (
            "pcap of nanoseconds",
            "wire dump --tick 800ps --pcap --lenient hidden | gzip | wire covert decode | sort -u",
        ),
        (
            "10GBASE-R",
            "wire phy encode --tick 800ps hidden | wire phy decode --tick 800ps | wire covert decode | sort -u",
        ),
        (
            "late",
            "tail -n +1234 hidden | wire covert decode | sort -u",
        ),
    ] {
        let ended = place.run(script);
        assert_eq!(
            (ended.code, &ended.out[..]),
            (Some(0), "attack at dawn\n"),
            "{form}: {}",
            ended.err
        );
    }
    // Packets are what they were, in order, and only their times are others.
    let same = "cut -d' ' -f2- clean > a; cut -d' ' -f2- hidden | cmp - a";
    place.run(same).good();
}

#[test]
fn clean_traffic_has_no_message_and_wrong_gaps_hear_none() {
    let place = place("covert-none");
    assert_eq!(place.run("wire covert decode clean").code, Some(1));
    assert_eq!(
        place.run("wire covert decode --idles 300 hidden").code,
        Some(1)
    );
    let heard = place
        .run("wire covert decode hidden --json | tail -1")
        .good();
    let heard: serde_json::Value = serde_json::from_str(&heard).unwrap();
    assert_eq!(
        (&heard["type"], &heard["bits"]),
        (&"heard".into(), &5_999.into())
    );
    assert_eq!(
        (&heard["messages"], &heard["bit_errors"]),
        (&14.into(), &0.into())
    );
}

#[test]
fn exact_stamps_show_the_channel_and_softwares_do_not() {
    let place = place("covert-detect");
    let code = |script: &str| place.run(script).code;
    assert_eq!(code("wire covert detect clean"), Some(0));
    assert_eq!(code("wire covert detect hidden"), Some(1));
    assert_eq!(
        code("wire covert detect hidden --clean clean --window 100"),
        Some(1)
    );
    assert_eq!(
        code("wire covert detect clean --clean clean --window 100"),
        Some(0)
    );
    for stamps in [
        "--stamps 1us",
        "--jitter 200ns",
        "--stamps 1us --jitter 500ns",
    ] {
        let script = format!("wire covert detect hidden {stamps}");
        assert_eq!(code(&script), Some(0), "{script}");
        let script = format!("wire covert detect hidden --clean clean --window 100 {stamps}");
        assert_eq!(code(&script), Some(0), "{script}");
    }
    let told = place
        .run("wire covert detect hidden --clean clean --window 100 --json")
        .out;
    let kinds: Vec<String> = told
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["type"].to_string())
        .collect();
    assert_eq!(kinds.len(), 5);
    assert!(kinds[..4].iter().all(|kind| kind == "\"finding\""));
}

#[test]
fn what_cannot_be_said_is_told_before_anything_is_written() {
    let place = place("covert-wrong");
    for (script, why) in [
        ("wire covert encode '' clean", "1 to 4096 bytes"),
        (
            "wire covert encode hi clean --epsilon 4 --tick 8ns",
            "ticks of 8000 ps",
        ),
        ("wire covert encode hi clean --idles 20", "standard's 12"),
        (
            "wire covert detect clean --clean clean --window 1000",
            "too few",
        ),
        ("wire covert detect clean --window 9", "50 to 1000000"),
    ] {
        let ended = place.run(script);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{script}");
        assert!(ended.err.contains(why), "{script}: {}", ended.err);
    }
}
