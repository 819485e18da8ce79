//! Archives of traces: read by this crate, and by Debian's scamper.

use crate::fakeroute::World;
use crate::network::*;
use node::Time;
use node::random::Random;
use packet::mpls::Label;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use trace::Algorithm;
use trace::archive::{self, About};
use trace::probe::Protocol;
use trace::tracer::Trace;
use trace::warts::{self, Record};

const EPOCH: Duration = Duration::new(1_700_000_000, 123_456_000);

/// A trace of the grid: version, protocol and algorithm by the number, and random silence, loss and labels.
fn traced(number: u64) -> (World, Trace, Vec<u8>) {
    let mut random = Random::new(number);
    let network = match number % 7 {
        // Many hops.
        0 => Network::of(&[(Diamond::Plain(20), 2)]),
        _ => Network::random(&mut random),
    };
    let mut world = World::new(network, number.is_multiple_of(2), number);
    world.loss = [0.0, 0.0, 0.1][random.index(3)];
    world.target_answers = random.index(5) > 0;
    for router in 0..world.network.children.len() {
        if random.index(8) == 0 {
            world.silent.insert(router);
        }
        if random.index(4) == 0 {
            let label = |depth: usize| Label {
                label: 16_000 + (router * 10 + depth) as u32,
                class: (router % 8) as u8,
                ttl: 1 + depth as u8,
            };
            let depth = 1 + random.index(4);
            world.labels.insert(router, (0..depth).map(label).collect());
        }
    }
    let mut trace = world.tracer(|config| {
        config.protocol = [Protocol::Udp, Protocol::Icmp, Protocol::Tcp][number as usize / 2 % 3];
        config.algorithm = match number / 6 % 2 {
            0 => Algorithm::Paris,
            _ => [Algorithm::Mda, Algorithm::MdaLite][random.index(2)],
        };
        config.probes = 1 + random.index(20) as u32;
        config.identifier = number as u16;
    });
    trace.keep_log(1_000_000);
    let end = world.run(&mut trace);
    assert_eq!(trace.left_out(), 0);
    let about = About {
        epoch: EPOCH,
        end,
        host: "test",
    };
    let file = archive::file(&trace, &about).expect("a file");
    (world, trace, file.bytes)
}

/// Reads and writes a file.
fn rewritten(file: &[u8]) -> Vec<u8> {
    let mut again = Vec::new();
    for record in warts::records(file) {
        warts::write(&record.expect("a good record"), &mut again).expect("a record");
    }
    again
}

#[test]
fn an_archive_writes_back_as_it_was_read() {
    for number in 0..60 {
        let (_, _, file) = traced(number);
        assert!(rewritten(&file) == file, "{number}");
    }
}

#[test]
fn a_cut_or_changed_archive_is_read_to_the_next_good_record() {
    let (_, _, file) = traced(8);
    let whole = warts::records(&file).count();
    let mut at = 0;
    let mut starts = Vec::new();
    let mut all = warts::records(&file);
    while all.next().is_some() {
        starts.push(at);
        at = all.offset();
    }
    assert!(whole > 4);
    for cut in 0..file.len() {
        let records: Vec<_> = warts::records(&file[..cut]).collect();
        let good = records.iter().filter(|one| one.is_ok()).count();
        assert_eq!(
            good,
            starts.iter().skip(1).filter(|one| **one <= cut).count()
        );
        if let Some(Err(bad)) = records.last() {
            assert_eq!(bad.offset, starts[good], "{bad}");
            assert_eq!(bad.flaw, warts::Flaw::Cut);
        }
    }
    // The third record claims more parameters than it has: it is named, and the others are read.
    let mut changed = file.clone();
    let flags = starts[2] + 8;
    let skip = changed[flags..]
        .iter()
        .position(|byte| byte & 0x80 == 0)
        .expect("the last flags");
    changed[flags + skip + 1] = 0xFF;
    let records: Vec<_> = warts::records(&changed).collect();
    let bad: Vec<_> = records
        .iter()
        .filter_map(|one| one.as_ref().err())
        .collect();
    assert_eq!(records.len(), whole);
    assert_eq!(bad.len(), 1);
    assert_eq!(bad[0].offset, starts[2]);
    assert!(
        bad[0]
            .to_string()
            .starts_with(&format!("record at byte {} (", starts[2]))
    );
    // Without the magic number the rest cannot be read.
    changed[starts[4]] = 0;
    let records: Vec<_> = warts::records(&changed).collect();
    assert_eq!(records.len(), 5);
    assert_eq!(records[4].as_ref().unwrap_err().flaw, warts::Flaw::Magic);
}

