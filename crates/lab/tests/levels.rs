//! Links at the level of blocks in a lab.

use lab::instruments::offsets::Offsets;
use lab::{Options, World};

fn lab(link: &str) -> lab::Lab {
    let text = format!(
        "\
[default.link]
level = 'block'
clocks = [100, -100]
[node.a]
kind = 'generator'
size = 64
rate = '10 Gb/s'
count = 100_000
[node.b]
kind = 'echo'
[[link]]
ends = ['a.0', 'b.0']
{link}
"
    );
    lab::parse(&text).expect("a good lab")
}

fn dry() -> Options {
    Options {
        dry: true,
        ..Options::default()
    }
}

#[test]
fn a_link_has_the_clocks_of_its_ends_in_both_directions() {
    let lab = lab("clocks = [{ppm = 100, drift = 0.5}, {temperature = [['0 s', 20]], ppm = -100}]");
    let report = lab::run(&lab, World::Sim, &dry()).unwrap();
    let [forth, back] = report.outcome.links[0].map(|counters| counters.line.unwrap());
    assert!(
        forth.idles_removed > 0 && forth.idles_inserted == 0,
        "{forth:?}"
    );
    assert!(
        back.idles_inserted > 0 && back.idles_removed == 0,
        "{back:?}"
    );
}

#[test]
fn the_report_tells_what_happened_below_the_frames() {
    let report = lab::run(&lab("bit_error = 1e-6"), World::Sim, &dry()).unwrap();
    let [forth, back] = report.outcome.links[0].map(|counters| counters.line.unwrap());
    let text = report.to_string();
    let table: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.starts_with("line "))
        .take(3)
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(
        table[0][..4],
        ["line", "idles inserted", "idles removed", "wrong bits"]
    );
    assert_eq!(table[1][..2], ["a.0 -> b.0", "0"]);
    assert_eq!(table[2][0], "b.0 -> a.0");
    let json: Vec<serde_json::Value> = report
        .json()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &serde_json::Value| line["type"] == "link")
        .collect();
    for (line, counters) in json.iter().zip([forth, back]) {
        assert_eq!(line["line"]["wrong_bits"], counters.wrong_bits);
        assert_eq!(line["line"]["idles_removed"], counters.idles_removed);
        assert_eq!(line["line"]["bad_blocks"], counters.bad_blocks);
    }
    assert!(forth.wrong_bits > 0 && forth.bad_blocks > 0, "{forth:?}");
}

#[test]
fn frame_level_links_tell_nothing_of_it() {
    let report = lab::run(&lab("level = 'frame'"), World::Sim, &dry()).unwrap();
    assert_eq!(
        report.outcome.links[0].map(|counters| counters.line),
        [None, None]
    );
    assert!(!report.to_string().contains("idles"));
    assert!(!report.json().contains("idles"));
}

#[test]
fn the_live_world_refuses_a_link_at_the_level_of_blocks() {
    let error = lab::run(&lab(""), World::Live, &dry())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("the link of `a.0` and `b.0` is at the level of blocks"),
        "{error}"
    );
}

