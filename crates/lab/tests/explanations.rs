//! `[queues] why`: a drop is explained, and what is said to save the packet does.

use lab::{
    Attachments, Finished, Instrument, Lab, Measurement, Options, Registry, Report, Section, World,
};
use node::outcome::Direction;
use parking_lot::Mutex;
use queue::Verdict;
use queue::egress::QueueEvent;
use serde_json::Value;
use std::sync::Arc;

/// A generator of 2 Gb/s, which takes no notice of drops, in front of a link of 1 Gb/s with this queue.
fn bottleneck(queue: &str) -> String {
    format!(
        "[node.a]\nkind = 'generator'\nrate = '2 Gb/s'\nsize = 'imix'\ncount = 4000\nflows = 8\n[node.b]\nkind = 'sink'\n
         [[link]]\nends = ['a.0', 'b.0']\nrate = '1 Gb/s'\ndelay = '3 us'\nforth = {{ queue = {queue} }}\n"
    )
}

const QUEUES: [&str; 15] = [
    "{ kind = 'fifo', limit = 300 }",
    "{ kind = 'fifo', bytes = '90 kB', head_drop = true }",
    "{ kind = 'codel', target = '50 us', interval = '1 ms' }",
    "{ kind = 'fq_codel', target = '100 us', interval = '1 ms', limit = 300, flows = 64 }",
    "{ kind = 'fq_codel', limit = 200 }",
    "{ kind = 'pie', target = '200 us', tupdate = '100 us', max_burst = '1 ms' }",
    "{ kind = 'docsis_pie', rate = '1 Gb/s', target = '200 us', tupdate = '100 us', max_burst = '1 ms', limit = '90 kB' }",
    "{ kind = 'red' }",
    "{ kind = 'dualpi2', target = '200 us', tupdate = '100 us', alpha = 160, beta = 3200 }",
    "{ kind = 'cake', rtt = '1 ms', bandwidth = '800 Mb/s' }",
    "{ kind = 'tbf', rate = '600 Mb/s', burst = '20 kB', limit = '100 kB' }",
    "{ kind = 'policer', rate = '600 Mb/s', burst = '20 kB' }",
    "{ kind = 'prio', bands = [{ kind = 'fifo', limit = 100 }, { kind = 'codel', target = '50 us', interval = '1 ms' }], priomap = [1] }",
    "{ kind = 'drr', classes = [{ quantum = 1514, child = { kind = 'fifo', limit = 40 } }, { quantum = 500, child = { kind = 'codel', target = '50 us', interval = '1 ms' } }] }",
    "{ kind = 'htb', by = 'flow', classes = [{ rate = '300 Mb/s', ceil = '800 Mb/s', child = { kind = 'fifo', limit = 60 } }, { rate = '400 Mb/s', ceil = '800 Mb/s', child = { kind = 'fifo', limit = 80 } }] }",
];

fn parse(registry: &Registry, queue: &str, settings: &[(&str, &str)]) -> Lab {
    let read = registry.parse_with(&bottleneck(queue), None, World::Sim, settings);
    read.unwrap_or_else(|faults| panic!("{queue} {settings:?}\n{faults}"))
}

fn run(lab: &Lab) -> Report {
    lab::run(lab, World::Sim, &Options::default()).unwrap()
}

fn lines(report: &Report, kind: &str) -> Vec<Value> {
    let lines = report.json();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.filter(|line: &Value| line["type"] == kind).collect()
}

/// Verdicts on the packets of the first link, by their number, from 1.
#[derive(Clone, Debug, Default)]
struct Verdicts(Arc<Mutex<Told>>);

/// The verdicts, and the number of the packet with each handle.
type Told = (Vec<Option<Verdict>>, Vec<usize>);

impl Instrument for Verdicts {
    fn attach(&self, attachments: &mut Attachments<'_>) -> Option<Box<dyn Measurement>> {
        let own = self.0.clone();
        attachments.on_queue(0, Direction::Forth, move |event| {
            let (verdicts, numbers) = &mut *own.lock();
            match event {
                QueueEvent::Offered { packet, .. } => {
                    let handle = packet.handle as usize;
                    numbers.resize(numbers.len().max(handle + 1), 0);
                    verdicts.push(None);
                    numbers[handle] = verdicts.len();
                }
                QueueEvent::Decided(decision) => {
                    let number = numbers[decision.packet.handle as usize];
                    verdicts[number - 1].get_or_insert(decision.verdict);
                }
                _ => {}
            }
        });
        Some(Box::new(Verdicts::default()))
    }
}

impl Measurement for Verdicts {
    fn finish(&self, _: &Finished<'_>) -> Option<Arc<dyn Section>> {
        None
    }
}

#[test]
fn in_a_run_with_a_change_that_is_named_the_packet_is_not_dropped() {
    let (mut explained, mut changed) = (0, 0);
    for queue in QUEUES {
        for number in [1, 7, 40] {
            let number = number.to_string();
            let lab = parse(&Registry::standard(), queue, &[("queues.why", &number)]);
            let report = run(&lab);
            let [why] = &lines(&report, "why")[..] else {
                panic!("{queue} {number}: {}", report.text(false));
            };
            assert_eq!(why["number"].to_string(), number, "{queue}");
            assert_eq!(why["verdict"], "dropped", "{queue}: {why}");
            explained += 1;
            let packet = why["packet"].as_u64().unwrap() as usize;
            for change in lines(&report, "why_change") {
                let [parameter, to] = ["parameter", "to"].map(|key| change[key].as_str().unwrap());
                let key = match parameter {
                    "rate of the link" => "link.0.rate".to_owned(),
                    other => format!("link.0.forth.queue.{other}"),
                };
                let verdicts = Verdicts::default();
                let own = verdicts.clone();
                let registry = Registry::standard().with_instrument(move || own.clone());
                run(&parse(&registry, queue, &[(&key, to)]));
                let now = verdicts.0.lock().0[packet - 1];
                assert_ne!(now, Some(Verdict::Dropped), "{queue} {number}: {change}");
                changed += 1;
            }
        }
    }
    assert!(explained == 45 && changed > 100, "{explained} {changed}");
}

