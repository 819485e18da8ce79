//! One lab run many times: what comes of it is what single runs give.

use lab::sweep::{Measure, Outcome, Sweep, SweepError};
use lab::{Options, Registry, World};
use std::path::{Path, PathBuf};

const LOSSY: &str = "\
[lab]
name = 'lossy'
seed = 3

[node.a]
kind = 'generator'
gap = '1 us'
count = 500

[node.b]
kind = 'sink'

[[link]]
ends = ['a.0', 'b.0']
rate = '1 Gb/s'
loss = 0.1
";

fn file(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sweeps");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, text).unwrap();
    file
}

/// A lab with another seed.
fn seeded(text: &str, seed: u64) -> lab::Lab {
    let seed = seed.to_string();
    let registry = Registry::standard();
    let lab = registry.parse_with(text, None, World::Sim, &[("lab.seed", &seed)]);
    lab.unwrap_or_else(|faults| panic!("{faults}"))
}

fn sweep(file: &Path, axes: &[&str], seeds: u64, threads: usize) -> Sweep {
    Sweep {
        file: file.into(),
        set: Vec::new(),
        axes: axes.iter().map(|axis| axis.parse().unwrap()).collect(),
        seeds: (3, seeds),
        threads,
        options: Options::default(),
    }
}

fn ran(sweep: &Sweep) -> Outcome {
    let outcome = sweep.run(&Registry::standard(), &|_| ());
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_sweep_is_a_loop_over_single_runs() {
    let path = file("loop", LOSSY);
    let outcome = ran(&sweep(
        &path,
        &["link.0.loss=0,0.1,0.5", "node.a.count=100..500:3"],
        4,
        2,
    ));
    assert_eq!((outcome.points.len(), outcome.done()), (9, 36));
    let mut points = outcome.points.iter();
    let mut different = 0;
    for loss in ["0", "0.1", "0.5"] {
        for count in ["100", "300", "500"] {
            let point = points.next().unwrap();
            let texts: Vec<&str> = point.values.iter().map(|value| &value.text[..]).collect();
            assert_eq!(texts, [loss, count]);
            let text = LOSSY.replace("loss = 0.1", &format!("loss = {loss}"));
            let text = text.replace("count = 500", &format!("count = {count}"));
            let mut delays = Vec::new();
            for (seed, told) in (3..7).zip(&point.runs) {
                let lab = seeded(&text, seed);
                let report = lab::run(&lab, World::Sim, &Options::default()).unwrap();
                let headline = report.headline();
                let alone = Measure::ALL.map(|measure| measure.of(&report, &headline));
                assert_eq!(*told, alone, "{loss} {count} {seed}");
                let at_b = report.rows.iter().find(|row| row.at == "b.0").unwrap();
                assert_eq!(headline.arrived, Some(at_b.statistics.packets()));
                delays.push(at_b.statistics.packets() as f64);
            }
            different += usize::from(delays.windows(2).any(|pair| pair[0] != pair[1]));
            let lost = point.estimate(Measure::Loss).unwrap();
            let expected = 1.0 - delays.iter().sum::<f64>() / 4.0 / count.parse::<f64>().unwrap();
            assert!((lost.mean - expected).abs() < 1e-12, "{lost:?} {expected}");
        }
    }
    // Seeds make a difference where there is luck, and none where there is not.
    assert_eq!(different, 6);
}

#[test]
fn what_is_on_its_way_at_the_end_is_not_lost() {
    // Half of what was sent has not had the time to come.
    let far = "rate = '1 Gb/s'\ndelay = '250 us'";
    let text = LOSSY.replace("rate = '1 Gb/s'", far);
    let text = text.replace("seed = 3", "seed = 3\nduration = '500 us'");
    let options = Options::default();
    for (loss, text) in [(0, text.replace("loss = 0.1", "loss = 0")), (1, text)] {
        let report = lab::run(&lab::parse(&text).unwrap(), World::Sim, &options).unwrap();
        let headline = report.headline();
        let [link, _] = report.outcome.links[0];
        let arrived = headline.arrived.unwrap();
        assert!((200..=250).contains(&arrived), "{arrived}");
        assert!((220..=251).contains(&headline.in_flight), "{headline:?}");
        let lost = headline.sent.unwrap() - arrived - headline.in_flight;
        assert_eq!((lost, lost > 0), (link.lost, loss > 0));
        let share = Measure::Loss.of(&report, &headline).unwrap();
        let wanted = lost as f64 / (lost + arrived) as f64;
        assert!((share - wanted).abs() < 1e-12, "{share} {wanted}");
        let told = format!("probes arrived, {} still on their way", headline.in_flight);
        assert!(report.to_string().contains(&told), "{report}");
    }
}

#[test]
fn the_outcome_is_the_same_to_the_last_byte_on_any_number_of_threads() {
    let path = file("threads", LOSSY);
    let axes = ["link.0.rate=1..10Gb/s:4"];
    let one = ran(&sweep(&path, &axes, 5, 1));
    let measures = one.usual();
    assert!(measures.contains(&Measure::Throughput) && measures.contains(&Measure::Loss));
    for threads in [2, 5, 64] {
        let many = ran(&sweep(&path, &axes, 5, threads));
        assert_eq!(one.json(&measures), many.json(&measures));
        assert_eq!(one.text(&measures), many.text(&measures));
        assert_eq!(one.figure(&measures).svg(), many.figure(&measures).svg());
    }
}

#[test]
fn a_value_or_key_that_is_wrong_is_told_at_its_place_before_anything_runs() {
    let path = file("wrong", LOSSY);
    for (axis, place, wanted) in [
        ("link.0.rate=1Gb/s,fast", ":15:8", "with link.0.rate = fast"),
        ("link.0.loss=0.5,1.5", ":16:8", "a probability"),
        ("node.a.cuont=1..3", ":5:7", "cuont"),
        ("link.3.rate=1Gb/s,2Gb/s", "wrong.toml:", "there is no `3`"),
    ] {
        let error = sweep(&path, &[axis], 2, 2).run(&Registry::standard(), &|_| panic!("it ran"));
        let error = error.unwrap_err();
        let SweepError::Read { with, error } = &error else {
            panic!("{error}");
        };
        let told = format!("with {with}: {error}");
        assert!(
            told.contains(place) && told.contains(wanted),
            "{axis}: {told}"
        );
    }
    let endless = file("endless", &LOSSY.replace("count = 500\n", ""));
    let error = sweep(&endless, &[], 2, 1).run(&Registry::standard(), &|_| ());
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("nothing bounds a run")
    );
}

