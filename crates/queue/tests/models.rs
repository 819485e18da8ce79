//! Each discipline against a model in Python that is written from the RFC or the paper: same drops,
//! same marks, same order, same departure times.

use crate::drive::{Sequence, drive};
use node::random::Random;
use node::{Rate, Size, Time};
use queue::cake::AckFilter;
use queue::classify::By;
use queue::{
    Config, cake, codel, docsis_pie, drr, dualpi2, fifo, fq_codel, htb, pie, policer, prio, red,
    tbf, varying,
};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Sequences of each discipline; the environment variable `WIRE_QUEUE_SEQUENCES` has another
/// number.
const SEQUENCES: u64 = 200;
/// Packets of a sequence.
const PACKETS: usize = 200;

/// The models, in a process.
struct Models {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Models {
    fn start() -> Option<Models> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/run.py");
        let mut command = Command::new("python3");
        command.args(["-B", folder]);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned
            .map_err(|error| println!("skipped: models of queue disciplines: no python3: {error}"))
            .ok()?;
        Some(Models {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take()?),
            child,
        })
    }

    fn trace(&mut self, config: &str, sequence: &Sequence, seed: u64) -> String {
        let mut random = Random::new(seed);
        let numbers: Vec<_> = (0..2 * PACKETS)
            .map(|_| random.bits().to_string())
            .collect();
        let input = self.input.as_mut().expect("it is open until the end");
        writeln!(
            input,
            "{{\"config\":{config},\"arrivals\":{},\"byte\":{},\"random\":[{}]}}",
            sequence.json(),
            sequence.byte,
            numbers.join(",")
        )
        .unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Models {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// A value as JSON.
fn option(value: Option<u64>) -> String {
    value.map_or("null".to_owned(), |value| value.to_string())
}

/// Compares a discipline with its model. `make` gives a configuration, and the same as JSON without
/// its braces.
fn compare(kind: &str, make: impl Fn(&mut Random, &Sequence) -> (Config, String)) {
    compare_over(kind, |random| Sequence::random(random, PACKETS), make);
}

/// The same, over the sequences that `sequence` gives. Returns the number of drops and marks by reason.
fn compare_over(
    kind: &str,
    sequence: impl Fn(&mut Random) -> Sequence,
    make: impl Fn(&mut Random, &Sequence) -> (Config, String),
) -> Option<BTreeMap<String, u64>> {
    let mut models = Models::start()?;
    let mut reasons = BTreeMap::new();
    let sequences = std::env::var("WIRE_QUEUE_SEQUENCES").ok();
    let sequences = sequences.map_or(SEQUENCES, |count| count.parse().expect("a number"));
    let (mut drops, mut marks) = (0, 0);
    for seed in 0..sequences {
        let mut random = Random::new(seed ^ 0x5EED << 32);
        let sequence = sequence(&mut random);
        let (config, keys) = make(&mut random, &sequence);
        let mut queue = config.build(seed).expect("a good configuration");
        let ours = drive(&mut *queue, &sequence, |_, _, _| ());
        let json = format!("{{\"kind\":\"{kind}\",{keys}}}");
        let theirs = models.trace(&json, &sequence, seed);
        let (ours, theirs) = (ours.split_whitespace(), theirs.split_whitespace());
        for (n, (our, their)) in ours.clone().zip(theirs.clone()).enumerate() {
            let before: Vec<_> = ours.clone().take(n).skip(n.saturating_sub(12)).collect();
            assert_eq!(our, their, "{kind} sequence {seed}: {before:?}\n{json}");
        }
        assert_eq!(
            ours.clone().count(),
            theirs.count(),
            "{kind} {seed}\n{json}"
        );
        for reason in ours
            .clone()
            .filter_map(|token| token.split([':', '[']).nth(1))
        {
            *reasons.entry(reason.to_owned()).or_default() += 1;
        }
        drops += ours.clone().filter(|token| token.starts_with('d')).count();
        marks += ours.filter(|token| token.starts_with('m')).count();
    }
    println!("{kind}: {sequences} sequences, {drops} drops, {marks} marks, {reasons:?}");
    assert!(drops > 0, "the sequences test nothing");
    Some(reasons)
}

fn maybe<T>(random: &mut Random, value: impl FnOnce(&mut Random) -> T) -> Option<T> {
    (random.below(3) == 0).then(|| value(random))
}

#[test]
fn fifo_is_that_of_its_model() {
    compare("fifo", |random, sequence| {
        let time = sequence.packet_time();
        let config = fifo::Config {
            limit: random.below(60) as u32,
            bytes: maybe(random, |random| Size::from_bytes(random.below(40_000))),
            time: maybe(random, |random| Time::from_ps(random.below(30 * time))),
            head_drop: random.below(2) == 0,
            mark: maybe(random, |random| random.below(20) as u32),
            ce_threshold: maybe(random, |random| Time::from_ps(random.below(20 * time))),
        };
        let keys = format!(
            "\"limit\":{},\"bytes\":{},\"time\":{},\"head_drop\":{},\"mark\":{},\"ce_threshold\":{}",
            config.limit,
            option(config.bytes.map(Size::bytes)),
            option(config.time.map(Time::as_ps)),
            config.head_drop,
            option(config.mark.map(u64::from)),
            option(config.ce_threshold.map(Time::as_ps)),
        );
        (Config::Fifo(config), keys)
    });
}

fn codel_config(random: &mut Random, sequence: &Sequence) -> (codel::Config, String) {
    let time = sequence.packet_time();
    let interval = time + (random.below(40 * time) >> random.below(5));
    let interval = interval.next_multiple_of(sequence.grid);
    let target = random.below(interval / 2) / sequence.grid * sequence.grid;
    let reuse = [
        (codel::CountReuse::Delta, "delta"),
        (codel::CountReuse::MinusTwo, "minus_two"),
        (codel::CountReuse::None, "none"),
    ][random.index(3)];
    let config = codel::Config {
        limit: 1 + random.below(150) as u32,
        target: Time::from_ps(target),
        interval: Time::from_ps(interval),
        ecn: random.below(2) == 0,
        ce_threshold: maybe(random, |random| Time::from_ps(random.below(20 * time))),
        mtu: [0, 1_514, 3_000][random.index(3)],
        count_reuse: reuse.0,
    };
    let keys = format!(
        "\"limit\":{},\"target\":{},\"interval\":{},\"ecn\":{},\"ce_threshold\":{},\"mtu\":{},\"count_reuse\":\"{}\"",
        config.limit,
        config.target.as_ps(),
        config.interval.as_ps(),
        config.ecn,
        option(config.ce_threshold.map(Time::as_ps)),
        config.mtu,
        reuse.1,
    );
    (config, keys)
}

#[test]
fn codel_is_that_of_its_model() {
    compare("codel", |random, sequence| {
        let (config, keys) = codel_config(random, sequence);
        (Config::Codel(config), keys)
    });
}

#[test]
fn fq_codel_is_that_of_its_model() {
    compare("fq_codel", |random, sequence| {
        let (law, keys) = codel_config(random, sequence);
        let config = fq_codel::Config {
            limit: random.below(120) as u32,
            memory_limit: Size::from_bytes(1 + random.below(200_000)),
            flows: 1 + random.below(16) as u32,
            quantum: [300, 1_514, 9_000][random.index(3)],
            target: law.target,
            interval: law.interval,
            ecn: law.ecn,
            ce_threshold: law.ce_threshold,
            mtu: law.mtu,
            drop_batch: 1 + random.below(64) as u32,
            count_reuse: law.count_reuse,
        };
        // The last of two equal keys counts.
        let keys = format!(
            "{keys},\"limit\":{},\"memory_limit\":{},\"flows\":{},\"quantum\":{},\"drop_batch\":{}",
            config.limit,
            config.memory_limit.bytes(),
            config.flows,
            config.quantum,
            config.drop_batch,
        );
        (Config::FqCodel(config), keys)
    });
}

#[test]
fn pie_is_that_of_its_model() {
    compare("pie", |random, sequence| {
        let time = sequence.packet_time();
        let target = time + random.below(30 * time);
        let tupdate = 1 + time / 4 + (random.below(2 * target) >> random.below(6));
        // The times of a sequence are far below those for which the defaults are: a gain that is as
        // far above.
        let gain = 1 + ((500_000_000_000 / target).min(1_000) >> random.below(6));
        let line = 8_000_000_000_000 / sequence.byte;
        let config = pie::Config {
            limit: 1 + random.below(300) as u32,
            target: Time::from_ps(target),
            tupdate: Time::from_ps(tupdate),
            alpha: (2 * gain) as u32,
            beta: (20 * gain) as u32,
            max_burst: Time::from_ps(random.below(3) * random.below(5 * target)),
            ecn: random.below(2) == 0,
            bytemode: random.below(2) == 0,
            mean_packet: [1, 1_024, 1_514][random.index(3)],
            rate: maybe(random, |_| Rate::from_bits_per_second(line).unwrap()),
        };
        let keys = format!(
            "\"limit\":{},\"target\":{target},\"tupdate\":{tupdate},\"alpha\":{},\"beta\":{},\"max_burst\":{},\
             \"ecn\":{},\"bytemode\":{},\"mean_packet\":{},\"rate\":{}",
            config.limit,
            config.alpha,
            config.beta,
            config.max_burst.as_ps(),
            config.ecn,
            config.bytemode,
            config.mean_packet,
            option(config.rate.map(Rate::bits_per_second)),
        );
        (Config::Pie(config), keys)
    });
}

#[test]
fn docsis_pie_is_that_of_its_model() {
    let sequence = |random: &mut Random| Sequence::random(random, 2 * PACKETS);
    let reasons = compare_over("docsis_pie", sequence, |random, sequence| {
        let time = sequence.packet_time();
        let target = time + random.below(30 * time);
        let tupdate = 1 + time / 4 + (random.below(2 * target) >> random.below(6));
        // As for PIE.
        let gain = 1 + ((500_000_000_000 / target).min(1_000) >> random.below(6));
        let line = 8_000_000_000_000 / sequence.byte;
        let times = [5, 30, 3, 40]
            .map(|of| Time::from_ps(random.below(of * target + 1) >> random.below(4)));
        // The bucket of a modem whose sustained rate is below the line's, the peak rate.
        let burst = maybe(random, |random| Size::from_bytes(random.below(100_000)));
        let rate = burst.map_or(line, |_| 1 + line / 4 + random.below(line));
        let peakrate = burst.map(|_| rate + 1 + random.below(2 * line));
        let config = docsis_pie::Config {
            rate: Rate::from_bits_per_second(rate).unwrap(),
            limit: Some(Size::from_bytes(1_000 + random.below(300_000))),
            target: Time::from_ps(target),
            tupdate: Time::from_ps(tupdate),
            alpha: (4 * gain) as u32,
            beta: (40 * gain) as u32,
            max_burst: times[0],
            burst_reset: times[1],
            latency_low: times[2],
            latency_high: times[3],
            mean_packet: [1, 64, 1_024, 1_514][random.index(4)],
            burst,
            peakrate: peakrate.and_then(Rate::from_bits_per_second),
        };
        let times = times.map(Time::as_ps);
        let keys = format!(
            "\"rate\":{rate},\"limit\":{},\"target\":{target},\"tupdate\":{tupdate},\"alpha\":{},\"beta\":{},\
             \"max_burst\":{},\"burst_reset\":{},\"latency_low\":{},\"latency_high\":{},\"mean_packet\":{},\"burst\":{},\"peakrate\":{}",
            option(config.limit.map(Size::bytes)),
            config.alpha,
            config.beta,
            times[0],
            times[1],
            times[2],
            times[3],
            config.mean_packet,
            option(burst.map(Size::bytes)),
            option(peakrate),
        );
        (Config::DocsisPie(config), keys)
    });
    assert!(reasons.is_none_or(|reasons| reasons["pie"] > 300));
}

#[test]
fn red_is_that_of_its_model() {
    compare("red", |random, sequence| {
        let min = random.below(20_000);
        let max = min + 1 + random.below(40_000);
        let line = 8_000_000_000_000 / sequence.byte;
        let config = red::Config {
            limit: Size::from_bytes(random.below(200_000)),
            min: Size::from_bytes(min),
            max: Size::from_bytes(max),
            probability: [0.02, 0.1, 0.5, 1.0][random.index(4)],
            wlog: 1 + random.below(9) as u32,
            avpkt: [64, 1_000][random.index(2)],
            bandwidth: Rate::from_bits_per_second(line).unwrap(),
            gentle: random.below(2) == 0,
            wait: random.below(2) == 0,
            adaptive: random.below(2) == 0,
            interval: Time::from_ps(1 + random.below(40 * sequence.packet_time())),
            ecn: random.below(2) == 0,
            harddrop: random.below(2) == 0,
        };
        let keys = format!(
            "\"limit\":{},\"min\":{min},\"max\":{max},\"probability\":{},\"wlog\":{},\"avpkt\":{},\"bandwidth\":{line},\
             \"gentle\":{},\"wait\":{},\"adaptive\":{},\"interval\":{},\"ecn\":{},\"harddrop\":{}",
            config.limit.bytes(),
            config.probability,
            config.wlog,
            config.avpkt,
            config.gentle,
            config.wait,
            config.adaptive,
            config.interval.as_ps(),
            config.ecn,
            config.harddrop,
        );
        (Config::Red(config), keys)
    });
}

/// A FIFO or CoDel, as JSON too.
fn child(random: &mut Random, sequence: &Sequence) -> (Config, String) {
    if random.below(2) == 0 {
        let (config, keys) = codel_config(random, sequence);
        return (
            Config::Codel(config),
            format!("{{\"kind\":\"codel\",{keys}}}"),
        );
    }
    let config = fifo::Config {
        limit: random.below(60) as u32,
        ..fifo::Config::default()
    };
    let keys = format!(
        "{{\"kind\":\"fifo\",\"limit\":{},\"bytes\":null,\"time\":null,\"head_drop\":false,\"mark\":null,\
         \"ce_threshold\":null}}",
        config.limit
    );
    (Config::Fifo(config), keys)
}

/// A shaper that slows the line down.
fn tbf_config(random: &mut Random, sequence: &Sequence) -> (tbf::Config, String) {
    let line = 8_000_000_000_000 / sequence.byte;
    let (inner, keys) = child(random, sequence);
    let rate = 1 + line / 4 + random.below(line);
    let peak = maybe(random, |random| rate + 1 + random.below(line));
    let config = tbf::Config {
        burst: Size::from_bytes(1 + random.below(6_000)),
        peakrate: peak.and_then(Rate::from_bits_per_second),
        mtu: Size::from_bytes(1 + random.below(3_000)),
        child: Some(Box::new(inner)),
        ..tbf::Config::new(
            Rate::from_bits_per_second(rate).unwrap(),
            Size::from_bytes(1),
        )
    };
    let keys = format!(
        "\"rate\":{rate},\"burst\":{},\"peakrate\":{},\"mtu\":{},\"child\":{keys}",
        config.burst.bytes(),
        option(peak),
        config.mtu.bytes(),
    );
    (config, keys)
}

#[test]
fn varying_is_that_of_its_model() {
    compare("varying", |random, sequence| {
        let line = 8_000_000_000_000 / sequence.byte;
        let (inner, keys) = child(random, sequence);
        let mut rates = Vec::new();
        let mut at = 0;
        for _ in 0..1 + random.below(6) {
            // From an outage to twice the line's rate.
            let rate = match random.below(5) {
                0 => 1,
                _ => 1 + random.below(2 * line),
            };
            rates.push((at, rate));
            at += 1 + random.below(20 * sequence.packet_time());
        }
        // A line that ends in an outage would take years.
        let last = rates.len() - 1;
        rates[last].1 += line / 8;
        let repeat = maybe(random, |_| at);
        let config = varying::Config {
            rates: rates
                .iter()
                .map(|(at, rate)| {
                    (
                        Time::from_ps(*at),
                        Rate::from_bits_per_second(*rate).unwrap(),
                    )
                })
                .collect(),
            repeat: repeat.map(Time::from_ps),
            child: Some(Box::new(inner)),
        };
        let rates: Vec<String> = rates
            .iter()
            .map(|(at, rate)| format!("[{at},{rate}]"))
            .collect();
        let keys = format!(
            "\"rates\":[{}],\"repeat\":{},\"child\":{keys}",
            rates.join(","),
            option(repeat)
        );
        (Config::Varying(config), keys)
    });
}

#[test]
fn tbf_is_that_of_its_model() {
    compare("tbf", |random, sequence| {
        let (config, keys) = tbf_config(random, sequence);
        (Config::Tbf(config), keys)
    });
}

#[test]
fn policer_is_that_of_its_model() {
    compare("policer", |random, sequence| {
        let line = 8_000_000_000_000 / sequence.byte;
        let (inner, keys) = child(random, sequence);
        let rate = 1 + line / 4 + random.below(line);
        let config = policer::Config {
            rate: Rate::from_bits_per_second(rate).unwrap(),
            burst: Size::from_bytes(1 + random.below(9_000)),
            child: Some(Box::new(inner)),
        };
        let burst = config.burst.bytes();
        let keys = format!("\"rate\":{rate},\"burst\":{burst},\"child\":{keys}");
        (Config::Policer(config), keys)
    });
}

/// A fact that chooses among `classes`, and a map.
fn by(random: &mut Random, classes: u64) -> (By, Vec<u32>, String) {
    let (by, name) = [
        (By::Flow, "flow"),
        (By::Priority, "priority"),
        (By::Dscp, "dscp"),
        (By::Queue, "queue"),
    ][random.index(4)];
    let entries = random.below(50);
    let map: Vec<_> = (0..entries).map(|_| random.below(classes) as u32).collect();
    let keys = format!("\"by\":\"{name}\",\"priomap\":{map:?}");
    (by, map, keys)
}

#[test]
fn prio_is_that_of_its_model() {
    compare("prio", |random, sequence| {
        let count = 1 + random.below(5);
        let (mut bands, mut json) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (band, keys) = match random.below(3) {
                0 => {
                    let (config, keys) = tbf_config(random, sequence);
                    let keys = format!("{{\"kind\":\"tbf\",{keys}}}");
                    (Config::Tbf(config), keys)
                }
                _ => child(random, sequence),
            };
            bands.push(band);
            json.push(keys);
        }
        let (by, priomap, keys) = by(random, count);
        let keys = format!("\"bands\":[{}],{keys}", json.join(","));
        let config = prio::Config { bands, by, priomap };
        (Config::Prio(config), keys)
    });
}

#[test]
fn drr_is_that_of_its_model() {
    compare("drr", |random, sequence| {
        let count = 1 + random.below(8);
        let (mut classes, mut json) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let (child, keys) = child(random, sequence);
            let quantum = [1, 100, 1_514, 4_000][random.index(4)];
            json.push(format!("{{\"quantum\":{quantum},\"child\":{keys}}}"));
            classes.push(drr::Class { quantum, child });
        }
        let (by, priomap, keys) = by(random, count);
        let keys = format!("\"classes\":[{}],{keys}", json.join(","));
        let config = drr::Config {
            classes,
            by,
            priomap,
        };
        (Config::Drr(config), keys)
    });
}

