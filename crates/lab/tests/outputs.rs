//! What a run writes, and what becomes of it when that does not work.

use lab::{Options, World};
use std::path::{Path, PathBuf};

const PAIR: &str = "\
[node.a]
kind = 'generator'
gap = '1 us'
count = 20_000
[node.b]
kind = 'sink'
[[link]]
ends = ['a.0', 'b.0']
[[plot]]
at = 'b.0'
file = 'pictures/b.svg'
[[capture]]
at = 'b.0'
direction = 'both'
file = 'b.pcap'
";

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn run(text: &str, out: &Path) -> lab::Report {
    try_run(text, out, false).unwrap()
}

fn try_run(text: &str, out: &Path, allow_paths: bool) -> Result<lab::Report, lab::LabError> {
    let lab = lab::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
    let options = Options {
        out: Some(out.to_path_buf()),
        allow_paths,
        ..Options::default()
    };
    lab::run(&lab, World::Sim, &options)
}

#[test]
fn folders_are_made_and_files_have_their_formats() {
    let out = scratch("formats");
    let report = run(PAIR, &out);
    assert_eq!(report.failures, Vec::<String>::new());
    let picture = std::fs::read_to_string(out.join("pictures/b.svg")).unwrap();
    assert!(picture.starts_with("<svg"));
    let capture = std::fs::read(out.join("b.pcap")).unwrap();
    // pcap with nanoseconds: 24 bytes, and 16 before each frame.
    assert_eq!(capture[..4], 0xA1B2_3C4Du32.to_le_bytes());
    assert_eq!(capture.len(), 24 + 20_000 * (16 + 60));
}

#[test]
fn a_full_disk_is_told_and_the_report_is_there_all_the_same() {
    let out = scratch("full");
    std::os::unix::fs::symlink("/dev/full", out.join("b.pcap")).unwrap();
    let report = try_run(PAIR, &out, true).unwrap();
    assert_eq!(report.failures.len(), 1);
    assert!(
        report.failures[0].contains("b.pcap after 0 bytes: No space left"),
        "{}",
        report.failures[0]
    );
    assert_eq!(report.rows[0].statistics.packets(), 20_000);
    assert!(out.join("pictures/b.svg").exists());
}

#[test]
fn a_replay_keeps_the_times_of_its_capture() {
    let out = scratch("replay");
    run(PAIR, &out);
    let text = "\
[node.a]
kind = 'generator'
replay = 'b.pcap'
speed = 0.5
[node.b]
kind = 'sink'
[[link]]
ends = ['a.0', 'b.0']
";
    let file = out.join("lab.toml");
    std::fs::write(&file, text).unwrap();
    let lab = lab::read(&file).unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        folder: out.clone(),
        ..Options::default()
    };
    let report = lab::run(&lab, World::Sim, &options).unwrap();
    let gaps = report.rows[0].statistics.gaps();
    assert_eq!((gaps.count, gaps.mean), (19_999, 2_000_000.0));
    // A file that is not there is a fault of the lab file, at its place.
    std::fs::remove_file(out.join("b.pcap")).unwrap();
    let error = lab::read(&file).err().unwrap().to_string();
    assert!(error.contains("lab.toml:3:10"), "{error}");
}

#[test]
fn frames_shorter_than_an_ethernet_header_are_replayed() {
    let out = scratch("short");
    let (mut capture, mut writer) = (Vec::new(), packet::capture::PcapngWriter::default());
    writer.header("test", &mut capture);
    let ethernet = writer.interface(&packet::capture::Interface::default(), &mut capture);
    let lengths = [60, 4, 13, 0, 64];
    for (at, length) in lengths.into_iter().enumerate() {
        writer.packet(
            ethernet,
            at as u128 * 1_000_000,
            &vec![7; length],
            &mut capture,
        );
    }
    std::fs::write(out.join("in.pcapng"), capture).unwrap();
    let text = "\
[node.a]
kind = 'generator'
replay = 'in.pcapng'
[node.b]
kind = 'sink'
[[link]]
ends = ['a.0', 'b.0']
[[capture]]
at = 'b.0'
file = 'out.pcapng'
";
    std::fs::write(out.join("lab.toml"), text).unwrap();
    let lab = lab::read(&out.join("lab.toml")).unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        folder: out.clone(),
        ..Options::default()
    };
    let report = lab::run(&lab, World::Sim, &options).unwrap();
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(report.rows[0].statistics.packets(), 5);
    // Links carry 60 bytes at least, as Ethernet does; what is filled up is zero.
    let mut captured = ::capture::file::Source::open(out.join("out.pcapng")).unwrap();
    for length in lengths {
        let ::capture::file::Next::Item(item) = captured.next().unwrap() else {
            panic!("there are five packets");
        };
        let mut whole = vec![7; length];
        whole.resize(length.max(60), 0);
        assert_eq!(item.bytes, whole);
    }
}