#[test]
fn an_explanation_says_what_the_queue_was_made_of() {
    for queue in QUEUES {
        let lab = parse(&Registry::standard(), queue, &[("queues.why", "a.0/30")]);
        let report = run(&lab);
        let [why] = &lines(&report, "why")[..] else {
            panic!("{queue}");
        };
        let ahead = lines(&report, "why_queue");
        let sum = |key: &str| ahead.iter().map(|line| line[key].as_u64().unwrap()).sum();
        let (packets, bytes): (u64, u64) = (sum("packets"), sum("length_bytes"));
        assert!(
            ahead.len() <= 8 && bytes >= 60 * packets,
            "{queue}: {ahead:?}"
        );
        // A drop at the tail finds the queue as it is; it counts itself.
        let at_once = why["offered_ps"] == why["decided_ps"];
        assert_eq!(why["found_packets"], packets, "{queue}: {why}");
        assert_eq!(why["found_bytes"], bytes, "{queue}: {why}");
        if at_once && why["reason"] == "full" {
            assert_eq!(why["backlog_packets"], packets + 1, "{queue}: {why}");
            let own = why["length_bytes"].as_u64().unwrap();
            assert_eq!(why["backlog_bytes"], bytes + own, "{queue}: {why}");
        }
        let text = report.text(false);
        let reason = why["reason"].as_str().unwrap();
        for wanted in [
            format!("of a.0 was dropped, reason {reason}: 30 of"),
            format!("{} bytes", why["length_bytes"]),
            why["flow"].as_str().unwrap().to_owned(),
        ] {
            assert!(text.contains(&wanted), "{queue}: {wanted}\n{text}");
        }
    }
}

#[test]
fn what_cannot_be_explained_is_said() {
    let fifo = "{ kind = 'fifo', limit = 300 }";
    let standard = Registry::standard();
    for (why, wanted) in [
        (
            "codel",
            "nothing to explain for `codel`: drops and marks are full",
        ),
        (
            "99999",
            "nothing to explain for `99999`: drops and marks are full",
        ),
        (
            "10 s",
            "nothing to explain for `10 s`: drops and marks are full",
        ),
    ] {
        let report = run(&parse(&standard, fifo, &[("queues.why", why)]));
        assert!(
            report.text(false).contains(wanted),
            "{}",
            report.text(false)
        );
        assert!(lines(&report, "why").is_empty());
        let [line] = &lines(&report, "why_not")[..] else {
            panic!("{why}");
        };
        assert!(line["reason"].as_str().unwrap().contains(wanted), "{line}");
    }
    let roomy = "{ kind = 'fifo', limit = 100000 }";
    let report = run(&parse(&standard, roomy, &[("queues.why", "1")]));
    assert!(
        report
            .text(false)
            .contains("no packet was dropped or marked")
    );
    for (queue, why, wanted) in [
        (
            fifo,
            "b.0/1",
            "`b.0` has no queue discipline; there are a.0",
        ),
        (fifo, "cdel", "`cdel` names no drop or mark"),
        (
            "'100 packets'",
            "1",
            "no link of this lab has a queue discipline",
        ),
    ] {
        let read =
            standard.parse_with(&bottleneck(queue), None, World::Sim, &[("queues.why", why)]);
        let told = read.map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(wanted), "{why}: {told}");
    }
}

#[test]
fn the_states_of_a_queue_over_time_account_for_every_packet() {
    let registry = Registry::standard();
    for queue in QUEUES {
        let report = run(&parse(&registry, queue, &[("queues.every", "100 us")]));
        let total = &lines(&report, "queue")[0];
        let states = lines(&report, "queue_series");
        let ended = report.outcome.ended.as_ps();
        assert_eq!(states.len() as u64, ended.div_ceil(100_000_000), "{queue}");
        let count = |state: &Value, key: &str| state[key].as_u64().expect("a number");
        let mut before = [0; 3];
        for (number, state) in states.iter().enumerate() {
            assert_eq!(count(state, "time_ps"), number as u64 * 100_000_000);
            let now = ["sent", "dropped", "marked"].map(|key| count(state, key));
            assert!((0..3).all(|at| before[at] <= now[at]), "{queue} {state}");
            let (packets, bytes) = (count(state, "packets"), count(state, "backlog_bytes"));
            assert!(
                60 * packets <= bytes && bytes <= 1514 * packets,
                "{queue} {state}"
            );
            // 24 bytes of gap, preamble and FCS at 1 Gb/s: 8 ns a byte.
            assert_eq!(count(state, "wait_ps"), 8_000 * (bytes + 24 * packets));
            before = now;
        }
        let last = states.last().expect("a state");
        let known = count(last, "packets") + before[0] + before[1];
        // Packets after the last state: a policer has no queue, and is done when the generator is.
        let later = 4_000 - known;
        assert!(
            later == 0 || queue.contains("policer") && later < 300,
            "{queue} {later}"
        );
        for (key, before) in ["sent", "dropped", "marked"].into_iter().zip(before) {
            let left = count(total, key) - before;
            assert!(
                left <= count(last, "packets") + later,
                "{queue} {key} {left}"
            );
        }
    }
}