#[test]
fn dualpi2_is_that_of_its_model() {
    compare("dualpi2", |random, sequence| {
        let time = sequence.packet_time();
        let target = time + random.below(30 * time);
        let tupdate = 1 + time / 4 + (random.below(2 * target) >> random.below(6));
        let gain = 1.0 + (500_000_000_000 / target).min(1_000) as f64;
        let config = dualpi2::Config {
            limit: 1 + random.below(250) as u32,
            target: Time::from_ps(target),
            tupdate: Time::from_ps(tupdate),
            alpha: 0.16 * gain,
            beta: 3.2 * gain,
            coupling: 1 + random.below(4) as u32,
            step_thresh: Time::from_ps(random.below(5 * time)),
            range: Time::from_ps(random.below(2) * random.below(5 * time)),
            min_qlen_step: (random.below(2) * random.below(4)) as u32,
            min_backlog: Size::from_bytes(random.below(2) * random.below(6_000)),
            classic_protection: random.below(51) as u32,
        };
        let keys = format!(
            "\"limit\":{},\"target\":{target},\"tupdate\":{tupdate},\"alpha\":{},\"beta\":{},\"coupling\":{},\
             \"step_thresh\":{},\"range\":{},\"min_qlen_step\":{},\"min_backlog\":{},\"classic_protection\":{}",
            config.limit,
            config.alpha,
            config.beta,
            config.coupling,
            config.step_thresh.as_ps(),
            config.range.as_ps(),
            config.min_qlen_step,
            config.min_backlog.bytes(),
            config.classic_protection,
        );
        (Config::DualPi2(config), keys)
    });
}

