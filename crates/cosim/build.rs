//! Verilates the blocks in `rtl/` and compiles them, with the shim over them, into a static library.
//!
//! Each module has its ports as words of 64 bits, in the order of the file. The places of the words are written out as
//! constants for Rust; the shim gets the same order. Without Verilator there is a library in which no module can be made.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The modules that Rust drives: folder below `rtl/`, and name.
const MODULES: [(&str, &str); 12] = [
    ("pcs10g", "pcs10g_tx"),
    ("pcs10g", "pcs10g_rx"),
    ("timing_nic", "timing_nic"),
    ("timing_nic10g", "timing_nic10g"),
    ("mac10g", "mac10g_tx"),
    ("mac10g", "mac10g_rx"),
    ("mac10g", "mac_pcs10g"),
    ("dtp", "dtp_device4"),
    ("dtp", "dtp_pcs10g"),
    ("p4_switch", "p4_switch4"),
    ("p4_replay", "p4_replay"),
    ("p4_host", "p4_host_device"),
];

struct Module {
    name: &'static str,
    folder: PathBuf,
    /// Where modules are that it may have in it.
    folders: Vec<PathBuf>,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let rtl = Path::new("../../rtl");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shim");
    let blocks = fs::read_dir(rtl).expect("the blocks are there");
    let blocks = blocks.map(|block| block.expect("a folder that can be read").path().join("rtl"));
    let mut folders: Vec<PathBuf> = blocks.filter(|folder| folder.is_dir()).collect();
    folders.sort();
    for folder in &folders {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let modules: Vec<Module> = MODULES
        .iter()
        .map(|(folder, name)| Module::read(&rtl.join(folder).join("rtl"), &folders, name))
        .collect();
    fs::write(out.join("ports.rs"), constants(&modules)).expect("OUT_DIR can be written to");
    for module in &modules {
        let file = out.join(module.name).with_extension("inc");
        fs::write(file, module.alone()).expect("OUT_DIR can be written to");
    }

    let mut build = cc::Build::new();
    build.warnings(false);
    match verilator_root() {
        Some(root) => {
            let include = root.join("include");
            build
                .cpp(true)
                .std("c++17")
                .debug(false)
                .include(&out)
                .include(&include)
                .include(include.join("vltstd"))
                .define("VM_COVERAGE", "0")
                .define("VM_SC", "0")
                .define("VM_TRACE", "1")
                .define("VM_TRACE_FST", "1");
            // What a reset and a trace need runs once, or seldom.
            let mut seldom = build.clone();
            seldom.opt_level(0);
            for module in &modules {
                module.verilate(&out);
                let [often, slow] = sources(&out.join(module.name));
                build.file(often);
                seldom.file(slow);
            }
            fs::write(out.join("modules.inc"), glue(&modules)).expect("OUT_DIR can be written to");
            for file in ["verilated", "verilated_fst_c", "verilated_threads"] {
                build.file(include.join(file).with_extension("cpp"));
            }
            build
                // A module is as fast as this makes it, in every profile.
                .opt_level(2)
                .file("shim/shim.cpp")
                .objects(seldom.compile_intermediates())
                .compile("wireline_rtl");
            println!("cargo::rustc-link-lib=z");
        }
        None => {
            println!(
                "cargo::warning=verilator is not here: modules in Verilog cannot be run, and tests of them are skipped (Debian: apt-get install verilator)"
            );
            build.file("shim/missing.c").compile("wireline_rtl");
        }
    }
}

/// Where Verilator's own sources are; `None` without Verilator, or without a compiler for what it makes.
fn verilator_root() -> Option<PathBuf> {
    println!("cargo::rerun-if-env-changed=PATH");
    let ran = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        output.status.success().then_some(output.stdout)
    };
    ran("c++", &["--version"])?;
    let root = ran("verilator", &["--getenv", "VERILATOR_ROOT"])?;
    Some(PathBuf::from(String::from_utf8(root).ok()?.trim()))
}

impl Module {
    /// Reads the ports of a module: each stands on a line of its own, `input  wire [63:0] name,`.
    fn read(folder: &Path, folders: &[PathBuf], name: &'static str) -> Module {
        let file = folder.join(name).with_extension("v");
        let text =
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let ports = |direction: &str| {
            let lines = text.lines().map(str::trim);
            let ports = lines.filter_map(|line| line.strip_prefix(direction)?.strip_prefix(' '));
            let names = ports.filter_map(|port| {
                port.split("//")
                    .next()?
                    .trim_end()
                    .trim_end_matches(',')
                    .split_whitespace()
                    .last()
            });
            names
                .map(String::from)
                .filter(|port| port != "clk")
                .collect()
        };
        Module {
            name,
            folder: folder.into(),
            folders: folders.to_vec(),
            inputs: ports("input"),
            outputs: ports("output"),
        }
    }

