//! A packet keeps its date, whatever tools it goes through.

use crate::shell;
use crate::shell::{Ended, Place, has};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Captures of all kinds, made by others: micro- and nanoseconds, both byte orders, cut packets, two interfaces.
const CAPTURES: [&str; 9] = [
    "comment.pcapng",
    "cut-60.pcap",
    "micro-big-endian.pcap",
    "micro.pcap",
    "nano-big-endian.pcap",
    "nano.pcap",
    "tunnels.pcapng",
    "two-interfaces.pcapng",
    "two-sections.pcapng",
];

/// Whatever takes packets and gives them on, in as many ways as there are. What makes packets (`gen`, `craft`) or only tells of them
/// (`flows`, `profile`) is none of it.
///
/// Every pair of the first [`PLAIN`] is tried with each capture, and every pair of all with one of them; with `DATES=all` in the environment, as
/// `make fuzz` has it, every pair with each capture.
const TOOLS: [&str; 18] = [
    "wire cat --lenient",
    "wire cat --lenient --raw --line-buffered",
    "wire cat --lenient --hash --dates",
    "wire undump --lenient",
    "wire undump --lenient --raw",
    "wire dump --lenient",
    "wire cut --lenient 1-",
    "wire cat --lenient --fix-checksums",
    "wire cat --lenient --json | wire cat --from json",
    "wire cat --lenient --json --time local | wire dump --lenient",
    "wire cat --lenient --json | hexdumps | wire cat --from hex --lenient",
    "rm -f C-* && wire cat --lenient -o C-.pcapng -C 300B && wire cat --lenient C-*",
    "wire dump --lenient --shift 1s | wire dump --lenient --shift -1s",
    "wire dump --lenient --merge",
    "rm -f G-* && wire dump --lenient -o G-.pcapng -G 1h --fix-lengths && wire dump --lenient G-*",
    "wire cut --lenient time,dst,src,type,payload",
    "wire cut --lenient ip.src,ip.dst,time --command cat",
    "wire match --lenient --invert type=FFFE",
];

const PLAIN: usize = 7;

/// Objects of `--json` as text2pcap and others have packets: the date in seconds, and a line of bytes behind their offset.
const HEXDUMPS: &str = r#"hexdumps() {
    sed -E 's/.*"ps":"([0-9]+)".*"bytes":"([0-9A-F]*)".*/\1 \2/' | awk '{
        ps = sprintf("%13s", $1); gsub(" ", "0", ps)
        print substr(ps, 1, length(ps) - 12) "." substr(ps, length(ps) - 11)
        gsub("..", " &", $2); print "0000 " $2
    }'
}
"#;

fn testdata(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/captures");
    Path::new(folder).join(name).display().to_string()
}

/// The date of each packet, in ps since 1970.
fn dates(place: &Place, from: &str) -> String {
    let script = format!(
        r#"{from} | wire cat --lenient --json 2> told | sed -E 's/.*"ps":"([0-9]+)".*/\1/'"#
    );
    let dates = place.run(&script).good();
    let all_digits = |line: &str| line.bytes().all(|byte| byte.is_ascii_digit());
    assert!(
        !dates.is_empty() && dates.lines().all(all_digits),
        "{from}: {dates}"
    );
    dates
}

/// Packets of 60 bytes in a pcapng whose stamps have this unit (`if_tsresol`) and count from `offset` s.
fn capture(unit: u8, offset: i64, stamps: &[u64]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = (12 + body.len() as u32).to_le_bytes();
        [&kind.to_le_bytes(), &length[..], body, &length].concat()
    };
    let header = [0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0]
        .into_iter()
        .chain([0xFF; 8]);
    let mut file = block(0x0A0D_0D0A, &header.collect::<Vec<_>>());
    let mut interface = vec![
        1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, unit, 0, 0, 0, 14, 0, 8, 0,
    ];
    interface.extend(offset.to_le_bytes());
    interface.extend([0; 4]);
    file.extend(block(1, &interface));
    for stamp in stamps {
        let words = [0, (stamp >> 32) as u32, *stamp as u32, 60, 60];
        let mut body: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        body.extend([0x22; 60]);
        file.extend(block(6, &body));
    }
    file
}

