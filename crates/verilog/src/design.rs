//! All of the Verilog of a program.

use crate::Options;
use crate::anew::Along;
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
use p4::ir::Architecture;
use pipeline::architecture::{Config, Pipeline};
use pipeline::engine::Path;
use pipeline::environment::{Environment, Unsupported};
use pipeline::interpreter::Interpreter;

/// Modules that all designs have, by the names of their files.
pub const LIBRARY: [(&str, &str); 16] = [
    ("p4_again.v", include_str!("../../../rtl/p4/rtl/p4_again.v")),
    (
        "p4_cam_table.v",
        include_str!("../../../rtl/p4/rtl/p4_cam_table.v"),
    ),
    (
        "p4_deparser.v",
        include_str!("../../../rtl/p4/rtl/p4_deparser.v"),
    ),
    (
        "p4_exact_table.v",
        include_str!("../../../rtl/p4/rtl/p4_exact_table.v"),
    ),
    (
        "p4_extern_fixed.v",
        include_str!("../../../rtl/p4/rtl/p4_extern_fixed.v"),
    ),
    (
        "p4_extern_queue.v",
        include_str!("../../../rtl/p4/rtl/p4_extern_queue.v"),
    ),
    ("p4_fifo.v", include_str!("../../../rtl/p4/rtl/p4_fifo.v")),
    ("p4_first.v", include_str!("../../../rtl/p4/rtl/p4_first.v")),
    (
        "p4_gather.v",
        include_str!("../../../rtl/p4/rtl/p4_gather.v"),
    ),
    ("p4_loop.v", include_str!("../../../rtl/p4/rtl/p4_loop.v")),
    (
        "p4_performance.v",
        include_str!("../../../rtl/p4/rtl/p4_performance.v"),
    ),
    (
        "p4_prefix_table.v",
        include_str!("../../../rtl/p4/rtl/p4_prefix_table.v"),
    ),
    (
        "p4_random.v",
        include_str!("../../../rtl/p4/rtl/p4_random.v"),
    ),
    (
        "p4_replicator.v",
        include_str!("../../../rtl/p4/rtl/p4_replicator.v"),
    ),
    (
        "p4_ternary_bank.v",
        include_str!("../../../rtl/p4/rtl/p4_ternary_bank.v"),
    ),
    (
        "p4_ternary_table.v",
        include_str!("../../../rtl/p4/rtl/p4_ternary_table.v"),
    ),
];

/// Why a program has no path.
pub const NO_PATH: &str =
    "the program never names the port by which packets leave, so that it cannot be hardware";

/// The queue in which packets wait beside the pipeline has so many words, as a power of two.
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
    /// Bits of a word of the streams.
    pub width: u32,
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
    /// Requests that asynchronous externs may have outstanding.
    pub(crate) outstanding: u32,
    /// Packets may be cut short.
    pub(crate) limited: bool,
    /// What goes along with packets that begin anew, if the program may ask for it.
    pub(crate) along: Option<AlongForm>,
}

/// What goes along with packets that begin anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlongForm {
    /// Bits without set and entry.
    pub(crate) width: u32,
    /// Egress makes clones.
    pub(crate) clones: bool,
    /// They are of the packet as it came.
    pub(crate) clones_raw: bool,
}

impl Design {
    /// Whether packets may begin anew, so that one after the other has to be let in to know whose copies leave.
    #[must_use]
    pub fn begins_anew(&self) -> bool {
        self.along.is_some()
    }

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
            None => Err(Unsupported::from(NO_PATH)),
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
        if environment.program.architecture == Architecture::PnaNic {
            return Err(Unsupported::from(
                "PNA is not in this hardware: it runs in the software engines",
            ));
        }
        // What goes along with packets that begin anew is known at the end, and wanted at the beginning.
        let mut along = Along::default();
        let (mut walk, verdict) = loop {
            let mut walk = Walk::new(environment, path, options, along);
            let verdict = walk.path(path)?;
            if walk.found == walk.along {
                break (walk, verdict);
            }
            along = walk.found;
        };
        let (header, mut header_bytes, mut payload) = walk.whole_header(verdict.position)?;
        let mut truncate = verdict.truncate;
        if let Some(anew) = &verdict.anew {
            // A packet that begins anew as it came.
            let (none, all) = (
                walk.graph.constant(16, 0u8),
                walk.graph.constant(32, u32::MAX),
            );
            header_bytes = walk.graph.choose(anew.raw, none, header_bytes);
            payload = walk.graph.choose(anew.raw, none, payload);
            truncate = walk.graph.choose(anew.raw, all, truncate);
        }
        walk.join_writes();
        let window = (walk.window.div_ceil(8) * 8).max(8) as u32;
        let all = num_bigint::BigUint::from(u32::MAX);
        let limited = walk.graph.known(truncate) != Some(&all);
        let mut outputs = alloc::vec![
            ("out_reason", verdict.reason),
            ("out_port", verdict.port),
            ("out_header", header),
            ("out_header_bytes", header_bytes),
            ("out_payload", payload),
            ("out_limit", truncate),
        ];
        if walk.split.is_some() {
            outputs.push(("out_keep", walk.graph.input(Input::Keep)));
            outputs.push(("out_replay", walk.graph.input(Input::Replay)));
        }
        let mut along = None;
        if let Some(anew) = &verdict.anew {
            outputs.extend([
                ("out_entry", anew.entry),
                ("out_set", anew.set),
                ("out_full", anew.full),
                ("out_along", anew.vector),
                ("out_from", walk.arrival(Input::Port)),
            ]);
            if walk.along.clones() {
                outputs.extend([("out_clone", anew.clone), ("out_clone_set", anew.clone_set)]);
            }
            along = Some(AlongForm {
                width: walk.graph.width(anew.vector),
                clones: walk.along.clones(),
                clones_raw: anew.clones_raw,
            });
        }
        let roots = outputs.iter().map(|(_, id)| *id);
        let counted = walk.counted(false).chain(walk.counted(true));
        let roots: Vec<Id> = roots.chain(counted).collect();
        let schedule = Schedule::new(&walk, &roots);
        let mut build = Build::new(environment, &walk, &schedule, window);
        build.objects()?;
        let width = along.map(|along: AlongForm| along.width + 10);
        let text = build.pipeline(&identifier(options.name), &outputs, window, width);
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
            width: options.width,
            stages: schedule.last.0 + 1,
            window: window / 8,
            header: walk.graph.width(header) / 8,
            alone,
            whole,
            longest: ((1 << QUEUE_LOG2) - 2) * options.width as usize / 8,
            warnings: walk.warnings.clone(),
            outstanding: walk.outstanding(),
            limited,
            along,
        };
        let top = design.top(&text);
        design.files.push((format!("{}.v", design.name), top));
        design
            .files
            .push((format!("{}_pipeline.v", design.name), text));
        let modules = walk.modules(&design.name)?;
        design.files.extend(modules);
        Ok(design)
    }
}
