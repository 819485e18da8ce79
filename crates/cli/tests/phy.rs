//! The line of 10GBASE-R as bits and blocks.

use crate::shell;
use crate::shell::{Place, lines};

/// The bits, the idles and the verdicts of a table.
fn table(out: &str) -> Vec<(u64, Option<u64>, String)> {
    let rows = out.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [bit, _, idles, _, verdict] = fields[..] else {
            panic!("{line}");
        };
        (bit.parse().unwrap(), idles.parse().ok(), verdict.into())
    };
    rows.map(row).collect()
}

#[test]
fn nine_gigabits_of_1518_bytes_are_212_blocks_apart_without_deviation() {
    let place = Place::new("phy-nine");
    let out = place
        .run(
            "wire gen --count 1000 --size 1518 | wire phy encode --idles 170 2> told \
             | wire phy decode --table",
        )
        .good();
    let rows = table(&out);
    assert_eq!(rows.len(), 1_000);
    for pair in rows.windows(2) {
        assert_eq!(pair[1].0 - pair[0].0, 212 * 66);
        assert_eq!((pair[1].1, pair[1].2.as_str()), (Some(170), "good"));
    }
    let told = String::from_utf8(place.read("told")).unwrap();
    assert!(
        told.contains("1000 frames") && told.contains("170 idles before each"),
        "{told}"
    );
}

#[test]
fn packets_come_back_as_they_were_whatever_form_the_stream_has() {
    let place = Place::new("phy-identity");
    // Padded frames, and departures that are multiples of 16 ns, so that columns hold them.
    place.write("t.lines", lines(500));
    place
        .run("wire phy encode t.lines 2>/dev/null | wire phy decode > padded")
        .good();
    for script in [
        "wire phy encode padded -o s.phy 2>/dev/null; wire phy decode s.phy | cmp - padded",
        "wire phy encode --skew 41 padded 2>/dev/null | wire phy decode | cmp - padded",
        "wire phy decode s.phy --pcapng | wire undump --words | cmp - padded",
        "wire phy decode s.phy --pcapng -o s.pcapng; wire phy encode s.pcapng 2>/dev/null | wire phy decode | cmp - padded",
        "wire phy decode s.phy --raw | wire cat | cmp - padded",
        "wire phy decode s.phy --no-time > a; wire cat --no-time padded | cmp - a",
        "for order in lsb msb text; do
           wire phy encode --raw $order --skew 17 padded 2>/dev/null | wire phy decode --no-time | cmp - a || exit 1
         done",
        "wire phy encode --raw lsb --skew 3 padded 2>/dev/null | wire phy lock -o r.phy > /dev/null; wire phy decode r.phy --no-time | cmp - a",
        "wire phy lock s.phy -o again.phy > /dev/null; wire phy decode again.phy | cmp - padded",
    ] {
        place.run(script).good();
    }
}

#[test]
fn a_frame_is_kept_as_far_as_asked_and_its_length_told() {
    let place = Place::new("phy-snap");
    place
        .run("wire gen --count 3 --size 1518 | wire phy encode -o s.phy 2> told")
        .good();
    let lines = place
        .run("wire phy decode --snap 48 --no-time s.phy")
        .good();
    let whole = place.run("wire phy decode --no-time s.phy").good();
    // 12 bytes of addresses, then the type and 34 bytes of payload.
    let words = |line: &str| line.split(' ').take(3 + 34).collect::<Vec<_>>().join(" ");
    let kept: Vec<String> = whole.lines().map(words).collect();
    assert_eq!(lines.lines().collect::<Vec<_>>(), kept);
    let table = place.run("wire phy decode --snap 48 --table s.phy | grep -c ' 1518  good'");
    assert_eq!(table.out, "3\n");
    if shell::has("tshark", "the capture of cut frames") {
        let script = "wire phy decode --snap 48 --pcapng -o s.pcapng s.phy
                      tshark -r s.pcapng -T fields -e frame.len -e frame.cap_len 2> said | sort -u";
        assert_eq!(place.run(script).out, "1514\t48\n");
    }
    let wrong = place.run("wire phy decode --snap 4 s.phy");
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
}

#[test]
fn an_inverted_line_is_read_when_told_so() {
    let place = Place::new("phy-inverted");
    place
        .run("wire gen --count 7 | wire phy encode --raw text 2>/dev/null | tr 01 10 > line")
        .good();
    assert_eq!(table(&place.run("wire phy decode line --table").good()), []);
    assert_eq!(
        table(&place.run("wire phy decode --invert line --table").good()).len(),
        7
    );
}

#[test]
fn fewer_idles_than_the_standard_are_sent_when_asked_for() {
    let place = Place::new("phy-eight");
    let gaps = |options: &str| -> Vec<u64> {
        let script = format!(
            "wire gen --count 9 --size 64,65,66,67 | wire phy encode {options} 2>/dev/null | wire phy decode --table"
        );
        let rows = table(&place.run(&script).good());
        rows.iter().filter_map(|row| row.1).collect()
    };
    // 64 bytes leave the next frame a lane to start in; others have to owe and be owed.
    assert_eq!(gaps("--idles 8")[..3], [8, 7, 6]);
    let standard = gaps("--idles 12");
    assert!(
        standard.iter().all(|idles| (9..=15).contains(idles)),
        "{standard:?}"
    );
    assert!(
        gaps("--idles 12 --round-up")
            .iter()
            .all(|idles| (12..=15).contains(idles))
    );
}