#[test]
fn captures_of_all_kinds_keep_their_dates_through_every_pair_of_tools() {
    let place = Place::new("dates");
    // Picoseconds that are no whole nanoseconds, an hour apart and out of order; and units of 2^-12 s.
    place.write(
        "pico.pcapng",
        capture(12, 1_700_000_000, &[1, 3_600_000_000_000_007, 5]),
    );
    place.write(
        "binary.pcapng",
        capture(0x8C, -1, &[1 << 44, (1 << 44) + 1]),
    );
    let mut files: Vec<String> = CAPTURES.map(testdata).into();
    files.extend(["pico.pcapng".into(), "binary.pcapng".into()]);
    for file in &files {
        let told = dates(&place, &format!("cat {file}"));
        if file.starts_with('/') && has("tshark", "tshark reads the same") {
            // Another program reads the same, to its nine digits.
            let script = format!("tshark -r {file} -T fields -e frame.time_epoch 2>/dev/null");
            let theirs = place.run(&script).good().replace('.', "");
            let ours: String = told
                .lines()
                .map(|ps| format!("{}\n", &ps[..ps.len() - 3]))
                .collect();
            assert_eq!(ours, theirs, "{file}");
        }
    }
    let all = std::env::var_os("DATES").is_some_and(|which| which == "all");
    // A shell for each file and first tool; files go side by side.
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(number) else {
                        break;
                    };
                    pairs(file, &place, |first, second| {
                        let plain = first < PLAIN && second < PLAIN;
                        all || plain || (first + second + number).is_multiple_of(files.len())
                    });
                }
            });
        }
    });
}

/// A capture, through the pairs of tools that are wanted.
fn pairs(file: &str, captures: &Place, wanted: impl Fn(usize, usize) -> bool) {
    let place = Place::new("dates-pairs");
    let file = captures.path.join(file).display().to_string();
    let want = dates(&place, &format!("cat {file}"));
    let want: Vec<&str> = want.lines().collect();
    for (number, first) in TOOLS.iter().enumerate() {
        let mut script = HEXDUMPS.to_owned();
        script += &format!("({first}) < {file} > made 2> told || exit\n");
        let seconds = || (0..TOOLS.len()).filter(|&second| wanted(number, second));
        for second in seconds() {
            let tool = TOOLS[second];
            script += &format!("({tool}) < made > second-{second} 2> told\n");
        }
        place.run(&script).good();
        // All are read by one command, which is spared its start for each of them.
        let made: Vec<String> = seconds().map(|second| format!("second-{second}")).collect();
        let all = dates(
            &place,
            &format!("wire cat --lenient {} 2> told", made.join(" ")),
        );
        let all: Vec<&str> = all.lines().collect();
        let mut parts = all.chunks(want.len());
        let moved: Vec<&str> = seconds()
            .filter(|_| parts.next() != Some(&want[..]))
            .map(|second| TOOLS[second])
            .collect();
        assert!(moved.is_empty(), "{file}: {first} | {moved:#?}");
    }
}