/// A file of a test, removed when dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, content: &[u8]) -> Place {
        let name = format!("wireline-{}-{name}.warts", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, content).expect("a temporary file");
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn has_scamper(test: &str) -> bool {
    let has = Command::new("sc_warts2json").arg("-?").output().is_ok();
    if !has {
        println!("skipped: {test}: scamper is not installed");
    }
    has
}

fn read_by(program: &str, files: &[&Place]) -> String {
    let mut command = Command::new("timeout");
    command.args(["20", program]);
    let ended = command
        .args(files.iter().map(|one| &one.0))
        .output()
        .expect(program);
    assert!(
        ended.status.success() && ended.stderr.is_empty(),
        "{program}: {ended:?}"
    );
    String::from_utf8(ended.stdout).expect("text")
}

/// The objects in scamper's output, by type.
fn objects(file: &Place) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in read_by("sc_warts2json", &[file]).lines() {
        let object: Value = serde_json::from_str(line).expect(line);
        let kind = object["type"].as_str().expect("a type").to_string();
        all.entry(kind).or_default().push(object);
    }
    all
}

fn address(value: &Value) -> IpAddr {
    value
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("{value}"))
}

/// Microseconds of a number of milliseconds.
fn micros(value: &Value) -> u64 {
    (value.as_f64().expect("a number") * 1000.0).round() as u64
}

fn cut(time: Time) -> u64 {
    time.as_ps() / 1_000_000
}

/// Labels of an answer, as scamper shows them.
fn labels(value: &Value) -> Vec<Shown> {
    let Some(Value::Array(extensions)) = value.get("icmpext") else {
        return Vec::new();
    };
    let stacks = extensions
        .iter()
        .map(|one| one["mpls_labels"].as_array().expect("labels"));
    let field = |one: &Value, name: &str| one[name].as_u64().expect("a number");
    stacks
        .flatten()
        .map(|one| {
            let [label, class, bottom, ttl] =
                ["mpls_label", "mpls_exp", "mpls_s", "mpls_ttl"].map(|name| field(one, name));
            (label, class, bottom, ttl)
        })
        .collect()
}

/// Labels that a router shows: label, class, bottom of the stack, TTL.
fn shown(world: &World, from: IpAddr) -> Vec<Shown> {
    let router = world.number(from);
    let sent = router.and_then(|router| world.labels.get(&router));
    let sent = sent.map_or(&[][..], |labels| labels);
    sent.iter()
        .enumerate()
        .map(|(place, one)| {
            let bottom = u64::from(place + 1 == sent.len());
            (one.label.into(), one.class.into(), bottom, one.ttl.into())
        })
        .collect()
}

/// A label, its class, whether it is at the bottom, and its TTL.
type Shown = (u64, u64, u64, u64);

/// Checks the labels of multipath traces, which scamper's dump has and its JSON has not.
fn assert_are_dumped(world: &World, dump: &str) {
    let mut answers: Vec<(IpAddr, Vec<Shown>)> = Vec::new();
    let dump = dump
        .split_once("\ntracelb from ")
        .expect("a multipath trace")
        .1;
    let dump = dump
        .split_once("\nping from ")
        .map_or(dump, |(before, _)| before);
    for line in dump.lines() {
        if let Some((_, rest)) = line.split_once("reply from: ") {
            let (from, _) = rest.split_once(',').expect(line);
            answers.push((from.parse().expect(line), Vec::new()));
        } else if let Some((_, rest)) = line.split_once(": label ") {
            let numbers = rest.split(' ').filter_map(|word| word.parse().ok());
            let [label, class, bottom, ttl] = numbers.collect::<Vec<u64>>()[..] else {
                panic!("{line}");
            };
            let last = answers.last_mut().expect("an answer before");
            last.1.push((label, class, bottom, ttl));
        }
    }
    for (from, labels) in answers {
        assert_eq!(labels, shown(world, from), "{from}");
    }
}

