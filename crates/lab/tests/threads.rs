//! A lab in simulated time does the same on any number of threads: report, captures and plots, to the last byte.

use crate::examples::labs_below;
use lab::{LabError, Options, World};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The report, and the files that were written, by name.
type Came = (String, BTreeMap<String, Vec<u8>>);

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
    Ok((format!("{report}\n{}", report.json()), files))
}

#[test]
fn every_example_is_the_same_on_any_number_of_threads() {
    let mut labs = Vec::new();
    labs_below(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"),
        &mut labs,
    );
    let (left, compared) = (Mutex::new(labs.into_iter()), AtomicUsize::new(0));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    // Runs of one thread leave the other processors idle.
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(file) = { left.lock().unwrap().next() } {
                    compared.fetch_add(usize::from(compare(&file)), Ordering::Relaxed);
                }
            });
        }
    });
    let compared = compared.into_inner();
    assert!(compared > 15, "{compared}");
}

/// Whether the lab of this file runs in simulated time; what it does on several threads is what it does on one.
fn compare(file: &Path) -> bool {
    let Ok(lab) = lab::read(file) else {
        return false;
    };
    // Programs take long.
    if lab.commands().next().is_some() {
        return false;
    }
    let one = match run(&lab, file, 1) {
        Err(LabError::OnlyLive { .. }) => return false,
        one => one.unwrap(),
    };
    for threads in [2, 5] {
        let more = run(&lab, file, threads).unwrap();
        let name = file.display();
        assert_eq!(more.0, one.0, "{name}, {threads} threads");
        assert!(more.1 == one.1, "{name}, {threads} threads: other files");
    }
    true
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
    assert!(one.1["three.pcapng"].len() > 100_000);
    for threads in [2, 3, 8] {
        let more = run(&lab, file, threads).unwrap();
        assert_eq!(more.0, one.0, "{threads} threads");
        assert!(more.1 == one.1, "{threads} threads: another capture");
    }
}
