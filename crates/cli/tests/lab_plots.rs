//! `wire lab --plot KIND=FILE`: curves in the files are those of the report.

use crate::shell::Place;
use serde_json::Value;

/// A second of pings alone, then a transfer that fills the queue of 20 packets, loses some and ends.
const LAB: &str = "\
[lab]
duration = '4 s'
[[link]]
ends = ['a.0', 'b.0']
rate = '2 Mb/s'
delay = '5 ms'
forth = { queue = { kind = 'fifo', limit = 20 } }
[node.a]
kind = 'host'
address = '10.0.0.1/24'
[[node.a.program]]
run = 'ping'
to = '10.0.0.2'
interval = '200 ms'
count = 12
[[node.a.program]]
run = 'bulk'
to = '10.0.0.2'
start = '1 s'
bytes = '200000'
count = 1
[node.b]
kind = 'host'
address = '10.0.0.2/24'
program = [{ run = 'sink' }]
[queues]
every = '10 ms'
";

/// A picture with one panel, in the units of its axes.
struct Picture {
    y_name: String,
    series: Vec<Vec<(f64, f64)>>,
}

/// The value of an attribute.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0)
}

fn number(element: &str, name: &str) -> f64 {
    attribute(element, name).unwrap().parse().unwrap()
}

/// Units per pixel, from the two outermost marks of an axis.
fn scale(marks: &[(f64, f64)]) -> impl Fn(f64) -> f64 + use<> {
    let ((p0, v0), (p1, v1)) = (marks[0], *marks.last().unwrap());
    move |pixel| v0 + (pixel - p0) * (v1 - v0) / (p1 - p0)
}

impl Picture {
    /// Reads the axes from their numbers and titles, and the curves from their lines.
    fn read(svg: &str) -> Picture {
        let texts = svg.split("<text").skip(1).map(|text| {
            let (element, rest) = text.split_once('>').unwrap();
            (element, rest.split_once('<').unwrap().0)
        });
        let (mut x, mut y, mut y_name) = (Vec::new(), Vec::new(), String::new());
        for (element, text) in texts {
            match (attribute(element, "font-size"), text.parse()) {
                (Some("12"), Ok(value)) if element.contains("\"middle\"") => {
                    x.push((number(element, "x"), value));
                }
                // The text is a little below the middle of its mark.
                (Some("12"), Ok(value)) => y.push((number(element, "y") - 4.32, value)),
                _ if element.contains("rotate") => y_name = text.into(),
                _ => {}
            }
        }
        let (x, y) = (scale(&x), scale(&y));
        let groups = svg.split("<g ").skip(1);
        let curves = groups.filter(|group| group.contains("stroke-width=\"1.6\""));
        let series = curves.filter_map(|group| {
            let points = attribute(group.split_once("<polyline").unwrap().1, "points").unwrap();
            let points: Vec<(f64, f64)> = points
                .split(' ')
                .map(|point| point.split_once(',').unwrap())
                .map(|(px, py)| (x(px.parse().unwrap()), y(py.parse().unwrap())))
                .collect();
            // A sample in the legend is a level stroke above the panel.
            let is_sample = points.len() == 2 && points[0].1 > 1.02 * y(70.5);
            (!is_sample).then_some(points)
        });
        Picture {
            y_name,
            series: series.collect(),
        }
    }
}

/// Runs the lab with a plot of each kind; the pictures in order, and the lines of the report.
fn drawn<const N: usize>(name: &str, kinds: [&str; N], more: &str) -> ([Picture; N], Vec<Value>) {
    let place = Place::new(name);
    place.write("lab.toml", LAB);
    let plots = kinds.map(|kind| format!("--plot {kind}=out/{kind}.svg"));
    let command = format!("wire lab lab.toml --json {} {more}", plots.join(" "));
    let report = place.run(&command).good();
    let lines: Vec<Value> = report
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let files = lines.iter().filter(|line| line["type"] == "file");
    let files: Vec<&str> = files.map(|line| line["path"].as_str().unwrap()).collect();
    assert_eq!(files, kinds.map(|kind| format!("out/{kind}.svg")));
    let pictures = kinds.map(|kind| {
        let svg = place.read(&format!("out/{kind}.svg"));
        Picture::read(&String::from_utf8(svg).unwrap())
    });
    (pictures, lines)
}

fn line<'a>(lines: &'a [Value], kind: &str, of: impl Fn(&Value) -> bool) -> &'a Value {
    let mut found = lines.iter().filter(|line| line["type"] == kind);
    found.find(|line| of(line)).unwrap()
}

/// Within a share of `wanted`.
fn is_near(got: f64, wanted: f64, share: f64) -> bool {
    (got - wanted).abs() <= share * wanted
}