#[test]
fn scamper_reads_the_interfaces_round_trips_and_labels_that_the_trace_has_found() {
    if !has_scamper("archives by scamper") {
        return;
    }
    let mut seen = BTreeMap::<&str, usize>::new();
    for number in 0..120 {
        let (world, trace, file) = traced(number);
        let place = Place::new(&format!("read-{number}"), &file);
        let objects = objects(&place);
        assert_eq!(objects["cycle-start"].len(), 1);
        assert_eq!(objects["cycle-stop"].len(), 1);
        match trace.config().algorithm {
            Algorithm::Paris => assert_is_path(&world, &trace, &objects["trace"]),
            _ => {
                assert_is_graph(&trace, &objects["tracelb"]);
                assert_are_dumped(&world, &read_by("sc_wartsdump", &[&place]));
            }
        }
        assert_has_pings(&trace, &objects["ping"]);
        *seen.entry("silent").or_default() += world.silent.len();
        *seen.entry("labels").or_default() += world.labels.len();
        // The text has each interface, too.
        let text = read_by("sc_warts2text", &[&place]);
        for (_, hop) in trace.graph().hops() {
            for known in hop.vertices.iter().filter_map(|one| one.address) {
                assert!(
                    text.contains(&known.to_string()),
                    "{number} {known}: {text}"
                );
            }
        }
    }
    assert!(seen.values().all(|count| *count > 50), "{seen:?}");
}

fn assert_is_path(world: &World, trace: &Trace, objects: &[Value]) {
    let [object] = objects else {
        panic!("one trace: {objects:?}");
    };
    let method = match trace.config().protocol {
        Protocol::Udp => "udp-paris",
        Protocol::Icmp => "icmp-echo-paris",
        Protocol::Tcp => "tcp",
    };
    assert_eq!(object["method"], method);
    assert_eq!(address(&object["src"]), trace.config().source);
    assert_eq!(address(&object["dst"]), trace.config().target);
    let is_complete = object["stop_reason"] == "COMPLETED";
    assert_eq!(is_complete, trace.is_reached(), "{object}");
    let hops = object["hops"].as_array().map_or(&[][..], |hops| hops);
    let answers = trace.log().iter().filter(|sent| sent.is_discovery);
    let mut wanted: Vec<_> = answers
        .filter_map(|sent| {
            let (arrived, answer) = sent.answer?;
            let rtt = cut(arrived - sent.departed);
            Some((
                sent.probe.ttl,
                u64::from(sent.attempt) + 1,
                answer.from,
                rtt,
            ))
        })
        .collect();
    wanted.sort();
    let number = |hop: &Value, name: &str| hop[name].as_u64().expect("a number");
    let read: Vec<_> = hops
        .iter()
        .map(|hop| {
            let ttl = number(hop, "probe_ttl") as u8;
            (
                ttl,
                number(hop, "probe_id"),
                address(&hop["addr"]),
                micros(&hop["rtt"]),
            )
        })
        .collect();
    assert_eq!(read, wanted, "{object}");
    for hop in hops {
        let from = address(&hop["addr"]);
        assert_eq!(labels(hop), shown(world, from), "{hop}");
        if from != world.target() {
            let (kind, length) = if world.is_v4 { (11, 30) } else { (3, 50) };
            let more = if trace.config().protocol == Protocol::Tcp {
                10
            } else {
                0
            };
            assert_eq!(number(hop, "icmp_type"), kind, "{hop}");
            assert_eq!(number(hop, "icmp_q_ttl"), 1, "{hop}");
            assert_eq!(number(hop, "icmp_q_ipl"), length + more, "{hop}");
        }
    }
}

