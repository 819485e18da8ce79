//! What packets are like in time, from captures of which that is known.

use crate::shell::{Ended, Place};

/// A lab that captures `frames` at `b.0` of a 10 Gb/s link in picoseconds.
fn lab(place: &Place, generator: &str) {
    place.write(
        "lab.toml",
        format!(
            "[node.a]\nkind = 'generator'\n{generator}\n[node.b]\nkind = 'sink'\n\
             [[link]]\nends = ['a.0', 'b.0']\nrate = '10 Gb/s'\n\
             [[capture]]\nat = 'b.0'\nfile = 't.pcapng'\nresolution = 'ps'\n"
        ),
    );
    place.run("wire lab lab.toml").good();
}

/// A number in a line of JSON, by the keys that lead to it.
fn number(line: &str, keys: &[&str]) -> f64 {
    let mut rest = line;
    for key in keys {
        let key = format!("\"{key}\":");
        let at = rest
            .find(&key)
            .unwrap_or_else(|| panic!("no {key} in {line}"));
        rest = &rest[at + key.len()..];
    }
    let end = rest.find([',', '}', ']']).unwrap();
    rest[..end]
        .parse()
        .unwrap_or_else(|_| panic!("{keys:?}: {rest}"))
}

#[test]
fn a_stream_of_nine_gigabits_has_no_deviation_in_bits() {
    let place = Place::new("profile-nine");
    lab(&place, "count = 10_000\nsize = 1518\ngap = '1356.8 ns'");
    let json = place.run("wire profile t.pcapng --json").good();
    for (keys, value) in [
        (&["packets"][..], 10_000.0),
        (&["delay", "mean_ps"], 1_356_800.0),
        (&["delay", "sd_ps"], 0.0),
        (&["delay", "bits", "mean"], 13_992.0),
        (&["delay", "bits", "sd"], 0.0),
        (&["gap", "idles", "mean"], 170.0),
        (&["gap", "idles", "max"], 170.0),
        (&["unit_ps"], 1.0),
        (&["probes", "lost"], 0.0),
    ] {
        assert_eq!(number(&json, keys), value, "{keys:?}");
    }
    let text = place.run("wire profile t.pcapng").good();
    assert!(
        text.contains("13,992") && text.contains("units of 1 ps"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 104),
        "{text}"
    );
    // The stamps outlive a conversion.
    let again = place
        .run("wire dump t.pcapng | wire profile --rate 10Gb/s --json")
        .good();
    assert_eq!(number(&again, &["delay", "bits", "sd"]), 0.0);
    // In nanoseconds they do not, and the profile says what they are worth.
    let coarse = place
        .run("wire dump --pcap --lenient t.pcapng 2> told | wire profile --rate 10Gb/s --json")
        .good();
    assert_eq!(number(&coarse, &["unit_ps"]), 1_000.0);
    assert!(number(&coarse, &["delay", "bits", "sd"]) > 1.0);
}

#[test]
fn bursts_rate_and_loss_are_those_of_the_stream() {
    let place = Place::new("profile-bursts");
    // Ten packets back to back, every ten microseconds, in ticks of 100 ps.
    let packets = place.run("wire gen --count 1000 --size 64 | wire cat --no-time");
    let packets = packets.good();
    let timed = packets.lines().enumerate().map(|(n, line)| {
        let ticks = n / 10 * 100_000 + n % 10 * 672;
        format!("{ticks:016X} {line}\n")
    });
    place.write("t.lines", timed.collect::<String>());
    place
        .run("wire dump --tick 100ps t.lines -o t.pcapng")
        .good();
    let json = place
        .run("wire profile --rate 10Gb/s t.pcapng --json")
        .good();
    assert_eq!(number(&json, &["bursts", "count"]), 100.0);
    assert_eq!(number(&json, &["bursts", "share"]), 1.0);
    assert_eq!(number(&json, &["bursts", "length", "max"]), 10.0);
    assert_eq!(number(&json, &["delay", "min_ps"]), 67_200.0);
    // Every tenth packet is taken out, from the fifth on.
    let json = place
        .run("awk 'NR % 10 != 5' t.lines | wire profile --tick 100ps --json")
        .good();
    assert_eq!(number(&json, &["probes", "packets"]), 900.0);
    assert_eq!(number(&json, &["probes", "lost"]), 100.0);
    // A burst by time, where no rate is known.
    let json = place
        .run("wire profile t.lines --tick 100ps --burst 1us --json")
        .good();
    assert_eq!(number(&json, &["bursts", "count"]), 100.0);
}

