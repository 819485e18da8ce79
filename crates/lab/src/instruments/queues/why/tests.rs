//! Explanations against the disciplines' own accounts, over random trees of disciplines.

use super::*;
use crate::plan::instrument::{Attachments, Finished, Instrument, Measurement, Section};
use crate::{Options, Registry, World};
use node::outcome::Direction;
use node::random::Random;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Keeps the history of the first link's queue.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<History>>);

impl Instrument for Recorder {
    fn attach(&self, attachments: &mut Attachments<'_>) -> Option<Box<dyn Measurement>> {
        let own = self.0.clone();
        attachments.on_queue(0, Direction::Forth, move |event| own.lock().see(event));
        Some(Box::new(Recorder::default()))
    }
}

impl Measurement for Recorder {
    fn finish(&self, _: &Finished<'_>) -> Option<Arc<dyn Section>> {
        None
    }
}

/// A discipline with its children as a file has it, for some 2 Gb/s in front of 1 Gb/s.
fn queue(random: &mut Random, depth: u64) -> String {
    let limit = 1 + random.below(120);
    let is_tree = depth > 0 && random.below(3) > 0;
    let inner = |random: &mut Random| queue(random, depth.saturating_sub(1));
    let kind = random.below(9);
    if !is_tree {
        let head_drop = random.below(2) == 0;
        let ecn = random.below(2) == 0;
        return match kind {
            0 => format!("{{ kind = 'fifo', limit = {limit}, head_drop = {head_drop} }}"),
            1 => format!("{{ kind = 'fifo', bytes = '{limit} kB', time = '300 us' }}"),
            2 => format!("{{ kind = 'codel', target = '20 us', interval = '200 us', limit = {limit}, ecn = {ecn} }}"),
            3 => format!(
                "{{ kind = 'fq_codel', target = '20 us', interval = '200 us', limit = {limit}, flows = 16, ecn = {ecn} }}"
            ),
            4 => "{ kind = 'pie', target = '100 us', tupdate = '50 us', max_burst = '0 s', alpha = 200, beta = 2000 }".into(),
            5 => "{ kind = 'docsis_pie', rate = '1 Gb/s', target = '200 us', tupdate = '100 us', max_burst = '0 s', limit = '60 kB' }".into(),
            6 => "{ kind = 'red', min = '3 kB', max = '20 kB', limit = '60 kB', wlog = 3 }".into(),
            7 => format!("{{ kind = 'dualpi2', target = '100 us', tupdate = '50 us', alpha = 160, beta = 3200, limit = {limit} }}"),
            _ => format!("{{ kind = 'cake', rtt = '1 ms', memlimit = '{limit} kB', diffserv = 'diffserv4' }}"),
        };
    }
    let children: Vec<String> = (0..1 + random.below(4)).map(|_| inner(random)).collect();
    let first = &children[0];
    match kind % 6 {
        0 => format!("{{ kind = 'tbf', rate = '600 Mb/s', burst = '20 kB', child = {first} }}"),
        1 => format!("{{ kind = 'policer', rate = '900 Mb/s', burst = '60 kB', child = {first} }}"),
        2 => format!(
            "{{ kind = 'varying', rates = [['0 s', '900 Mb/s'], ['1 ms', '300 Mb/s']], repeat = '2 ms', child = {first} }}"
        ),
        3 => format!(
            "{{ kind = 'prio', by = 'flow', priomap = [], bands = [{}] }}",
            children.join(", ")
        ),
        4 => {
            let classes = children
                .iter()
                .map(|child| format!("{{ quantum = 700, child = {child} }}"));
            format!(
                "{{ kind = 'drr', classes = [{}] }}",
                classes.collect::<Vec<_>>().join(", ")
            )
        }
        _ => {
            let classes = children.iter().map(|child| {
                format!("{{ rate = '100 Mb/s', ceil = '700 Mb/s', child = {child} }}")
            });
            let classes: Vec<_> = classes.collect();
            format!(
                "{{ kind = 'htb', by = 'flow', classes = [{{ rate = '900 Mb/s', classes = [{}] }}] }}",
                classes.join(", ")
            )
        }
    }
}

#[test]
fn figures_of_an_explanation_are_those_of_the_queue_that_it_names() {
    let (mut checked, mut names, mut in_classes) = (0, BTreeSet::new(), 0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let text = queue(&mut random, 3);
        let lab = format!(
            "[lab]\nseed = {seed}\n[node.a]\nkind = 'generator'\nrate = '2 Gb/s'\nsize = 'imix'\ncount = 1200\nflows = 24\n\
             [node.b]\nkind = 'sink'\n[[link]]\nends = ['a.0', 'b.0']\nrate = '1 Gb/s'\ndelay = '3 us'\nforth = {{ queue = {text} }}\n"
        );
        let recorder = Recorder::default();
        let own = recorder.clone();
        let registry = Registry::standard().with_instrument(move || own.clone());
        let lab = registry.parse_with(&lab, None, World::Sim, &[]);
        let lab = lab.unwrap_or_else(|faults| panic!("{text}\n{faults}"));
        crate::run(&lab, World::Sim, &Options::default()).unwrap();
        let plan = &lab.links[0];
        let queue = Queue {
            at: "a.0",
            config: plan.disciplines[0].as_ref().unwrap(),
            channel: &plan.link.channels[0],
            seed: plan.queue_seed(lab.seed, Direction::Forth),
            history: recorder.0.lock(),
        };
        let history = &queue.history;
        let replay = Replay::new(queue.channel, queue.seed, &history.offers)
            .with_segments(&history.segments);
        let step = (history.decided.len() / 12).max(1);
        for (nth, decided) in history.decided.iter().enumerate().step_by(step) {
            let decision = &decided.decision;
            let place = Place::of(&queue, decided);
            // The discipline's own account, against the packets that came and have not left.
            let waiting = history.waiting(decided);
            let inside = waiting.filter(|offer| place.has(history, *offer));
            assert_eq!(
                history.size(inside),
                decision.backlog,
                "{text}\n{decision:?}"
            );
            let found = Explanation::with(&queue, nth, decided, Changes::NoReplay);
            let sum = found
                .ahead
                .iter()
                .fold(Backlog::default(), |sum, share| Backlog {
                    packets: sum.packets + share.packets,
                    bytes: sum.bytes + share.bytes,
                });
            assert_eq!(sum, found.found, "{text}");
            assert!(
                decision.depth > 0 || found.all == decision.backlog,
                "{text}"
            );
            let all = history.size(history.found(decided.offer));
            assert_eq!(all.packets, found.found.packets + found.elsewhere.packets);
            assert_eq!(all.bytes, found.found.bytes + found.elsewhere.bytes);
            if decision.reason == Reason::Full && found.offered == decision.at {
                let mut with_own = found.found;
                with_own.add(decision.packet.len);
                assert_eq!(with_own, decision.backlog, "{text}\n{decision:?}");
            }
            // A packet that is marked a second time had its first fate before.
            let is_first = history.decided[..nth]
                .iter()
                .all(|other| other.offer != decided.offer);
            let fate = replay.fate(queue.config, decided.offer);
            assert!(
                !is_first || fate == Ok(Fate::of(decision)),
                "{text}\n{fate:?} {decision:?}"
            );
            assert_eq!(place.path().len() as u32, decision.depth, "{text}");
            in_classes += u32::from(decision.depth > 0);
            names.insert(found.queue.split(' ').next().unwrap_or_default().to_owned());
            checked += 1;
        }
    }
    assert!(checked > 300 && in_classes > 100, "{checked} {in_classes}");
    assert!(names.len() >= 9, "{names:?}");
}