fn assert_is_graph(trace: &Trace, objects: &[Value]) {
    let [object] = objects else {
        panic!("one multipath trace: {objects:?}");
    };
    let graph = trace.graph();
    let mut wanted = BTreeSet::new();
    let mut links = BTreeSet::new();
    for (ttl, hop) in graph.hops() {
        wanted.extend(hop.vertices.iter().filter_map(|one| one.address));
        let before = graph.hop(ttl.wrapping_sub(1));
        for (from, to) in graph.links(ttl) {
            let from = before.expect("a hop before").vertices[usize::from(from)].address;
            let to = hop.vertices[usize::from(to)].address;
            if let (Some(from), Some(to)) = (from, to) {
                links.insert((from, to));
            }
        }
    }
    let empty = Vec::new();
    let nodes = object["nodes"].as_array().unwrap_or(&empty);
    assert_eq!(object["nodec"], wanted.len());
    // Scamper's JSON has no line for a node without links.
    let mut read: BTreeSet<IpAddr> = nodes.iter().map(|node| address(&node["addr"])).collect();
    let mut by_flow: BTreeMap<(u8, u16), Vec<_>> = BTreeMap::new();
    for sent in trace.log() {
        let place = (sent.probe.ttl, trace.prober().flow_field(sent.probe.flow));
        by_flow.entry(place).or_default().push(sent);
    }
    let mut direct = BTreeSet::new();
    let mut answers = 0;
    for node in nodes {
        let from = address(&node["addr"]);
        // Several links are one list; a single one has a list for each of its hops.
        let lists = node["links"].as_array().unwrap_or(&empty);
        let count = node["linkc"].as_u64().expect("a number");
        for list in lists {
            let hops = list.as_array().expect("hops");
            if count > 1 || lists.len() == 1 {
                let known = hops.iter().filter(|hop| hop["addr"] != "*");
                direct.extend(known.map(|hop| (from, address(&hop["addr"]))));
            }
            let ends = hops
                .iter()
                .filter_map(|hop| hop["addr"].as_str()?.parse::<IpAddr>().ok());
            read.extend(ends);
            for probe in hops
                .iter()
                .flat_map(|hop| hop["probes"].as_array().unwrap_or(&empty))
            {
                for reply in probe["replies"].as_array().unwrap_or(&empty) {
                    let ttl = probe["ttl"].as_u64().expect("a TTL") as u8;
                    let flow = probe["flowid"].as_u64().expect("a flow") as u16;
                    let rtt = micros(&reply["rtt"]);
                    // Both times are cut to microseconds.
                    let sent = by_flow.get(&(ttl, flow)).expect("a probe");
                    let mut times = sent.iter().filter_map(|sent| {
                        let (at, _) = sent.answer?;
                        Some(cut(at).abs_diff(cut(sent.departed) + rtt))
                    });
                    let known = times.any(|error| error <= 1);
                    assert!(known, "{probe}");
                    answers += 1;
                }
            }
        }
    }
    assert!(read.is_subset(&wanted), "{object}");
    assert_eq!(direct, links, "{object}");
    let search = trace.log().iter().filter(|sent| sent.is_discovery).count();
    assert_eq!(object["probec"], search);
    assert!(answers > 0 || links.is_empty());
}

/// Each interface has a ping with the numbers of its statistics.
fn assert_has_pings(trace: &Trace, objects: &[Value]) {
    let mut wanted = Vec::new();
    for (ttl, hop) in trace.graph().hops() {
        for index in 0..hop.vertices.len() {
            let stats = trace.interface_stats(ttl, index);
            if stats.probes > 0 {
                let ends = (stats.answers > 0).then_some((cut(stats.min), cut(stats.max)));
                wanted.push((u64::from(ttl), stats.probes, stats.answers, ends));
            }
        }
    }
    let read: Vec<_> = objects
        .iter()
        .map(|ping| {
            let replies = ping["responses"].as_array().map_or(&[][..], |all| all);
            let rtts = replies.iter().map(|reply| micros(&reply["rtt"]));
            let ends = rtts.clone().min().zip(rtts.max());
            let number = |name: &str| ping[name].as_u64().expect("a number");
            (
                number("ttl"),
                number("ping_sent"),
                replies.len() as u64,
                ends,
            )
        })
        .collect();
    assert_eq!(read, wanted);
}

#[test]
fn scamper_sees_no_difference_between_two_traces_of_one_path() {
    if !has_scamper("differences by scamper") {
        return;
    }
    for number in [1, 2, 3] {
        let (_, _, file) = traced(number);
        let places = ["a", "b"].map(|end| Place::new(&format!("diff-{number}{end}"), &file));
        let [one, other] = &places;
        let text = read_by("sc_tracediff", &[one, other]);
        assert!(text.trim().is_empty(), "{text}");
    }
}