#[test]
fn cake_is_that_of_its_model() {
    compare("cake", |random, sequence| {
        cake_config(random, sequence, (AckFilter::Off, "off"))
    });
}

#[test]
fn cake_with_an_ack_filter_is_that_of_its_model() {
    let sequence = |random: &mut Random| Sequence::random(random, PACKETS).with_segments(random);
    let reasons = compare_over("cake", sequence, |random, sequence| {
        let filters = [(AckFilter::On, "on"), (AckFilter::Aggressive, "aggressive")];
        let filter = filters[random.index(2)];
        cake_config(random, sequence, filter)
    });
    assert!(reasons.is_none_or(|reasons| reasons["ack_filter"] > 1_000));
}

fn cake_config(
    random: &mut Random,
    sequence: &Sequence,
    filter: (AckFilter, &str),
) -> (Config, String) {
    use cake::{Diffserv, Isolation};
    let line = 8_000_000_000_000 / sequence.byte;
    let bandwidth = (random.below(4) > 0).then(|| 1 + line / 2 + random.below(line));
    let tins = [
        (Diffserv::BestEffort, "besteffort"),
        (Diffserv::Diffserv3, "diffserv3"),
        (Diffserv::Diffserv4, "diffserv4"),
    ][random.index(3)];
    let isolation = [
        (Isolation::FlowBlind, "flowblind"),
        (Isolation::SrcHost, "srchost"),
        (Isolation::DstHost, "dsthost"),
        (Isolation::Hosts, "hosts"),
        (Isolation::Flows, "flows"),
        (Isolation::DualSrcHost, "dual-srchost"),
        (Isolation::DualDstHost, "dual-dsthost"),
        (Isolation::TripleIsolate, "triple-isolate"),
    ][random.index(8)];
    let rtt = 20 + random.below(60 * sequence.packet_time());
    let memlimit = random.below(150_000);
    let config = cake::Config {
        bandwidth: bandwidth.and_then(Rate::from_bits_per_second),
        diffserv: tins.0,
        isolation: isolation.0,
        rtt: Time::from_ps(rtt),
        overhead: [0, -14, 44][random.index(3)],
        mpu: [0, 84][random.index(2)],
        memlimit: Some(Size::from_bytes(memlimit)),
        ack_filter: filter.0,
    };
    let keys = format!(
        "\"bandwidth\":{},\"diffserv\":\"{}\",\"isolation\":\"{}\",\"rtt\":{rtt},\"overhead\":{},\"mpu\":{},\
         \"memlimit\":{memlimit},\"ack_filter\":\"{}\"",
        option(bandwidth),
        tins.1,
        isolation.1,
        config.overhead,
        config.mpu,
        filter.1,
    );
    (Config::Cake(config), keys)
}