#[test]
fn a_capture_of_bits_has_every_frame_at_its_time() {
    use phy::{Block, Decoder, Item, Stamp, Verdict, file};
    let folder = std::env::temp_dir().join(format!("wireline-lab-bits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = "\
[node.a]
kind = 'generator'
size = 64
gap = '1600 ns'
count = 200
[node.b]
kind = 'sink'
[[link]]
ends = ['a.0', 'b.0']
level = 'block'
delay = '50 ns'
[[capture]]
at = 'b.0'
file = 'line.phy'
";
    let options = Options {
        out: Some(folder.clone()),
        ..Options::default()
    };
    let report = lab::run(&lab::parse(text).unwrap(), World::Sim, &options).unwrap();
    assert_eq!(report.files, [folder.join("line.phy")]);
    let bytes = std::fs::read(folder.join("line.phy")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();

    let (mut reader, mut rest, mut header) = (file::Reader::default(), &bytes[..], None);
    let (mut decoder, mut place, mut times) = (Decoder::default(), 0, Vec::new());
    let mut each = |item: Item<'_>| {
        if let Item::Frame(frame) = item {
            assert_eq!(frame.verdict, Verdict::Good);
            times.push(frame.stamp.0);
        }
    };
    loop {
        let step = reader.next(rest, true).unwrap();
        match &step {
            file::Step::Header { header: read, .. } => header = Some(*read),
            file::Step::Segment { segment, .. } => {
                for run in segment.runs() {
                    match run {
                        file::Run::Idles(blocks) => {
                            decoder.block(Stamp::of_block(place), Some(Block::IDLE), &mut each);
                            place += blocks;
                        }
                        file::Run::Blocks(blocks) => {
                            for (header, payload) in blocks.iter() {
                                let block = Block::new(header, payload);
                                decoder.block(Stamp::of_block(place), block, &mut each);
                                place += 1;
                            }
                        }
                    }
                }
            }
            _ => {}
        }
        let Some(used) = step.used() else { break };
        rest = &rest[used..];
    }
    let header = header.unwrap();
    assert_eq!(times.len(), 200);
    assert_eq!(place, report.outcome.ended.as_ps() / 6_400);
    let first = header.ps(times[0]);
    for (n, &bit) in (0..).zip(&times) {
        assert_eq!(header.ps(bit), first + 1_600_000 * n);
    }
    assert_eq!(first % 3_200, 50_000 % 3_200);
}

#[test]
fn only_one_place_of_a_link_at_the_level_of_blocks_has_a_bit_stream() {
    let with = |keys: &str| {
        let text = format!(
            "[node.a]\nkind = 'generator'\n[node.b]\nkind = 'sink'\n\
             [[link]]\nends = ['a.0', 'b.0']\n{keys}\nfile = 'x.phy'\n"
        );
        lab::parse(&text).unwrap_err().list[0].message.clone()
    };
    let frame = with("[[capture]]\nat = 'b.0'");
    assert_eq!(frame, "only a link at the level of blocks has a bit stream");
    let two = with("level = 'block'\n[[capture]]\nat = ['a.0', 'b.0']");
    assert_eq!(two, "a bit stream is of one port, in one direction");
}

/// Two nodes with DTP, and what the link says.
fn clocks(first: &str, link: &str, rest: &str) -> Result<lab::Lab, lab::Faults> {
    lab::parse(&format!(
        "\
[lab]
duration = '5 ms'
[node.a]
kind = 'sink'
{first}
[node.b]
kind = 'sink'
oscillator = -100
dtp = {{ alpha = 3 }}
[[link]]
ends = ['a.0', 'b.0']
delay = '280 ns'
{link}
{rest}
"
    ))
}

#[test]
fn clocks_of_nodes_with_dtp_are_compared_in_the_report() {
    let lab = clocks(
        "oscillator = 100\ndtp = {}",
        "level = 'block'",
        "[offsets]\nevery = '300 ns'",
    );
    let report = lab::run(&lab.unwrap(), World::Sim, &dry()).unwrap();
    let offsets = report.section::<Offsets>().unwrap();
    let [pair] = &offsets.pairs[..] else {
        panic!("one pair of nodes");
    };
    assert_eq!((pair.hops, pair.looks()), (Some(1), 16_333));
    assert!((1..=5).contains(&pair.greatest()), "{:?}", pair.offsets);
    assert!(pair.range().unwrap()[0] >= -1, "a is the fast one");
    assert!(report.to_string().contains("\na to b "));
    // Both go as fast as the fast one.
    for counter in &offsets.nodes {
        assert!((counter.rate.unwrap() - 100.0).abs() < 8.0, "{counter:?}");
    }
    let json = report.json();
    assert!(
        json.lines()
            .any(|line| line.contains("\"type\":\"offset\""))
    );
    assert!(json.contains("\"dtp_beacons_heard\""));
}

#[test]
fn without_dtp_there_is_nothing_to_compare() {
    let text = "[lab]\nduration = '1 ms'\n[node.a]\nkind = 'sink'\n[node.b]\nkind = 'sink'\n[[link]]\nends = ['a.0', 'b.0']\nlevel = 'block'\n";
    let report = lab::run(&lab::parse(text).unwrap(), World::Sim, &dry()).unwrap();
    assert!(report.section::<Offsets>().is_none() && !report.to_string().contains("clocks of"));
    let faults = lab::parse(&format!("{text}[offsets]\n")).unwrap_err();
    assert!(faults.to_string().contains("no node has a clock"));
}

#[test]
fn what_dtp_cannot_do_is_refused_with_a_way_out() {
    for (first, link, said) in [
        ("dtp = {}", "", "on links at the level of blocks"),
        ("dtp = { alpha = 9 }", "level = 'block'", "0 to 8 ticks"),
        (
            "dtp = { beacon = 1 }",
            "level = 'block'",
            "2 to 1000000 ticks",
        ),
        ("dtp = { beta = 1 }", "level = 'block'", "beta"),
        (
            "dtp = { rule = 'gradient', beacon = 2001 }",
            "level = 'block'",
            "2 to 2000 ticks",
        ),
        ("dtp = { rule = 'median' }", "level = 'block'", "gradient"),
        ("dtp = { fault = {} }", "level = 'block'", "say `ppm`"),
        ("oscillator = 101", "level = 'block'", "at most 100 ppm"),
        (
            "oscillator = { within = 101 }",
            "level = 'block'",
            "0 to 100 ppm",
        ),
        (
            "oscillator = 5",
            "level = 'block'\nclocks = [7, 0]",
            "another clock",
        ),
        ("", "fifo = 0.5", "only a link at the level of blocks"),
        ("", "level = 'block'\nfifo = 2", "0 to 1"),
    ] {
        let faults = clocks(first, link, "").unwrap_err().to_string();
        assert!(faults.contains(said), "{first} {link}: {faults}");
    }
}
