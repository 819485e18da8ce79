//! Links at the level of blocks in a lab.

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
