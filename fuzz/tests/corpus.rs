//! Every target on its corpus and on inputs near it. `make fuzz` looks further, with libFuzzer.

use fuzz::{TARGETS, Target};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Inputs near the corpus, for each target. An input of `programs` is a program that is compiled for two engines.
fn runs(target: &str) -> u64 {
    let runs = std::env::var("FUZZ_RUNS").map_or(1_000, |text| text.parse().expect("a number"));
    if target == "programs" {
        runs / 50
    } else {
        runs
    }
}

/// splitmix64
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }

    /// One of the seeds with some bytes changed, gone, or taken from another one.
    fn near(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let Some(seed) = seeds.get(self.below(seeds.len())) else {
            return (0..self.below(64)).map(|_| self.below(256) as u8).collect();
        };
        let mut input = seed.clone();
        for _ in 0..=self.below(3) {
            let at = self.below(input.len());
            match self.below(6) {
                0 if !input.is_empty() => input[at] = self.below(256) as u8,
                1 if !input.is_empty() => input[at] ^= 1 << self.below(8),
                2 if !input.is_empty() => drop(input.remove(at)),
                3 => input.truncate(at),
                4 => {
                    let other = &seeds[self.below(seeds.len())];
                    let from = self.below(other.len());
                    let until = (from + self.below(32)).min(other.len());
                    input.splice(at..at, other[from..until].iter().copied());
                }
                _ => input.insert(at, self.below(256) as u8),
            }
        }
        input
    }
}

/// The files of a folder, in the order of their names; none where there is no such folder.
fn corpus(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return vec![];
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .map(|file| (file.clone(), fs::read(file).unwrap()))
        .collect()
}

/// Runs a target on its corpus and on what is near it.
///
/// # Errors
/// Which file holds the input on which it panicked.
fn explore(name: &str, target: impl Fn(&[u8]), folder: &Path) -> Result<(), String> {
    let passes = |input: &[u8]| catch_unwind(AssertUnwindSafe(|| target(input))).is_ok();
    let files = corpus(folder);
    for (file, input) in &files {
        if !passes(input) {
            return Err(format!("{name} fails on {}", file.display()));
        }
    }
    let seeds: Vec<Vec<u8>> = files.into_iter().map(|(_, bytes)| bytes).collect();
    let mut random = Random(1);
    for _ in 0..runs(name) {
        let input = random.near(&seeds);
        if !passes(&input) {
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
            fs::write(&file, input).unwrap();
            return Err(format!("{name} fails on {}", file.display()));
        }
    }
    Ok(())
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name)
}

#[test]
fn every_target_takes_its_corpus_and_what_is_near_it() {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(vec![]);
    let work = || {
        while let Some((name, target)) = TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(failure) = explore(name, target, &folder(name)) {
                failures.lock().unwrap().push(failure);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn an_input_on_which_a_target_fails_is_kept() {
    let none: Target = |data| assert!(data.len() < 10);
    let told = explore("no-corpus", none, &folder("there is none")).unwrap_err();
    let kept = told.strip_prefix("no-corpus fails on ").unwrap();
    assert!(fs::read(kept).unwrap().len() >= 10);
    // A file of the corpus is named itself.
    let told = explore("line", |_| panic!("as a target may"), &folder("line")).unwrap_err();
    assert!(told.contains("corpus/line/"), "{told}");
}

#[test]
fn each_folder_of_the_corpus_belongs_to_a_target() {
    for entry in fs::read_dir(folder("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(TARGETS.iter().any(|(known, _)| *known == name), "{name}");
    }
}