/// A class with classes in it to a depth, as JSON too. Counts its leaves.
fn htb_class(
    random: &mut Random,
    sequence: &Sequence,
    depth: u64,
    leaves: &mut u64,
) -> (htb::Class, String) {
    let line = 8_000_000_000_000 / sequence.byte;
    let rate = 1 + random.below(line / 2 + 1);
    let ceil = rate + random.below(line);
    let [rate_of, ceil_of] = [rate, ceil].map(|rate| Rate::from_bits_per_second(rate).unwrap());
    let mut class = htb::Class::leaf(rate_of, ceil_of);
    class.burst = Size::from_bytes(random.below(6_000));
    class.cburst = Size::from_bytes(random.below(6_000));
    class.prio = random.below(3) as u32;
    class.quantum = 1 + random.below(3_000) as u32;
    let (mut classes, mut inner) = (Vec::new(), "null".to_owned());
    if depth > 0 && random.below(2) == 0 {
        for _ in 0..1 + random.below(3) {
            let (one, keys) = htb_class(random, sequence, depth - 1, leaves);
            class.classes.push(one);
            classes.push(keys);
        }
    } else {
        *leaves += 1;
        let (config, keys) = child(random, sequence);
        class.child = Some(Box::new(config));
        inner = keys;
    }
    let keys = format!(
        "{{\"rate\":{rate},\"ceil\":{ceil},\"burst\":{},\"cburst\":{},\"prio\":{},\"quantum\":{},\"classes\":[{}],\
         \"child\":{inner}}}",
        class.burst.bytes(),
        class.cburst.bytes(),
        class.prio,
        class.quantum,
        classes.join(","),
    );
    (class, keys)
}

#[test]
fn htb_is_that_of_its_model() {
    compare("htb", |random, sequence| {
        let (mut classes, mut json, mut leaves) = (Vec::new(), Vec::new(), 0);
        for _ in 0..1 + random.below(2) {
            let (class, keys) = htb_class(random, sequence, 3, &mut leaves);
            classes.push(class);
            json.push(keys);
        }
        let (by, priomap, keys) = by(random, leaves);
        let keys = format!("\"classes\":[{}],{keys}", json.join(","));
        let config = htb::Config {
            classes,
            by,
            priomap,
        };
        (Config::Htb(config), keys)
    });
}