#[test]
fn json_lines_have_a_schema_and_a_type() {
    let report = run(PAIR, &scratch("json"));
    for line in report.json().lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["schema"], "wireline.lab/1");
        assert!(object["type"].is_string());
    }
}

#[test]
fn a_large_lab_that_does_not_say_where_to_measure_is_told_that_nothing_was() {
    let star = |hosts: usize, more: &str| {
        let text = format!(
            "node.s = {{ kind = 'switch', ports = {hosts} }}\n\
             [node.'h{{n}}']\neach = {hosts}\nkind = 'generator'\ncount = 10\ngap = '1 us'\n\
             [[link]]\neach = {hosts}\nends = ['h{{n}}.0', 's.{{n}}']\n{more}"
        );
        run(&text, &scratch("measures"))
    };
    let told = |report: &lab::Report| report.to_string().contains("nothing was measured");
    let small = star(8, "");
    assert!(!told(&small) && small.rows.len() == 16);
    let large = star(9, "");
    assert!(told(&large) && large.rows.is_empty(), "{large}");
    assert!(large.json().contains("nothing was measured"));
    // What is advised works.
    let advice = large.notes[0].split("[[measure]] with ").nth(1).unwrap();
    let advised = star(9, &format!("[[measure]]\n{advice}\n"));
    assert!(!told(&advised) && advised.rows.len() == 1, "{advised}");
}

#[test]
fn a_stopped_run_reports_what_it_has() {
    let lab = lab::parse(&PAIR.replace("count = 20_000", "")).unwrap();
    let options = Options {
        dry: true,
        stop: Some(|| true),
        ..Options::default()
    };
    let report = lab::run(&lab, World::Sim, &options).unwrap();
    assert_eq!(report.outcome.finish, node::outcome::Finish::Stopped);
}

#[test]
fn each_kind_of_plot_shows_what_it_says() {
    let out = scratch("kinds");
    let plots: String = [
        "arrivals",
        "cdf",
        "histogram",
        "delay",
        "throughput",
        "queue",
    ]
    .map(|kind| format!("[[plot]]\nat = ['d.0', 'b.0']\nkind = '{kind}'\nfile = '{kind}.svg'\n"))
    .concat();
    let text = format!(
        "[node.a]\nkind = 'generator'\ncount = 500\ngap = '10 us'\n[node.d]\nkind = 'delay'\ndelay = '1 ms'\n\
         [node.b]\nkind = 'sink'\n[[link]]\nends = ['a.0', 'd.0']\n\
         [[link]]\nends = ['d.1', 'b.0']\nreorder = 0.1\nreorder_by = '35 us'\n{plots}"
    );
    let report = run(&text, &out);
    for (kind, texts) in [
        ("arrivals", ["time [ms]", "inter-packet delay"]),
        ("cdf", ["share of frames", "inter-packet delay"]),
        ("histogram", ["frames", "inter-packet delay"]),
        ("delay", ["share of frames", "delay [ms]"]),
        ("throughput", ["throughput [Mb/s]", "time [ms]"]),
    ] {
        let svg = std::fs::read_to_string(out.join(format!("{kind}.svg"))).unwrap();
        for text in texts.into_iter().chain(["d.0", "b.0"]) {
            assert!(svg.contains(text), "{kind}: {text}");
        }
    }
    // One value is a step with a mark, also beside others.
    let svg = std::fs::read_to_string(out.join("cdf.svg")).unwrap();
    assert!(svg.contains("<polygon"));
    let delays = report.json();
    let at_b = delays
        .lines()
        .find(|line| line.contains("\"at\":\"b.0\""))
        .unwrap();
    // To the next of 4096 steps above 1 ms.
    assert!(at_b.contains("\"p50_ps\":10000"), "{at_b}");
    let table = report.percentiles().to_string();
    assert!(
        table.contains("1.035 ms") && table.contains("p99.9"),
        "{table}"
    );
}

