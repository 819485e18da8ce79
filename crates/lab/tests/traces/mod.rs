//! Running a case, and reading back what its capture holds.

use lab::{LabError, Options, World};
use packet::capture::{Block, Reader, Step};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// A lab, and the ports whose arrivals are compared.
pub struct Case {
    /// What it shows.
    pub name: &'static str,
    /// The lab file, without captures.
    pub lab: &'static str,
    /// The ports.
    pub views: &'static [&'static str],
}

/// What arrived at a port: picoseconds, and the frame.
pub type Trace = Vec<(u64, Vec<u8>)>;

/// The traces of a case's views, in their order.
pub fn run(case: &Case, world: World) -> Result<Vec<Trace>, LabError> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("conformance-{number}"));
    let views: Vec<String> = case
        .views
        .iter()
        .map(|view| format!("\"{view}\""))
        .collect();
    let text = format!(
        "{}\n[[capture]]\nat = [{}]\nfile = \"trace.pcapng\"\nresolution = \"ps\"\n",
        case.lab,
        views.join(", ")
    );
    let lab = lab::parse(&text).unwrap_or_else(|faults| panic!("{}:\n{faults}", case.name));
    let options = Options {
        out: Some(out.clone()),
        ..Options::default()
    };
    lab::run(&lab, world, &options)?;
    let file = std::fs::read(out.join("trace.pcapng")).unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    let mut traces = vec![Trace::new(); case.views.len()];
    let (mut reader, mut rest) = (Reader::default(), &file[..]);
    while let Step::Block { used, block } = reader.next(rest, true).unwrap() {
        if let Block::Packet {
            interface,
            at_ps: Some(at_ps),
            bytes,
            ..
        } = block
        {
            // In live, the days since 1970 do not matter to anybody here.
            traces[interface as usize].push((at_ps as u64, bytes.to_vec()));
        }
        rest = &rest[used..];
    }
    Ok(traces)
}

/// When the frames of a trace arrived.
pub fn times_of(trace: &Trace) -> Vec<u64> {
    trace.iter().map(|(at, _)| *at).collect()
}