    /// How words become ports and ports become words, for the module as a class of C++.
    fn pins(&self, class: &str) -> String {
        let mut text = format!("static inline void put({class}& top, const uint64_t* in) {{\n");
        for (place, port) in self.inputs.iter().enumerate() {
            writeln!(text, "    top.{port} = in[{place}];").unwrap();
        }
        writeln!(
            text,
            "}}\nstatic inline void get(const {class}& top, uint64_t* out) {{"
        )
        .unwrap();
        for (place, port) in self.outputs.iter().enumerate() {
            writeln!(text, "    out[{place}] = top.{port};").unwrap();
        }
        text + "}\n"
    }

    /// The same for a module that is verilated with a P4 program, when that is there: see `src/p4/verilate.rs`.
    fn alone(&self) -> String {
        let (inputs, outputs) = (self.inputs.len(), self.outputs.len());
        let pins = self.pins("Vp4");
        format!(
            "#include <cstdint>\n#include \"Vp4.h\"\nenum {{ INPUTS = {inputs}, OUTPUTS = {outputs} }};\n{pins}"
        )
    }

    fn verilate(&self, out: &Path) {
        let folder = out.join(self.name);
        let status = Command::new("verilator")
            .args([
                "--cc",
                // One object has all of a module's state: see shim.cpp.
                "--flatten",
                "--trace-fst",
                "-O3",
                "--x-assign",
                "fast",
                "--x-initial",
                "fast",
                "--prefix",
            ])
            .arg(format!("V{}", self.name))
            .args(["--top-module", self.name])
            .args(
                self.folders
                    .iter()
                    .flat_map(|folder| [OsStr::new("-y"), folder.as_os_str()]),
            )
            .arg("-Mdir")
            .arg(&folder)
            .arg(self.folder.join(self.name).with_extension("v"))
            .status()
            .expect("verilator was here before");
        assert!(status.success(), "verilator refuses {}", self.name);
    }
}

/// Two files that include all that verilator has made: what runs at each edge, and the rest. Headers are read twice then, not ten times.
fn sources(folder: &Path) -> [PathBuf; 2] {
    let files = fs::read_dir(folder).expect("verilator has made it");
    let files = files.map(|file| file.expect("a folder that can be read").path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|e| e == "cpp"))
        .collect();
    files.sort();
    let seldom = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.contains("__Slow") || name.contains("__Syms")
    };
    let (seldom, often) = files.into_iter().partition(seldom);
    let all = |name: &str, files: Vec<PathBuf>| {
        let lines = files
            .iter()
            .map(|file| format!("#include \"{}\"\n", file.display()));
        let all = folder.join(name).with_extension("cc");
        fs::write(&all, lines.collect::<String>()).expect("OUT_DIR can be written to");
        all
    };
    [all("often", often), all("seldom", seldom)]
}

/// For Rust: the places of a module's ports among its words.
fn constants(modules: &[Module]) -> String {
    let mut text = String::new();
    for module in modules {
        writeln!(
            text,
            "/// The ports of `{}`.\npub mod {} {{",
            module.name, module.name
        )
        .unwrap();
        for (ports, what) in [(&module.inputs, "Input"), (&module.outputs, "Output")] {
            for (place, port) in ports.iter().enumerate() {
                let name = port.to_uppercase();
                writeln!(
                    text,
                    "    /// {what} `{port}`.\n    pub const {name}: usize = {place};"
                )
                .unwrap();
            }
        }
        let (inputs, outputs) = (module.inputs.len(), module.outputs.len());
        writeln!(text, "    /// All of them.\n    pub const LAYOUT: crate::module::Layout = crate::module::Layout {{ name: c\"{}\", inputs: {inputs}, outputs: {outputs} }};\n}}", module.name).unwrap();
    }
    text
}

/// For the shim: how words become ports and ports become words.
fn glue(modules: &[Module]) -> String {
    let mut text = String::new();
    for Module { name, .. } in modules {
        writeln!(text, "#include \"{name}/V{name}.h\"").unwrap();
        writeln!(text, "#include \"{name}/V{name}___024root.h\"").unwrap();
    }
    for module in modules {
        text += &module.pins(&format!("V{}", module.name));
    }
    writeln!(text, "static Module* make(const std::string& name) {{").unwrap();
    for Module {
        name,
        inputs,
        outputs,
        ..
    } in modules
    {
        writeln!(
            text,
            "    if (name == \"{name}\") return new Of<V{name}, V{name}___024root, {}, {}>();",
            inputs.len(),
            outputs.len()
        )
        .unwrap();
    }
    writeln!(text, "    return nullptr;\n}}").unwrap();
    text
}