#[test]
fn a_transfer_shows_its_throughput_the_queue_before_it_and_its_congestion_window() {
    let out = scratch("transfer");
    let text = |plots: &str| {
        format!(
            "[lab]\nduration = '500 ms'\n[node.a]\nkind = 'host'\naddress = '10.0.0.1/24'\n\
             [[node.a.program]]\nrun = 'bulk'\nto = '10.0.0.2'\n\
             [node.b]\nkind = 'host'\naddress = '10.0.0.2/24'\n[[node.b.program]]\nrun = 'sink'\n\
             [[link]]\nends = ['a.0', 'b.0']\nrate = '20 Mb/s'\ndelay = '5 ms'\nqueue = '50 packets'\n{plots}"
        )
    };
    let all = "[[plot]]\nat = ['a.0', 'b.0']\nfile = 'all.svg'\n\
               [[plot]]\nat = 'b.0'\nkind = ['queue', 'throughput']\nfile = 'two.svg'\n\
               [[plot]]\nat = 'a.0'\nkind = 'rtt'\nfile = 'rtt.svg'\n";
    let report = run(&text(all), &out);
    assert_eq!(report.empty, Vec::<String>::new());
    let svg = std::fs::read_to_string(out.join("all.svg")).unwrap();
    let axes = [
        "throughput [Mb/s]",
        "queue of the link [packets]",
        "congestion window [kB]",
        "a to 10.0.0.2:5001",
    ];
    for text in axes {
        assert!(svg.contains(text), "{text}");
    }
    // No probe tells of a delay, and nobody asked for it by its name.
    assert!(!svg.contains("delay ["), "{svg}");
    let flow = report.outcome.nodes[0].flows.first().unwrap();
    let most = flow.windows.iter().map(|(_, bytes)| *bytes).max().unwrap();
    let last = flow.windows.last().unwrap().1;
    assert!(most > 50 * 1_460 && last < most, "{:?}", flow.windows);
    let svg = std::fs::read_to_string(out.join("rtt.svg")).unwrap();
    assert!(svg.contains("round trip [ms]") && svg.contains("a to 10.0.0.2:5001"));
    // Each point is a sample of the connection's statistics.
    let trips = &flow.round_trips;
    assert!(trips.len() > 100 && trips.len() as u64 <= flow.round_trip.count);
    assert!(trips.is_sorted_by_key(|(at, _)| *at));
    let (least, most) = (flow.round_trip.min, flow.round_trip.max);
    assert!(trips.iter().all(|(_, time)| (least..=most).contains(time)));
    let svg = std::fs::read_to_string(out.join("two.svg")).unwrap();
    assert!(!svg.contains("congestion window"), "{svg}");
    // Who asks for what is not there is told.
    let wanted = "[[plot]]\nat = 'b.0'\nkind = 'delay'\nfile = 'delay.svg'\n";
    let report = run(&text(wanted), &out);
    assert!(
        report.empty[0].contains("no frame there tells when it left"),
        "{:?}",
        report.empty
    );
    assert!(!out.join("delay.svg").exists());
}

#[test]
fn a_kind_of_plot_that_there_is_not_is_refused() {
    let text = "[node.a]\nkind = 'sink'\n[node.b]\nkind = 'sink'\n[[link]]\nends = ['a.0', 'b.0']\n\
                [[plot]]\nat = 'a.0'\nkind = 'pie'\nfile = 'a.svg'\n";
    let faults = lab::parse(text).unwrap_err().to_string();
    assert!(
        faults.contains("arrivals") && faults.contains("histogram"),
        "{faults}"
    );
}

#[test]
fn a_lab_file_writes_nowhere_but_in_its_folder_unless_it_may() {
    let place = scratch("outside");
    let out = place.join("out");
    std::fs::create_dir_all(&out).unwrap();
    std::os::unix::fs::symlink("..", out.join("up")).unwrap();
    let absolute = place.join("b.pcap");
    for name in ["../b.pcap", "up/b.pcap", absolute.to_str().unwrap()] {
        let text = PAIR.replace("'b.pcap'", &format!("'{name}'"));
        let error = try_run(&text, &out, false).unwrap_err().to_string();
        assert!(
            error.contains(name) && error.contains("--allow-paths"),
            "{error}"
        );
        // Not even the plot, which would have been in its place.
        assert!(
            !absolute.exists() && !out.join("pictures").exists(),
            "{name}"
        );
        let report = try_run(&text, &out, true).unwrap();
        assert_eq!(report.failures, Vec::<String>::new());
        assert_eq!(
            std::fs::metadata(&absolute).unwrap().len(),
            24 + 20_000 * 76
        );
        std::fs::remove_file(&absolute).unwrap();
        std::fs::remove_dir_all(out.join("pictures")).unwrap();
    }
}

#[test]
fn a_run_that_fails_leaves_the_captures_of_the_one_before() {
    let out = scratch("failing");
    run(PAIR, &out);
    let before = std::fs::read(out.join("b.pcap")).unwrap();
    // It replays what it would write.
    let text = PAIR.replace("gap = '1 us'\ncount = 20_000", "replay = 'b.pcap'");
    let lab = lab::parse(&text).unwrap();
    let options = Options {
        folder: out.clone(),
        ..Options::default()
    };
    let error = lab::run(&lab, World::Sim, &options)
        .unwrap_err()
        .to_string();
    assert!(error.contains("is read by this lab too"), "{error}");
    assert!(std::fs::read(out.join("b.pcap")).unwrap() == before);
    let names = std::fs::read_dir(&out).unwrap().count();
    assert_eq!(names, 2, "b.pcap and pictures");
}
