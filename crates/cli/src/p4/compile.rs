//! `wire p4 compile`

use super::source::{Reading, count};
use crate::Verdict;
use anyhow::{Context, anyhow};
use confine::Permissions;
use lab::engine::describe;
use pipeline::environment::{Environment, Options};
use std::path::PathBuf;
use std::sync::Arc;
use verilog::{Design, LIBRARY};

/// Make hardware of a program, or show what the kernel is given
///
/// For Verilog the folder gets the top module, with AXI streams for packets and a register bus, the pipeline, the modules that all
/// programs share, and the map of the registers as JSON and as a header for C. What the program asks for that is no hardware is told with its place.
/// For XDP it gets the maps and instructions of eBPF as text: what `wire p4 run --engine xdp` loads.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire p4 compile --target verilog router.p4 -o router-rtl
  wire p4 compile --target xdp router.p4 -o router-xdp")]
pub struct Compile {
    /// The program
    program: PathBuf,
    /// What to make
    #[arg(long, value_enum)]
    target: Target,
    /// The folder for the files; made if it is not there
    #[arg(long, short, value_name = "FOLDER")]
    output: PathBuf,
    /// Bits of a word of the streams: 64, 128, 256 or 512
    #[arg(long, value_name = "BITS", default_value_t = 512, value_parser = width)]
    width: u32,
    /// The parser looks at so many bytes of a packet, at most
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(64..=2048))]
    window: u64,
    /// Levels of logic between two registers: fewer are a faster clock and more cycles
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(2..=100))]
    levels: u32,
    /// Leave out optimisations of the hardware: `parallel`, `shared`, `cut-parser`, with commas between them
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true
    )]
    without: Vec<Optimisation>,
    /// Tables of exact keys: four hashes, or a binary CAM in memories, which compares all rows
    #[arg(long, value_enum, value_name = "KIND", default_value_t = Exact::Hash)]
    exact: Exact,
    /// Performance counters of parser, tables and deparser on the register bus
    #[arg(long)]
    counters: bool,
    #[command(flatten)]
    reading: Reading,
}

/// Bits of a word of the streams.
pub fn width(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bits @ (64 | 128 | 256 | 512)) => Ok(bits),
        _ => Err("give 64, 128, 256 or 512".into()),
    }
}

/// What makes the hardware smaller or faster.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Optimisation {
    /// Tables that do not depend on each other are asked in the same cycle
    Parallel,
    /// An operator on the same values is there once, and one adder for actions of which one runs
    Shared,
    /// The parser's logic is cut into cycles
    CutParser,
}

/// How a table of exact keys is built.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Exact {
    /// Four hashes and memories
    Hash,
    /// A binary CAM in memories
    Cam,
}

/// What a program is compiled to.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Target {
    /// Verilog 2005 for FPGAs
    Verilog,
    /// Instructions of eBPF, to be read
    Xdp,
}

impl Compile {
    /// Compiles the program.
    ///
    /// # Errors
    /// When it has errors or is no hardware, or files cannot be written.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let folder = &self.output;
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        confine::reader(Permissions {
            writes: true,
            ..Permissions::default()
        })?;
        let compiled = self.reading.load_valid(&self.program)?;
        let shown = self.program.display();
        let program = compiled.program.clone();
        let program = program
            .ok_or_else(|| anyhow!("{shown} has no `main`, so that there is nothing to make"))?;
        let place = |span: p4::source::Span| {
            let at = compiled.sources.location(span.start)?;
            Some(format!("{}:{}", at.file, at.line))
        };
        let stem = self
            .program
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        let options = verilog::Options {
            name: stem.as_deref().unwrap_or("program"),
            width: self.width,
            window: self.window,
            levels: self.levels,
            optimise: verilog::Optimise {
                parallel: !self.without.contains(&Optimisation::Parallel),
                shared: !self.without.contains(&Optimisation::Shared),
                cut_parser: !self.without.contains(&Optimisation::CutParser),
            },
            cam: matches!(self.exact, Exact::Cam),
            performance: self.counters,
            place: &place,
        };
        let told = |unsupported| anyhow!(describe(&unsupported, &compiled));
        let environment = Environment::new(Arc::new(program), Options::default()).map_err(told)?;
        let environment = Arc::new(environment);
        if let Target::Xdp = self.target {
            let object = super::kernel::program(&environment, &compiled)?;
            let file = folder.join(options.name).with_extension("ebpf.txt");
            ::capture::output::replace(&file, object.to_string().as_bytes())?;
            eprintln!(
                "wire: {}: {}, {}",
                file.display(),
                count(object.code.len(), "instruction"),
                count(object.maps.len(), "map")
            );
            return Ok(Verdict::Good);
        }
        let design = Design::of(&environment, &options).map_err(told)?;
        for warning in &design.warnings {
            eprintln!("wire: warning: {warning}");
        }
        let own = design
            .files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        let (json, header) = (
            format!("{}.json", design.name),
            format!("{}.h", design.name),
        );
        let (map, c) = (design.map.json(), design.map.c_header(&design.name));
        let maps = [(json.as_str(), map.as_str()), (header.as_str(), c.as_str())];
        for (name, text) in own.chain(LIBRARY).chain(maps) {
            ::capture::output::replace(&folder.join(name), text.as_bytes())?;
        }
        eprintln!(
            "wire: {}: module {}, streams of {} bits, {} in the pipeline, a window of {} bytes, {} and {}",
            folder.display(),
            design.name,
            design.width,
            count(design.stages as usize, "cycle"),
            design.window,
            count(design.map.tables.len(), "table"),
            match design.map.memories.len() {
                1 => "1 memory".into(),
                more => format!("{more} memories"),
            }
        );
        if !design.alone.is_empty() {
            eprintln!(
                "wire: one packet at a time: a table or another register stands between reading and writing {}",
                design.alone.join(", ")
            );
        }
        Ok(Verdict::Good)
    }
}