#[test]
fn a_stopped_sweep_tells_what_is_whole() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static DONE: AtomicUsize = AtomicUsize::new(0);
    let path = file("stopped", LOSSY);
    let mut sweep = sweep(&path, &["node.a.count=100,200"], 10, 1);
    sweep.options.stop = Some(|| DONE.load(Ordering::SeqCst) >= 13);
    let outcome = sweep.run(&Registry::standard(), &|done| {
        DONE.store(done, Ordering::SeqCst)
    });
    let outcome = outcome.unwrap();
    let runs: Vec<usize> = outcome
        .points
        .iter()
        .map(|point| point.runs.len())
        .collect();
    assert_eq!((runs, outcome.asked), (vec![10, 3], 20));
    let text = outcome.text(&outcome.usual());
    assert!(text.contains("stopped: 20 were asked for"), "{text}");
}

#[test]
fn seeds_that_change_nothing_are_told_and_the_seed_is_no_key() {
    let even = file("even", &LOSSY.replace("loss = 0.1", ""));
    let outcome = ran(&sweep(&even, &[], 3, 1));
    assert_eq!(outcome.repeated(), (1, 1));
    let text = outcome.text(&outcome.usual());
    assert!(text.contains("all seeds gave the same figures"), "{text}");
    let mixed = file("mixed", LOSSY);
    let outcome = ran(&sweep(&mixed, &["link.0.loss=0,0.2,0.5"], 3, 1));
    assert_eq!(outcome.repeated(), (1, 3));
    let text = outcome.text(&outcome.usual());
    assert!(text.contains("at 1 of 3 points all seeds gave"), "{text}");
    let fixed = file(
        "fixed",
        &LOSSY.replace("loss = 0.1", "loss = 0.1\nseed = 5"),
    );
    assert_eq!(ran(&sweep(&fixed, &[], 3, 1)).repeated(), (1, 1));
    let error = sweep(&mixed, &["lab.seed=1,2"], 1, 1).run(&Registry::standard(), &|_| ());
    assert!(matches!(error, Err(SweepError::Seed)), "{error:?}");
}