#[test]
fn the_shell_between_two_tools_loses_no_date() {
    let place = Place::new("dates-shell");
    let (early, late) = (testdata("nano.pcap"), testdata("micro.pcap"));
    let both = |script: &str| {
        dates(&place, script)
            .lines()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let apart = [both(&format!("cat {early}")), both(&format!("cat {late}"))].concat();
    // Two files are one after the other, each packet at its own time.
    assert_eq!(both(&format!("wire dump {early} {late}")), apart);
    let mut sorted = apart.clone();
    sorted.sort();
    let script = format!("wire cat {late} {early} | sort | sed 's/ 0800 / 0800 /' | wire dump");
    assert_eq!(both(&script), sorted);
    let script = format!(
        "wire cat {early} --filter 'ip or arp or ip6' | wire dump -o d.pcapng; cat d.pcapng"
    );
    assert!(both(&script).iter().all(|date| apart.contains(date)));
}

#[test]
fn a_capture_of_words_gives_them_back_where_they_are_asked_for() {
    let place = Place::new("words");
    place.write(
        "pico.pcapng",
        capture(12, 1_700_000_000, &[1, 3_600_000_000_000_007]),
    );
    let words = place
        .run("wire undump --words pico.pcapng | cut -c1-16")
        .good();
    assert_eq!(words, format!("{:016X}\n{:016X}\n", 0, 450_000_000_000u64));
    let refused = |script: &str, why: &str| {
        let Ended { code, err, .. } = place.run(script);
        assert_eq!(code, Some(2), "{script}: {err}");
        assert!(err.contains(why), "{script}: {err}");
    };
    refused(
        "wire undump --words --epoch 1800000000000000000 pico.pcapng",
        "before the zero",
    );
    refused("wire undump --epoch 0 pico.pcapng", "--words");
    refused(
        "wire undump --words --epoch 0 --tick 1ps pico.pcapng",
        "2^56 ticks",
    );
}

#[test]
fn words_become_dates_by_the_epoch_where_that_is_asked_for() {
    let place = Place::new("dates-asked");
    place.write("t.lines", shell::lines(5));
    // The epoch that a capture of them names is taken at another moment; the clocks do not run apart by more.
    let script = "diff <(wire cat --dates t.lines | cut -c1-12) <(wire dump t.lines | wire cat | cut -c1-12)";
    place.run(script).good();
    let gap = "wire cat --dates t.lines | wire cat --json --time delta | tail -1 | grep -o '\"time\":[0-9.]*'";
    assert_eq!(place.run(gap).good(), "\"time\":0.000001000\n");
    let dated = testdata("nano.pcap");
    place
        .run(&format!(
            "cmp <(wire cat --dates {dated}) <(wire cat {dated})"
        ))
        .good();
}

#[test]
fn what_a_form_of_time_cannot_hold_is_an_error_or_told() {
    let place = Place::new("dates-bounds");
    place.write("pico.pcapng", capture(12, 1_700_000_000, &[1_001]));
    place.write("femto.pcapng", capture(15, 0, &[1_000, 1_001]));
    place.write("before.pcapng", capture(9, -5, &[1, 6_000_000_000]));
    place.write("late.pcapng", capture(0, 0, &[1 << 33]));
    place.write("far.pcapng", capture(0, 0, &[1 << 62]));
    for (script, code, why) in [
        ("wire dump --pcap pico.pcapng", 2, "leave out --pcap"),
        (
            "wire dump --pcap --lenient pico.pcapng",
            0,
            "1 packets have stamps between two nanoseconds",
        ),
        ("wire dump --pcap --lenient late.pcapng", 2, "behind 2106"),
        (
            "wire cat femto.pcapng",
            1,
            "1 packets have stamps finer than a picosecond",
        ),
        ("wire cat before.pcapng", 1, "before 1970"),
        ("wire cat far.pcapng", 1, "after the year 40,000"),
        (
            "wire cat --text --time boot before.pcapng",
            2,
            "before this machine started",
        ),
    ] {
        let ended = place.run(&format!("{script} > out"));
        assert_eq!(ended.code, Some(code), "{script}: {}", ended.err);
        assert!(ended.err.contains(why), "{script}: {}", ended.err);
    }
}

#[test]
fn times_for_people_are_what_was_asked_for() {
    let place = Place::new("dates-forms");
    let at = [59_649_091, 1_059_649_092];
    place.write("n.pcapng", capture(9, 1_262_728_730, &at));
    for (form, times) in [
        (
            "--text",
            [
                "2010-01-05T21:58:50.059649091Z",
                "2010-01-05T21:58:51.059649092Z",
            ],
        ),
        (
            "--time utc",
            [
                "2010-01-05T21:58:50.059649091Z",
                "2010-01-05T21:58:51.059649092Z",
            ],
        ),
        (
            "--time local",
            [
                "2010-01-06T06:58:50.059649091+09:00",
                "2010-01-06T06:58:51.059649092+09:00",
            ],
        ),
        ("--time relative", ["0.000000000", "1.000000001"]),
        ("--time delta", ["0.000000000", "1.000000001"]),
    ] {
        let told = place
            .run(&format!(
                "TZ=Asia/Tokyo wire cat {form} n.pcapng | cut -d' ' -f1"
            ))
            .good();
        assert_eq!(
            told,
            times.map(|time| format!("{time}\n")).concat(),
            "{form}"
        );
        let json = if form == "--text" { "" } else { form };
        let time = |time: &str| match time.contains('T') {
            true => format!("\"{time}\""),
            false => time.to_string(),
        };
        let told = place
            .run(&format!("TZ=Asia/Tokyo wire cat --json {json} n.pcapng"))
            .good();
        for (line, time) in told.lines().zip(times.map(time)) {
            assert!(line.contains(&format!(r#""time":{time},"#)), "{line}");
        }
    }
}

#[test]
fn a_packet_without_a_time_gets_none_of_this_machine_and_is_reported() {
    let place = Place::new("dates-none");
    // A section, an interface of Ethernet, and a Simple Packet Block of 14 bytes.
    let mut bytes = vec![
        0x0A, 0x0D, 0x0D, 0x0A, 28, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0,
    ];
    bytes.extend([0xFF; 8].iter().chain(&[28, 0, 0, 0]));
    bytes.extend([1, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0]);
    bytes.extend([3, 0, 0, 0, 32, 0, 0, 0, 14, 0, 0, 0]);
    bytes.extend([
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xB5, 0, 0, 32, 0, 0, 0,
    ]);
    place.write("simple.pcapng", bytes);
    place.run("wire dump simple.pcapng -o copy.pcapng").good();
    let dumped = place.run("wire dump --pcap simple.pcapng -o out.pcapng");
    assert_eq!(dumped.code, Some(1), "{}", dumped.err);
    assert!(
        dumped.err.contains("1 packets have no time"),
        "{}",
        dumped.err
    );
    let dated = place.run("wire cat out.pcapng").good();
    assert!(
        dated.starts_with("00000000000000000000 020000000002 "),
        "{dated}"
    );
    for file in ["simple.pcapng", "copy.pcapng"] {
        let cat = place.run(&format!("wire cat {file}"));
        assert_eq!(cat.code, Some(1));
        assert!(cat.err.contains("word 0"), "{}", cat.err);
    }
}

#[test]
fn cut_writes_times_for_people_as_cat_does() {
    let place = Place::new("dates-cut");
    let file = testdata("nano.pcap");
    for form in ["utc", "local", "relative", "delta"] {
        let cut = place
            .run(&format!("wire cut time --time {form} {file}"))
            .good();
        let cat = place
            .run(&format!(
                "wire cat --text --time {form} {file} | cut -d' ' -f1"
            ))
            .good();
        assert_eq!(cut, cat, "{form}");
    }
    for (wrong, said) in [
        ("ip.src --time utc", "not among the fields"),
        ("1,2 --time utc", "needs named fields"),
        ("time --time boot", "before this machine started"),
    ] {
        let output = place.run(&format!("wire cut {wrong} {file}"));
        assert_eq!(output.code, Some(2), "{wrong}");
        assert!(output.err.contains(said), "{wrong}: {}", output.err);
    }
    // A bare number behind the plus is seconds, as everywhere.
    let bare = place.run(&format!("wire cat --since +1 {file}")).good();
    let unit = place.run(&format!("wire cat --since +1s {file}")).good();
    assert!(!bare.is_empty() && bare == unit);
}
