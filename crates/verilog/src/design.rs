//! All of the Verilog of a program.

use crate::Options;
use crate::build::Build;
use crate::graph::{Id, Input};
use crate::map::Map;
use crate::names::identifier;
use crate::schedule::Schedule;
use crate::state::Walk;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use pipeline::architecture::{Config, Pipeline};
use pipeline::engine::Path;
use pipeline::environment::{Environment, Unsupported};
use pipeline::interpreter::Interpreter;

/// Modules that all designs have, by the names of their files.
pub const LIBRARY: [(&str, &str); 7] = [
    (
        "p4_deparser.v",
        include_str!("../../../rtl/p4/rtl/p4_deparser.v"),
    ),
    (
        "p4_exact_table.v",
        include_str!("../../../rtl/p4/rtl/p4_exact_table.v"),
    ),
    ("p4_fifo.v", include_str!("../../../rtl/p4/rtl/p4_fifo.v")),
    (
        "p4_gather.v",
        include_str!("../../../rtl/p4/rtl/p4_gather.v"),
    ),
    (
        "p4_prefix_table.v",
        include_str!("../../../rtl/p4/rtl/p4_prefix_table.v"),
    ),
    (
        "p4_replicator.v",
        include_str!("../../../rtl/p4/rtl/p4_replicator.v"),
    ),
    (
        "p4_ternary_table.v",
        include_str!("../../../rtl/p4/rtl/p4_ternary_table.v"),
    ),
];

/// The queue in which packets wait beside the pipeline has so many words of 64 bytes, as a power of two.
pub(crate) const QUEUE_LOG2: u32 = 9;

/// A program as hardware.
#[derive(Clone, Debug)]
pub struct Design {
    /// The top module.
    pub name: String,
    /// The program's own files; [`LIBRARY`] has the others.
    pub files: Vec<(String, String)>,
    /// What the control side writes where.
    pub map: Map,
    /// How many cycles the pipeline has.
    pub stages: u32,
    /// How many bytes of a packet the parser looks at.
    pub window: u32,
    /// How many bytes the deparser emits, at most.
    pub header: u32,
    /// Packets come in one at a time because of these registers: a table stands between reading and writing.
    pub alone: Vec<String>,
    /// A packet must be there as a whole before it is worked on, since its length is asked for.
    pub whole: bool,
    /// A packet has at most so many bytes.
    pub longest: usize,
    /// What the hardware does otherwise than the program says.
    pub warnings: Vec<String>,
}

impl Design {
    /// Hardware for an environment's program.
    ///
    /// # Errors
    /// What the program asks for that cannot be hardware, or that no engine can do, with the place.
    pub fn of(
        environment: &Arc<Environment>,
        options: &Options<'_>,
    ) -> Result<Design, Unsupported> {
        let interpreter = Interpreter::new(environment)?;
        let pipeline = Pipeline::new(environment, Box::new(interpreter), &Config::default())?;
        match pipeline.path() {
            Some(path) => Design::new(environment, path, options),
            None => Err(Unsupported::from(
                "programs for PSA cannot be hardware here; v1model, `Switch` and `Bump` can",
            )),
        }
    }

    /// Hardware for an environment's program on its architecture's path.
    ///
    /// # Errors
    /// What the program asks for that cannot be hardware, with the place.
    pub fn new(
        environment: &Environment,
        path: &Path,
        options: &Options<'_>,
    ) -> Result<Design, Unsupported> {
        let mut walk = Walk::new(environment, options);
        let verdict = walk.path(path)?;
        let (header, header_bytes) = walk.header()?;
        walk.join_writes();
        let window = (walk.window.div_ceil(8) * 8).max(8) as u32;
        let mut outputs = alloc::vec![
            ("out_reason", verdict.reason),
            ("out_port", verdict.port),
            ("out_header", header),
            ("out_header_bytes", header_bytes),
            ("out_payload", verdict.payload),
            ("out_limit", verdict.truncate),
        ];
        if walk.split.is_some() {
            outputs.push(("out_keep", walk.graph.input(Input::Keep)));
            outputs.push(("out_replay", walk.graph.input(Input::Replay)));
        }
        let roots: Vec<Id> = outputs.iter().map(|(_, id)| *id).collect();
        let schedule = Schedule::new(
            &walk.graph,
            &roots,
            &walk.lookups,
            &walk.accesses,
            options.levels,
            walk.split,
        );
        let mut build = Build::new(environment, &walk, &schedule, window);
        build.objects()?;
        let text = build.pipeline(&identifier(options.name), &outputs, window);
        let map = build.map;
        let alone = schedule
            .alone
            .iter()
            .map(|object| environment.program.objects[object.index()].name.to_string());
        let alone: Vec<String> = alone.collect();
        let whole = text.contains("input  wire [31:0] length,")
            || text.contains("input  wire [15:0] packet_sum,");
        let mut design = Design {
            name: identifier(options.name),
            files: Vec::new(),
            map,
            stages: schedule.last.0 + 1,
            window: window / 8,
            header: walk.graph.width(header) / 8,
            alone,
            whole,
            longest: ((1 << QUEUE_LOG2) - 2) * 64,
            warnings: walk.warnings.clone(),
        };
        let top = design.top(&text);
        design.files.push((format!("{}.v", design.name), top));
        design
            .files
            .push((format!("{}_pipeline.v", design.name), text));
        Ok(design)
    }
}