#[test]
fn windows_that_were_asked_for_are_counted_empty_or_not() {
    let place = Place::new("profile-windows");
    let json = place
        .run("wire gen --count 101 --gap 10us | wire profile --window 5us --json")
        .good();
    assert_eq!(number(&json, &["window_ps"]), 5_000_000.0);
    assert_eq!(number(&json, &["windows"]), 200.0);
    assert_eq!(number(&json, &["packets_per_second", "mean"]), 100_000.0);
    assert_eq!(number(&json, &["packets_per_second", "max"]), 200_000.0);
    assert_eq!(number(&json, &["packets_per_second", "min"]), 0.0);
}

#[test]
fn each_interface_of_a_capture_is_told_by_itself() {
    let place = Place::new("profile-interfaces");
    place.write(
        "lab.toml",
        "[node.a]\nkind = 'generator'\ncount = 100\ngap = '10 us'\n\
         [node.d]\nkind = 'delay'\ndelay = '1 ms'\n[node.b]\nkind = 'sink'\n\
         [[link]]\nends = ['a.0', 'd.0']\n[[link]]\nends = ['d.1', 'b.0']\n\
         [[capture]]\nat = ['d.0', 'b.0']\nfile = 't.pcapng'\n",
    );
    place.run("wire lab lab.toml").good();
    let json = place
        .run("wire profile t.pcapng --json --plot t.svg")
        .good();
    assert_eq!(json.lines().count(), 2, "{json}");
    for (line, name) in json.lines().zip(["t.pcapng d.0", "t.pcapng b.0"]) {
        assert!(line.contains(name), "{line}");
        assert_eq!(number(line, &["packets"]), 100.0);
        assert_eq!(number(line, &["delay", "sd_ps"]), 0.0);
    }
    let svg = String::from_utf8(place.read("t.svg")).unwrap();
    assert!(svg.contains(">b.0<") && svg.contains("share of packets"));
}

#[test]
fn what_is_odd_about_the_stamps_is_said() {
    let place = Place::new("profile-odd");
    place.run("wire gen --count 50 --gap 10us > t.lines").good();
    // The order of two packets is exchanged.
    let text = place
        .run("awk 'NR == 7 {kept = $0; next} {print} NR == 8 {print kept}' t.lines | wire profile")
        .good();
    assert!(text.contains("1 packets have a stamp before"), "{text}");
    assert!(text.contains("1 reordered"), "{text}");
    let text = place.run("wire profile --rate 10Mb/s t.lines").good();
    assert!(
        text.contains("begin before the one before them has ended"),
        "{text}"
    );
    assert_eq!(place.run("wire profile /dev/null").good(), "no packet\n");
    let one = place.run("head -1 t.lines | wire profile --json").good();
    assert_eq!(number(&one, &["packets"]), 1.0);
}

#[test]
fn the_energy_of_even_packets_ends_at_their_distance_and_bursts_have_more() {
    let place = Place::new("profile-energy");
    // One packet every 1.024 us, and eight of them together every 8.192 us.
    for (name, pace) in [
        ("even", "--gap 1024ns"),
        ("bursts", "--idles 12 --pattern 'train(8, every 8192ns)'"),
    ] {
        let script = format!("wire gen --count 8000 {pace} | wire dump - -o {name}.pcapng");
        place.run(&script).good();
    }
    let energy = |name: &str, octave: u64| {
        let line = place.run(&format!("wire profile {name}.pcapng --energy --json"));
        let line: serde_json::Value = serde_json::from_str(&line.good()).unwrap();
        let octaves = line["energy"].as_array().unwrap().clone();
        let found = octaves.iter().find(|found| found["octave"] == octave);
        assert_eq!(found.unwrap()["scale_ps"], 1000 << octave);
        found.unwrap()["energy"].as_f64().unwrap()
    };
    let one_in_two = 64.0 * 64.0 / 1024.0;
    assert!((energy("even", 10) - one_in_two).abs() < 0.01 * one_in_two);
    assert!(energy("even", 12) < 0.01 * one_in_two);
    // Eight packets in a pair of 8.192 us, all in its first half.
    let burst = 512.0 * 512.0 / 8192.0;
    assert!((energy("bursts", 13) - burst).abs() < 0.01 * burst);
    assert!(energy("bursts", 15) < 0.01 * burst);
    let text = place.run("wire profile bursts.pcapng --energy").good();
    assert!(text.contains("octave"), "{text}");
    place
        .run("wire profile bursts.pcapng --energy --plot e.svg && grep -q 'log2 of energy' e.svg")
        .good();
}