#[test]
fn round_trips_are_drawn_one_by_one() {
    let ([picture], lines) = drawn("lab-plot-rtt", ["rtt"], "");
    assert_eq!(picture.y_name, "round trip [ms]");
    assert_eq!(picture.series.len(), 2);
    for (points, program) in picture.series.iter().zip(["ping", "bulk"]) {
        let told = &line(&lines, "flow", |line| line["program"] == program)["round_trip"];
        let trips = || points.iter().map(|(_, trip)| *trip);
        let keys = ["count", "mean_ps", "min_ps", "max_ps"];
        let [count, mean, min, max] = keys.map(|key| told[key].as_f64().unwrap());
        if program == "bulk" {
            // Axis marks are at whole pixels: the greatest value gives a more exact scale.
            let scale = max / trips().fold(0.0, f64::max);
            let rest = count * mean - trips().sum::<f64>() * scale;
            assert_eq!(points.len() as f64, count);
            assert!(rest.abs() < 1e9, "{rest} ps");
            assert!((scale / 1e9 - 1.0).abs() < 0.005, "{scale}");
            // The first is the handshake's, before there is a queue.
            assert!((points[0].1 * scale - min).abs() < 3e8, "{points:?}");
            continue;
        }
        assert_eq!(points.len() as f64, count);
        let figures = [
            ("mean_ps", trips().sum::<f64>() / points.len() as f64),
            ("min_ps", trips().fold(f64::MAX, f64::min)),
            ("max_ps", trips().fold(0.0, f64::max)),
        ];
        for (key, drawn) in figures {
            let told = told[key].as_f64().unwrap() / 1e9;
            assert!(
                (drawn - told).abs() < 0.3,
                "{program} {key}: {drawn} {told}"
            );
        }
        assert!(points.is_sorted_by(|a, b| a.0 < b.0));
    }
    // The first ping is answered after the round trip and ARP's, the last ends the run.
    let ended = lines[0]["ended_ps"].as_f64().unwrap() / 1e12;
    let pings = &picture.series[0];
    assert!(is_near(pings[0].0, pings[0].1 / 1e3, 0.1), "{:?}", pings[0]);
    assert!(is_near(pings[11].0, ended, 0.001), "{:?}", pings[11]);
}

#[test]
fn the_queue_is_drawn_as_long_as_it_was() {
    let ([picture], lines) = drawn("lab-plot-queue", ["queue"], "");
    assert_eq!(picture.y_name, "queue of the link [packets]");
    let [points] = &picture.series[..] else {
        panic!("{} curves", picture.series.len());
    };
    let longest = line(&lines, "queue", |_| true)["longest_packets"].as_f64();
    let drawn = points
        .iter()
        .fold(0.0, |most: f64, point| most.max(point.1));
    assert!((drawn - longest.unwrap()).abs() < 0.1, "{drawn}");
    // A stretch has its longest queue, which is not less than at any of its times.
    let width = points[1].0 - points[0].0;
    let samples = lines.iter().filter(|line| line["type"] == "queue_series");
    let mut seen = 0;
    for sample in samples.filter(|sample| sample["at"] == "a.0") {
        let at = sample["time_ps"].as_f64().unwrap() / 1e12;
        let packets = sample["packets"].as_f64().unwrap();
        let near = points.iter().filter(|(x, _)| (x - at).abs() < width);
        let most = near.fold(0.0, |most: f64, (_, packets)| most.max(*packets));
        assert!(most > packets - 0.1, "{most} drawn, {packets} at {at} s");
        seen += usize::from(packets > 0.0);
    }
    assert!(seen > 20, "{seen} samples of packets that wait");
    // The queue is empty before the transfer, except for the first packet of a ping.
    assert!(
        points
            .iter()
            .all(|(x, packets)| *x > 0.99 || *packets < 1.1)
    );
}

#[test]
fn windows_grow_from_the_initial_window_and_fall_for_losses() {
    let first = |picture: &Picture| picture.series[0][0].1;
    let ([usual], lines) = drawn("lab-plot-cwnd", ["cwnd"], "");
    let small = "--set node.a.program.1.initial_window=4";
    let ([small], _) = drawn("lab-plot-cwnd-4", ["cwnd"], small);
    assert_eq!(usual.y_name, "congestion window [kB]");
    // The handshake gives the initial window; the first acknowledgement adds to it, in slow start.
    for (picture, segments) in [(&usual, 10.0), (&small, 4.0)] {
        let first = first(picture);
        assert!(is_near(first, segments * 1.46, 0.01), "{first}");
        let second = picture.series[0][1].1;
        assert!(is_near(second, (segments + 1.0) * 1.46, 0.01), "{second}");
    }
    let resent = &line(&lines, "flow", |line| line["program"] == "bulk")["resent"];
    assert!(resent.as_u64() > Some(0));
    let falls = usual.series[0]
        .windows(2)
        .filter(|pair| pair[1].1 < pair[0].1);
    assert!(falls.count() > 0);
    assert!(usual.series[0].iter().all(|(x, _)| *x > 0.99));
}

