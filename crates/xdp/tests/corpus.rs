//! Our own corpus in the kernel: the packets that its STF files expect come out.

use p4::compile::{Options, compile};
use p4::library::WithFiles;
use pipeline::architecture::{Config, Pipeline};
use pipeline::environment::Environment;
use pipeline::stf;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xdp::Xdp;

/// Whether programs can be loaded here; if not, the test is skipped and says why.
pub(crate) fn allowed() -> bool {
    match live::ebpf::Map::new(2, 4, 8, 1, 0, None) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("skipped: no maps of eBPF can be made here ({error}); it needs CAP_BPF");
            false
        }
    }
}

/// A program of the project with its tables.
pub(crate) fn environment(program: &Path) -> Arc<Environment> {
    let name = program.display().to_string();
    let text = std::fs::read_to_string(program).expect(&name);
    let folder = program.parent().expect("it is in a folder");
    let compiled = compile(
        &name,
        &text,
        &mut WithFiles(|name: &str| std::fs::read_to_string(folder.join(name)).ok()),
        &Options::default(),
    );
    let program_of = compiled.program.expect(&name);
    let environment = Environment::new(Arc::new(program_of), Default::default());
    Arc::new(environment.expect(&name))
}

/// What came of a program's test: how many expectations it met, how many packets the kernel ran and did not take; or why the kernel does not run it.
fn run(program: &Path) -> Result<[u64; 3], String> {
    let name = program.display().to_string();
    let environment = environment(program);
    let engine = Xdp::new(&environment).expect(&name);
    let tally = engine.tally();
    let pipeline = Pipeline::new(&environment, Box::new(engine), &Config::default());
    let mut pipeline = pipeline.map_err(|why| why.message)?;
    let script = std::fs::read_to_string(program.with_extension("stf")).expect(&name);
    let script = stf::parse(&script).unwrap_or_else(|_| panic!("{name}: its test has faults"));
    let outcome = stf::run(&script, &mut pipeline);
    assert!(
        outcome.failures.is_empty(),
        "{name}: {:?}",
        outcome.failures
    );
    let count =
        |count: &std::sync::atomic::AtomicU64| count.load(std::sync::atomic::Ordering::Relaxed);
    Ok([
        outcome.met as u64,
        count(&tally.kernel),
        count(&tally.interpreter),
    ])
}

/// A program of the corpus for the kernel, which nobody loads.
fn made(name: &str) -> Result<xdp::Object, xdp::Error> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/p4");
    xdp::program(&environment(&folder.join(name)))
}

#[test]
fn what_the_kernel_cannot_do_is_told_with_its_place_and_all_at_once() {
    let Err(xdp::Error::Unsupported(faults)) = made("wide_requests.p4") else {
        panic!("it clones");
    };
    assert!(faults.len() >= 3, "{faults:?}");
    assert!(
        faults.iter().all(|fault| fault.span.is_some()),
        "{faults:?}"
    );
    for name in ["`clone`", "`clone_preserving_field_list`"] {
        let named = |fault: &pipeline::environment::Unsupported| fault.message.contains(name);
        assert!(faults.iter().any(named), "{name}: {faults:?}");
    }
}

#[test]
fn the_listing_names_maps_and_instructions() {
    let listing = made("matches.p4")
        .expect("it is for the kernel")
        .to_string();
    for part in [
        "PerCpuArray for Frame",
        "LpmTrie for Table",
        "ArrayOfMaps for Table",
        "r1 = map",
        "exit",
    ] {
        assert!(listing.contains(part), "{part} is not in\n{listing}");
    }
}

#[test]
fn the_corpus_passes_in_the_kernel_or_says_what_the_kernel_cannot_do() {
    if !allowed() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Another corpus, or ours.
    let other = std::env::var_os("XDP_CORPUS");
    let ours = other.is_none();
    let mut folders = vec![other.map_or(root.join("testdata/p4"), PathBuf::from)];
    let examples = std::fs::read_dir(root.join("examples")).expect("they are here");
    folders.extend(examples.map(|entry| entry.expect("an entry").path()));
    let (mut passed, mut sums) = (0, [0; 3]);
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        let files = std::fs::read_dir(folder).expect("a folder");
        let files = files.map(|entry| entry.expect("an entry").path());
        let tested = |path: &PathBuf| {
            path.extension().is_some_and(|e| e == "p4") && path.with_extension("stf").exists()
        };
        for program in files.filter(tested) {
            match run(&program) {
                Ok(counts) => {
                    passed += 1;
                    for (sum, count) in sums.iter_mut().zip(counts) {
                        *sum += count;
                    }
                    println!("{}: {counts:?}", program.display());
                }
                Err(why) => println!("{}: {why}", program.display()),
            }
        }
    }
    let [met, kernel, interpreter] = sums;
    let told = format!(
        "{passed} programs, {met} expectations, {kernel} packets in the kernel and {interpreter} not"
    );
    println!("{told}");
    assert!(
        !ours || (passed >= 30 && met >= 250 && kernel > 10 * interpreter),
        "{told}"
    );
}