#[test]
fn what_cannot_be_profiled_says_why() {
    let place = Place::new("profile-bad");
    for (script, message) in [
        (
            "wire profile missing.pcap",
            "no interface and no file `missing.pcap`",
        ),
        ("wire profile --window 0 x", "a window has a length"),
        (
            "wire profile - --plot x.pdf < /dev/null",
            "use .png or .svg",
        ),
        (
            "wire profile - --filter 'not a filter' < /dev/null",
            "filter",
        ),
    ] {
        let ended: Ended = place.run(script);
        assert_eq!(ended.code, Some(2), "{script}: {}", ended.err);
        assert!(ended.err.contains(message), "{script}: {}", ended.err);
    }
}

#[test]
fn dump_tells_the_same_on_the_way() {
    let place = Place::new("profile-dump");
    let ended = place.run("wire gen --count 20 --gap 1us | wire dump --summary -o t.pcapng");
    assert_eq!(ended.code, Some(0));
    assert!(ended.out.contains("20 packets in 19 us"));
    assert_eq!(ended.err, "");
    let ended = place.run("wire gen --count 20 --gap 1us | wire dump --summary -o - | wire cat -");
    assert!(ended.err.contains("20 packets in 19 us"), "{}", ended.err);
    assert_eq!(ended.out.lines().count(), 20);
    place.run("test $(wire cat t.pcapng | wc -l) = 20").good();
}

/// A lab with a device between `d.0` and `b.0`, captured on both sides.
fn device(place: &Place, link: &str) {
    place.write(
        "lab.toml",
        format!(
            "[lab]\nseed = 3\n[node.a]\nkind = 'generator'\ncount = 20_000\ngap = '5 us'\n\
             [node.d]\nkind = 'delay'\ndelay = '1 ms'\n[node.b]\nkind = 'sink'\n\
             [[link]]\nends = ['a.0', 'd.0']\nrate = '10 Gb/s'\n\
             [[link]]\nends = ['d.1', 'b.0']\nrate = '10 Gb/s'\n{link}\n\
             [[capture]]\nat = ['d.0', 'b.0']\nfile = 't.pcapng'\nresolution = 'ps'\n"
        ),
    );
    place.run("wire lab lab.toml --json > report").good();
}

#[test]
fn the_delay_of_a_device_is_found_to_the_picosecond() {
    let place = Place::new("compare-delay");
    device(&place, "delay = '123 ps'");
    let json = place
        .run("wire profile --compare t.pcapng#d.0 t.pcapng#b.0 --json --plot d.svg")
        .good();
    for (keys, value) in [
        (&["by_probe"][..], 20_000.0),
        (&["delay", "mean_ps"], 1_000_000_123.0),
        (&["delay", "sd_ps"], 0.0),
        (&["delay", "jitter_ps"], 0.0),
        (&["lost", "packets"], 0.0),
        (&["reordered", "packets"], 0.0),
    ] {
        assert_eq!(number(&json, keys), value, "{keys:?}");
    }
    assert!(
        String::from_utf8(place.read("d.svg"))
            .unwrap()
            .contains("delay [ms]")
    );
}