/// The corpus of archives, if it is available.
fn corpus() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let found = root
        .ancestors()
        .map(|folder| folder.join("shared/corpora/warts/data"));
    found.into_iter().find(|folder| folder.is_dir())
}

#[test]
fn archives_of_others_are_read_as_scamper_reads_them() {
    let Some(folder) = corpus() else {
        println!("skipped: archives of others: no corpus of warts files");
        return;
    };
    let mut kinds = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|ending| ending != "warts") {
            continue;
        }
        let file = fs::read(&path).expect("a file");
        let dump = fs::read_to_string(path.with_extension("txt")).expect("its text");
        for record in warts::records(&file) {
            let record = record.expect("a good record");
            kinds.insert(record.kind());
            match record {
                Record::Trace(trace) => assert_trace_is_dumped(&trace, &dump),
                Record::Ping(ping) => assert_ping_is_dumped(&ping, &dump),
                Record::Multipath(paths) => assert_paths_are_dumped(&paths, &dump),
                Record::List(list) => {
                    let name = &list.name.0;
                    assert!(dump.contains(&format!("list id {}, name {name}, descr", list.id)));
                }
                _ => {}
            }
        }
        // Ours is read by scamper as the original was.
        if has_scamper("archives of others, rewritten") {
            let again = Place::new(
                &path.file_stem().unwrap().to_string_lossy(),
                &rewritten(&file),
            );
            let original = Place::new("original", &file);
            let dumps = [&original, &again].map(|one| read_by("sc_wartsdump", &[one]));
            assert_eq!(dumps[0], dumps[1], "{}", path.display());
        }
    }
    assert_eq!(kinds, BTreeSet::from([1, 2, 4, 6, 7, 8]));
}

fn seconds(micros: u32) -> String {
    format!("{}.{:06}s", micros / 1_000_000, micros % 1_000_000)
}

fn assert_trace_is_dumped(trace: &warts::Trace, dump: &str) {
    let parameters = &trace.parameters;
    let head = format!(
        "traceroute from {} to {}\n",
        parameters.source.expect("a source"),
        parameters.target.expect("a target")
    );
    assert!(dump.contains(&head), "{head}");
    let dumped = dump.lines().filter(|line| line.starts_with("hop "));
    let read = trace.hops.iter().map(|hop| {
        format!(
            "hop {:2}  {}",
            hop.probe_ttl.unwrap_or(0),
            hop.address.expect("an address")
        )
    });
    assert!(dumped.eq(read));
    let mut rtts = dump.lines().filter(|line| line.contains("rtt: "));
    for hop in &trace.hops {
        let line = rtts.next().expect("a round trip");
        assert!(
            line.contains(&seconds(hop.rtt_us.expect("a round trip"))),
            "{line}"
        );
    }
}

fn assert_ping_is_dumped(ping: &warts::Ping, dump: &str) {
    let dumped = dump.lines().filter(|line| line.starts_with("reply from "));
    let read = ping.replies.iter().zip(dumped);
    assert!(!ping.replies.is_empty());
    for (reply, line) in read {
        let from = format!(
            "reply from {}, attempt: ",
            reply.address.expect("an address")
        );
        let rtt = seconds(reply.rtt_us.expect("a round trip"));
        assert!(line.starts_with(&from) && line.contains(&rtt), "{line}");
    }
}

fn assert_paths_are_dumped(paths: &warts::Multipath, dump: &str) {
    let addresses: Vec<IpAddr> = paths.nodes.iter().map(|one| one.address.unwrap()).collect();
    let dumped = dump.lines().filter(|line| line.starts_with("node "));
    let read = addresses
        .iter()
        .enumerate()
        .map(|(number, one)| format!("node {number} {one}"));
    for (line, read) in dumped.zip(read) {
        assert!(line.starts_with(&read), "{line} {read}");
    }
    let count = dump
        .lines()
        .filter(|line| line.starts_with(" link "))
        .count();
    assert_eq!(count, paths.links.len());
    let replies = paths.links.iter().flat_map(|link| &link.hops).flatten();
    let replies: usize = replies.map(|probe| probe.replies.len()).sum();
    assert_eq!(replies, dump.matches("reply from: ").count());
}
