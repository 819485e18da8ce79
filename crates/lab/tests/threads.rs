//! A lab in simulated time does the same on any number of threads: report, captures and plots, to the last byte.

use crate::examples::{everything_adds_up, examples, labs_below, side_by_side};
use lab::{LabError, Options, World};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a run came to.
struct Came {
    /// What is printed, and the same as JSON.
    texts: String,
    /// What was written, by name.
    files: BTreeMap<String, Vec<u8>>,
    report: lab::Report,
}

impl Came {
    fn is_same(&self, more: &Came, name: &str) {
        assert_eq!(more.texts, self.texts, "{name}");
        assert!(more.files == self.files, "{name}: other files");
    }
}

fn run(lab: &lab::Lab, file: &Path, threads: usize) -> Result<Came, LabError> {
    // Labs of several files have one name.
    let out = file.display().to_string().replace(['/', '.'], "-");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("threads")
        .join(out);
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out).unwrap();
    let options = Options {
        folder: file.parent().unwrap().into(),
        out: Some(out.clone()),
        threads: Some(threads),
        // Enough for all to be at work, and short enough for a test.
        duration: Some(node::Time::from_ms(50)),
        ..Options::default()
    };
    let report = lab::run(lab, World::Sim, &options)?;
    let mut files = BTreeMap::new();
    let mut folders = vec![out.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(&out).unwrap().display().to_string();
                    files.insert(name, std::fs::read(&path).unwrap());
                }
            }
        }
    }
    Ok(Came {
        texts: format!("{report}\n{}", report.json()),
        files,
        report,
    })
}

#[test]
fn every_example_adds_up_and_is_the_same_on_any_number_of_threads() {
    let mut labs = Vec::new();
    labs_below(&examples(), &mut labs);
    let (ran, flying) = (AtomicU64::new(0), AtomicU64::new(0));
    side_by_side(labs, |file| {
        let name = file.display().to_string();
        match compare(&name, &file) {
            Ok(more) => {
                ran.fetch_add(1, Ordering::Relaxed);
                flying.fetch_add(more, Ordering::Relaxed);
            }
            Err(reason) => println!("{name}: skipped: {reason}"),
        }
    });
    let (ran, flying) = (ran.into_inner(), flying.into_inner());
    assert!(ran >= 30 && flying > 0, "{ran} labs, {flying} in flight");
}

/// What a lab does on several threads is what it does on one, and that adds up; or why the lab does not run here.
///
/// Returns how many frames are on their way in the middle of the run.
fn compare(name: &str, file: &Path) -> Result<u64, String> {
    let lab = flops::add(lab::Registry::standard())
        .read(file, World::Sim)
        .map_err(|error| error.to_string())?;
    // Programs take long.
    if lab.commands().next().is_some() {
        return Err("it runs programs".into());
    }
    let one = match run(&lab, file, 1) {
        Err(error @ LabError::OnlyLive { .. }) => return Err(error.to_string()),
        one => one.unwrap(),
    };
    everything_adds_up(name, &one.report);
    for threads in [2, 5] {
        let more = run(&lab, file, threads).unwrap();
        one.is_same(&more, &format!("{name}, {threads} threads"));
    }
    let links = one.report.outcome.links.iter().flatten();
    Ok(links.filter_map(|link| link.in_flight).sum())
}

/// TCP through a fat tree, with losses, a capture of several places, and statistics that nodes act by.
#[test]
fn a_fat_tree_with_tcp_is_the_same_on_any_number_of_threads() {
    let mut text = String::from(
        r#"
        [lab]
        name = "fat-tree-on-threads"
        duration = "30 ms"
        seed = 3
        [topology]
        kind = "fat-tree"
        k = 4
        link = { rate = "1 Gb/s", delay = "5 us", loss = 0.001 }
        core = { rate = "2 Gb/s" }
        [[capture]]
        file = "three.pcapng"
        at = ["h1.0", "h9.0", "h16.0"]
        resolution = "ps"
        "#,
    );
    for host in 1..=16 {
        let far = (host + 6) % 16 + 1;
        text += &format!(
            "[[node.h{host}.program]]\nrun = \"sink\"\n[[node.h{host}.program]]\nrun = \"bulk\"\nto = \"h{far}\"\n"
        );
    }
    let lab = lab::parse(&text).unwrap_or_else(|faults| panic!("{faults}"));
    let file = Path::new("lab.toml");
    let one = run(&lab, file, 1).unwrap();
    assert!(one.files["three.pcapng"].len() > 100_000);
    for threads in [2, 3, 8] {
        let more = run(&lab, file, threads).unwrap();
        one.is_same(&more, &format!("{threads} threads"));
    }
}
