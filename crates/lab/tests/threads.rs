//! A lab in simulated time does the same on any number of threads: report, captures and plots, to the last byte.

use lab::{LabError, Options, World};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn labs_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            labs_below(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            found.push(path);
        }
    }
}

/// The report, and the files that were written, by name.
type Came = (String, BTreeMap<String, Vec<u8>>);

fn run(lab: &lab::Lab, file: &Path, threads: usize) -> Result<Came, LabError> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("threads")
        .join(&lab.name);
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
    let mut compared = 0;
    for file in labs {
        let Ok(lab) = lab::read(&file) else { continue };
        // Programs take long.
        if lab.commands().next().is_some() {
            continue;
        }
        let one = match run(&lab, &file, 1) {
            Err(LabError::OnlyLive { .. }) => continue,
            one => one.unwrap(),
        };
        for threads in [2, 5] {
            let more = run(&lab, &file, threads).unwrap();
            let name = file.display();
            assert_eq!(more.0, one.0, "{name}, {threads} threads");
            assert!(more.1 == one.1, "{name}, {threads} threads: other files");
        }
        compared += 1;
    }
    assert!(compared > 15, "{compared}");
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