#[test]
fn throughput_adds_up_to_the_bytes_that_arrived() {
    let ([picture], lines) = drawn("lab-plot-throughput", ["throughput"], "");
    let unit = match picture.y_name.as_str() {
        "throughput [Mb/s]" => 1e6,
        "throughput [kb/s]" => 1e3,
        other => panic!("{other}"),
    };
    assert_eq!(picture.series.len(), 2);
    for (points, at) in picture.series.iter().zip(["b.0", "a.0"]) {
        let told = line(&lines, "measure", |line| line["at"] == at);
        let width = points[1].0 - points[0].0;
        let bits: f64 = points.iter().map(|(_, rate)| rate * unit * width).sum();
        // With FCS.
        let wanted = told["bytes"].as_f64().unwrap() + 4.0 * told["packets"].as_f64().unwrap();
        assert!(
            is_near(bits / 8.0, wanted, 0.03),
            "{at}: {bits}, {wanted} bytes"
        );
    }
    let peak = picture.series[0]
        .iter()
        .fold(0.0, |most: f64, point| most.max(point.1));
    assert!(peak * unit < 2.01e6, "more than the link carries: {peak}");
}

#[test]
fn a_plot_in_either_format_has_one_shape_and_one_kind_may_have_two_files() {
    let place = Place::new("lab-plot-formats");
    place.write("lab.toml", LAB);
    place
        .run("wire lab lab.toml --plot rtt=rtt.svg --plot rtt=rtt.png --out pictures")
        .good();
    let png = place.read("pictures/rtt.png");
    assert_eq!(
        (&png[..8], &png[12..16]),
        (&b"\x89PNG\r\n\x1a\n"[..], &b"IHDR"[..])
    );
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    let svg = String::from_utf8(place.read("pictures/rtt.svg")).unwrap();
    // Two pixels for each unit of the drawing.
    let twice = |name| attribute(&svg, name).map(|side| 2 * side.parse::<u32>().unwrap());
    assert_eq!(
        (twice("width"), twice("height")),
        (Some(side(16)), Some(side(20)))
    );
    // Nothing is written by a dry run.
    place
        .run("wire lab lab.toml --plot queue=dry.svg --dry")
        .good();
    assert!(!place.path.join("dry.svg").exists());
}

#[test]
fn what_cannot_be_drawn_or_written_is_said() {
    let place = Place::new("lab-plot-wrong");
    place.write("lab.toml", LAB);
    place.write("file", "");
    place.run("mkdir -p folder.svg").good();
    for (plot, wanted) in [
        ("nonsense=x.svg", "`nonsense` is not known here"),
        ("nonsense=x.svg", "there are: arrivals, cdf, cwnd"),
        ("nonsense=x.svg", "with --plot nonsense=x.svg"),
        ("rtt=x.gif", "use .png, .svg"),
        ("rtt=", "use .png, .svg"),
        ("rtt=../x.svg", "leads out of"),
        ("rtt=file/x.svg", "cannot write file/x.svg"),
        ("rtt=folder.svg", "folder.svg"),
        ("x.svg", "--plot rtt=FILE draws round trips of one run"),
    ] {
        let ended = place.run(&format!("wire lab lab.toml --plot '{plot}'"));
        assert_eq!(ended.code, Some(2), "{plot}: {}", ended.err);
        assert!(ended.err.contains(wanted), "{plot}: {}", ended.err);
        assert!(!place.path.join("x.svg").exists());
    }
    // Two lines of one program that sends nothing have no window.
    let alone = "wire lab lab.toml --set node.a.program.1.start='9 s' --plot cwnd=x.svg";
    let ended = place.run(alone);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let why = "x.svg: nothing to draw: no node there is a simulated host with a TCP connection";
    assert!(ended.err.contains(why), "{}", ended.err);
}

#[test]
fn of_many_conversations_the_longest_are_drawn_and_the_axis_has_both_numbers() {
    let place = Place::new("lab-plot-many");
    place.write("lab.toml", LAB);
    let keys = "--set node.a.program.0.count=100 --set node.a.program.1.flows=9 --set node.a.program.1.count=9";
    place
        .run(&format!("wire lab lab.toml {keys} --plot rtt=rtt.svg"))
        .good();
    let svg = String::from_utf8(place.read("rtt.svg")).unwrap();
    assert!(svg.contains("round trip [ms], 7 of 10"), "{svg}");
    // The pings last longest, and come first in the file.
    assert!(svg.contains(">a to 10.0.0.2<"), "{svg}");
    assert_eq!(svg.matches(">a to 10.0.0.2:5001<").count(), 6, "{svg}");
}