#[test]
fn loss_duplicates_and_order_are_those_that_the_link_made() {
    let place = Place::new("compare-faults");
    device(
        &place,
        "loss = 0.01\nduplicate = 0.005\nreorder = 0.01\nreorder_by = '32 us'",
    );
    let report = String::from_utf8(place.read("report")).unwrap();
    let link = report
        .lines()
        .find(|line| line.contains("\"from\":\"d.1\""))
        .unwrap();
    let json = place
        .run("wire profile --compare t.pcapng#0 t.pcapng#1 --json")
        .good();
    let lost = number(link, &["lost"]);
    let told = number(&json, &["lost", "packets"]);
    let (ahead, tail) = (
        number(&json, &["not_covered_ahead"]),
        number(&json, &["not_covered_behind"]),
    );
    assert!(lost > 100.0);
    assert_eq!(told + ahead + tail, lost);
    assert_eq!(
        json.lines()
            .filter(|line| line.contains("\"type\":\"lost\""))
            .count() as f64,
        told
    );
    assert_eq!(
        number(&json, &["duplicates"]),
        number(link, &["duplicated"])
    );
    // Held up for six packets and some: some are lost behind it, or come twice.
    let (late, held) = (
        number(&json, &["reordered", "packets"]),
        number(link, &["reordered"]),
    );
    assert!((held - late).abs() <= 0.05 * held, "{late} of {held}");
    assert!((5.0..=8.0).contains(&number(&json, &["extent_max"])));
    assert_eq!(number(&json, &["delay", "min_ps"]), 1_000_000_000.0);
}

#[test]
fn packets_are_known_again_behind_a_router_with_nat() {
    let place = Place::new("compare-nat");
    // Frames without a probe: what differs is the IP identification and the payload.
    let line = |n: u64, at: u64, ttl: u8, src: &str, port: u16, mac: &str| {
        format!(
            "{at:016X} {mac} 020000000001 0800 45 00 00 24 {:02X} {:02X} 40 00 {ttl:02X} 11 00 00 {src} \
             C6 33 64 02 {:02X} {:02X} 00 35 00 10 {ttl:02X} 00 {:02X} {:02X} 11 22 33 44 55 66\n",
            n >> 8 & 255,
            n & 255,
            port >> 8,
            port & 255,
            n >> 8 & 255,
            n & 255,
        )
    };
    let inside: String = (0..5_000)
        .map(|n| line(n, n * 1_000, 64, "0A 00 00 01", 4000, "020000000002"))
        .collect();
    // 40 us later, each fiftieth lost, MAC, TTL, address and port rewritten.
    let outside: String = (0..5_000)
        .filter(|n| n % 50 != 7)
        .map(|n| {
            line(
                n,
                n * 1_000 + 5_000,
                63,
                "C0 00 02 09",
                61_000,
                "0200000000FF",
            )
        })
        .collect();
    place.write("in.lines", inside);
    place.write("out.lines", outside);
    let json = place
        .run("wire profile --compare in.lines out.lines --json | head -1")
        .good();
    assert_eq!(number(&json, &["by_content"]), 4_900.0);
    assert_eq!(number(&json, &["lost", "packets"]), 100.0);
    assert_eq!(number(&json, &["delay", "mean_ps"]), 40_000_000.0);
    assert_eq!(number(&json, &["delay", "sd_ps"]), 0.0);
    // Tagged too, and captured by a clock that is decades off.
    let json = place
        .run(
            "awk '{$4 = \"8100 00 05 08 00\"; print}' out.lines | wire dump --epoch 1700000000000000000 -o out.pcapng
             wire dump --epoch 0 in.lines -o in.pcapng
             wire profile --compare in.pcapng out.pcapng --json | head -1",
        )
        .good();
    assert_eq!(number(&json, &["by_content"]), 4_900.0);
    assert_eq!(number(&json, &["delay", "max_ps"]), 0.0);
    assert!(
        json.contains("\"zero_ps\":\"1700000000000040000000\""),
        "{json}"
    );
    assert!(json.contains("one clock cannot have made both"), "{json}");
}

#[test]
fn captures_of_different_traffic_fail_the_comparison() {
    let place = Place::new("compare-strangers");
    place
        .run("wire gen --count 50 --gap 1us > a; wire gen --count 50 --gap 1us --stream 3 > b")
        .good();
    let ended = place.run("wire profile --compare a b");
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.out.contains("are these the same traffic"),
        "{}",
        ended.out
    );
    // An interface that is not there: the message has those that are.
    place.run("wire dump a -o a.pcapng").good();
    for (wanted, named) in [("no", "`no`"), ("7", "7")] {
        let ended = place.run(&format!(
            "wire profile --compare a.pcapng#0 a.pcapng#{wanted}"
        ));
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        let told = format!("no packet is of interface {named}; all are of interface 0");
        assert!(ended.err.contains(&told), "{}", ended.err);
    }
    let ended = place.run("wire profile --compare a a");
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("FILE#1"), "{}", ended.err);
}