#[test]
fn a_wrong_bit_costs_its_frame_and_is_never_taken_for_good() {
    let place = Place::new("phy-flip");
    place
        .run("wire gen --count 5 --size 1518 > five.lines")
        .good();
    // In the second frame: one bit, of a payload.
    let out = place
        .run("wire phy encode five.lines --idles 12 --flip 25000 2>/dev/null | wire phy decode --table")
        .good();
    let verdicts: Vec<String> = table(&out).into_iter().map(|row| row.2).collect();
    assert_eq!(verdicts, ["good", "bad-fcs", "good", "good", "good"]);
    let ended = place.run(
        "wire phy encode five.lines --idles 12 --flip 25000 2>/dev/null | wire phy decode | wc -l",
    );
    assert_eq!(ended.out.trim(), "4");
    assert!(ended.err.contains("bad-fcs"), "{}", ended.err);
    let strict = place.run(
        "wire phy encode five.lines --idles 12 --flip 25000 2>/dev/null | wire phy decode --strict",
    );
    assert_eq!(strict.code, Some(2));
}

#[test]
fn the_same_errors_reach_file_and_raw_bits() {
    let place = Place::new("phy-errors");
    place
        .run("wire gen --count 300 --gap 2us --imix > in.lines")
        .good();
    for errors in ["1e-2", "1e-3", "1e-4", "1e-6"] {
        let script = format!(
            "wire phy encode in.lines --errors {errors} -o e.phy 2> told
             wire phy encode in.lines --errors {errors} --raw lsb 2>/dev/null > e.bits
             wire phy decode e.phy --table > a; [ $? -le 1 ] || exit 1
             wire phy decode --bits lsb e.bits --table > b; [ $? -le 1 ] || exit 1
             cmp a b"
        );
        let ended = place.run(&script);
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (Some(0), ""),
            "{}",
            ended.err
        );
        let told = String::from_utf8(place.read("told")).unwrap();
        assert!(told.contains("wrong bits"), "{told}");
    }
}

#[test]
fn lock_says_where_it_is_and_where_it_was_lost() {
    let place = Place::new("phy-lock");
    let out = place
        .run(
            "wire gen --count 40 --gap 1us | wire phy encode --slip 132000+1,264000-3 2>/dev/null > s.phy
             wire phy lock s.phy",
        )
        .good();
    let changes = |line: &&str| !line.contains("hi_ber,");
    let told: Vec<&str> = out.lines().filter(changes).collect();
    assert_eq!(
        told[0],
        "bit 4224: lock after 64 blocks, the first at bit 0 (0 modulo 66)"
    );
    assert!(told[1].contains("lock lost"), "{out}");
    assert!(told[2].ends_with("(1 modulo 66)"), "{out}");
    assert!(told[4].ends_with("(64 modulo 66)"), "{out}");
    assert!(told[5].starts_with("locked at the end:"), "{out}");
    let json = place.run("wire phy lock s.phy --json | tail -1").good();
    assert!(
        json.starts_with(r#"{"schema":"wireline.phy/1","type":"lock-summary","#),
        "{json}"
    );
    assert!(json.contains(r#""locks":3,"losses":2"#), "{json}");

    let noise = place.run("head -c 30000 /dev/zero | wire phy lock --bits lsb");
    assert_eq!(noise.code, Some(1));
    assert!(noise.out.starts_with("never locked"), "{}", noise.out);
}

#[test]
fn a_high_error_rate_is_told() {
    let place = Place::new("phy-hi-ber");
    let out = place
        .run("wire gen --count 3 --gap 200us | wire phy encode --errors 1e-3 --seed 5 2>/dev/null | wire phy lock; true")
        .good();
    assert!(
        out.contains("hi_ber, 16 bad headers within 125 us"),
        "{out}"
    );
}

#[test]
fn inspect_prints_each_block_and_folds_idles() {
    let place = Place::new("phy-inspect");
    let out = place
        .run("wire gen --count 2 | wire phy encode --skew 5 --idles 100 2>/dev/null > s.phy; wire phy inspect s.phy")
        .good();
    let rows: Vec<&str> = out.lines().map(str::trim_start).collect();
    assert!(rows[0].starts_with("0  no block, 5 bits: "), "{out}");
    assert_eq!(rows[1], "5  10 1E  /C/   idle x8, 128 blocks");
    assert_eq!(rows[2], "8453  10 78  /S0/  start, 55 55 55 55 55 55 D5");
    assert!(
        rows[11].starts_with("9047  10 87  /T0/  terminate, idle x7"),
        "{out}"
    );
    assert_eq!(rows[12], "#         8519  frame, 64 bytes, good, the first");
    assert!(
        out.contains("frame, 64 bytes, good, 100 idles before it"),
        "{out}"
    );
    let count = place
        .run("wire phy inspect s.phy --count 3 --json | wc -l")
        .good();
    assert_eq!(count.trim(), "3");
    // Raw bits are shown from where blocks are found.
    let raw = place
        .run("wire gen --count 2 | wire phy encode --raw lsb --skew 5 2>/dev/null | wire phy inspect")
        .good();
    assert!(raw.contains("frame, 64 bytes, good"), "{raw}");
}

#[test]
fn a_long_stream_is_entered_by_its_index() {
    let place = Place::new("phy-from");
    place
        .run("wire gen --count 2000 --size 1518 | wire phy encode --idles 170 -o s.phy 2>/dev/null")
        .good();
    // Frame 1,500 starts at 8514 + 1500 * 13992.
    let out = place
        .run("wire phy inspect s.phy --from 20996448 --count 2")
        .good();
    assert!(
        out.lines()
            .next()
            .unwrap()
            .trim_start()
            .starts_with("20996448  10 78"),
        "{out}"
    );
    let rows = table(
        &place
            .run("wire phy decode s.phy --from 20000000 --table --count 3")
            .good(),
    );
    assert_eq!((rows[0].0 - 8_514) % 13_992, 0);
    let refused = place.run("head -c 100000 s.phy > cut.phy; wire phy decode cut.phy --from 5");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("has no index"), "{}", refused.err);
    // What is there of it is read all the same.
    let cut = place.run("wire phy decode cut.phy --table");
    assert_eq!(cut.code, Some(2));
    assert!(table(&cut.out).len() > 30, "{}", cut.err);
    assert!(
        cut.err.contains("ends in the midst of a segment"),
        "{}",
        cut.err
    );
}

#[test]
fn an_hour_of_silence_takes_no_time_and_no_room() {
    let place = Place::new("phy-hour");
    let out = place
        .run(
            "wire gen --count 3 --gap 3600s | wire phy encode -o s.phy 2>/dev/null
             wc -c < s.phy; wire phy decode s.phy --table | tail -1",
        )
        .good();
    let (bytes, row) = out.split_once('\n').unwrap();
    assert!(bytes.trim().parse::<u64>().unwrap() < 2_000, "{bytes}");
    // 7,200 s are 74,250,000,000,000 bits.
    assert_eq!(table(row)[0].0, 8_514 + 74_250_000_000_000);
}

#[test]
fn what_is_no_stream_is_said_to_be_none() {
    let place = Place::new("phy-none");
    let empty = place.run("wire phy decode --table < /dev/null");
    assert_eq!(empty.code, Some(1));
    assert!(empty.err.contains("no blocks were found"), "{}", empty.err);
    place.write(
        "bad.phy",
        [
            0x8A, b'P', b'H', b'Y', 13, 10, 26, 10, 9, 0, 0, 0, 0, 0, 0, 0,
        ],
    );
    let bad = place.run("wire phy inspect bad.phy");
    assert_eq!(bad.code, Some(2));
    assert!(bad.err.contains("version 9"), "{}", bad.err);
    let json = place.run("wire gen --count 1 | wire phy encode --json");
    assert_eq!(json.code, Some(2));
    assert!(json.err.contains("use -o FILE"), "{}", json.err);
}

#[test]
fn raw_bits_of_a_long_gap_are_refused_before_they_fill_the_disk() {
    let place = Place::new("phy-limit");
    for order in ["text", "lsb"] {
        let made = format!("wire gen -c 2 --gap 1s | wire phy encode --raw {order} -o a.bits");
        let ended = place.run(&made);
        let megabytes = if order == "text" { 10313 } else { 1290 };
        let told = format!(
            "packet 2: the idles before it bring the stream to {megabytes} MB, and --limit allows 1000"
        );
        assert!(
            ended.code == Some(2) && ended.err.contains(&told),
            "{ended:?}"
        );
        // What was before it is kept, and nothing of the gap.
        let kept = place
            .names()
            .into_iter()
            .find(|name| name.ends_with(".partial"))
            .unwrap();
        let bytes = place.read(&kept).len();
        assert!(
            bytes < 100_000 && !place.names().contains(&"a.bits".into()),
            "{bytes}"
        );
        std::fs::remove_file(place.path.join(kept)).unwrap();
    }
    // As many as are allowed, no less; an index keeps the number of idles.
    let two = "wire gen -c 2 --gap 10us | wire phy encode --raw text -o b.bits --limit 1 2>&1 && wire phy decode b.bits | wc -l | grep -qx 2";
    place.run(two).good();
    let more =
        place.run("wire gen -c 2 --gap 100us | wire phy encode --raw text -o b.bits --limit 1");
    assert_eq!(more.code, Some(2), "{more:?}");
    place.run("wire gen -c 2 --gap 1s | wire phy encode -o c.phy 2>&1 && test $(stat -c %s c.phy) -lt 10000").good();
}
