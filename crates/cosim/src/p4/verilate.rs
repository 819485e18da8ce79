//! Makes a shared object of a program in Verilog, or takes one that was made before.

use crate::module::Layout;
use crate::shared::Library;
use pipeline::environment::{Environment, Unsupported};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs};
use verilog::{Design, LIBRARY, Options};

const SHIM: &str = include_str!("../../shim/p4.cpp");
/// Words of a cycle of [`SHIM`].
pub(crate) const INPUTS: usize = 15;
pub(crate) const OUTPUTS: usize = 14;
/// What the C++ of a module is compiled with: small programs run for a short while, so that compiling counts.
const FLAGS: [&str; 4] = ["-std=c++17", "-O0", "-fPIC", "-w"];

/// Verilog that runs from a shared object.
struct Model<'a> {
    /// Names and texts.
    files: Vec<(&'a str, &'a str)>,
    /// The top module, in a file of that name.
    top: &'a str,
    /// A macro, `NAME=VALUE`.
    define: String,
    /// C++ between the class `Vp4` and [`Shared`](crate::shared::Shared).
    shim: &'a str,
    /// Words of a cycle.
    inputs: usize,
    /// Words of a cycle.
    outputs: usize,
}

/// Why a design cannot be run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CannotRun {
    /// A tool is not there.
    #[error(
        "`{0}` cannot be run, which makes a program in Verilog run: install it (Debian: apt-get install verilator g++)"
    )]
    NoTool(&'static str),
    /// A tool does not take what it was given, which is a fault of the generator.
    #[error("`{tool}` does not take the Verilog in {}: {text}", .folder.display())]
    Refused {
        /// Its name.
        tool: &'static str,
        /// Where the files are.
        folder: PathBuf,
        /// The first lines of what it says.
        text: String,
    },
    /// The cache cannot be used.
    #[error("{}: {text}", .file.display())]
    Cache {
        /// The file or folder.
        file: PathBuf,
        /// Why.
        text: String,
    },
}

/// Where compiled programs are kept: `WIRELINE_RTL_CACHE`, or `wireline/rtl` in the user's cache.
fn cache() -> PathBuf {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    env::var_os("WIRELINE_RTL_CACHE")
        .map(PathBuf::from)
        .unwrap_or_else(|| {
            let user = env::var_os("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .or_else(home);
            user.unwrap_or_else(env::temp_dir).join("wireline/rtl")
        })
}

/// All files of a design.
pub fn files(design: &Design) -> impl Iterator<Item = (&str, &str)> {
    let own = design.files.iter().map(|(name, text)| (&**name, &**text));
    own.chain(LIBRARY)
}

/// The library of a design by itself.
pub(crate) fn library(design: &Design) -> Result<Library, CannotRun> {
    make(&Model {
        files: files(design).collect(),
        top: &design.name,
        define: String::new(),
        shim: SHIM,
        inputs: INPUTS,
        outputs: OUTPUTS,
    })
}

/// A program on its architecture's path, and the library of a top module around it: `layout` is the module's, in `files`, which
/// get the name of the program's module by the macro `define`.
///
/// # Errors
/// The part of the program that cannot be hardware, or the reason why Verilog cannot be run here.
pub(crate) fn around(
    environment: &Environment,
    path: &pipeline::engine::Path,
    layout: &Layout,
    shim: &str,
    files: &[(&str, &str)],
    define: &str,
) -> Result<(Design, Library), Unsupported> {
    let options = Options {
        name: "program",
        ..Options::DEFAULT
    };
    let design = Design::new(environment, path, &options)?;
    let library = make(&Model {
        files: self::files(&design).chain(files.iter().copied()).collect(),
        top: layout.name.to_str().expect("a module's name is ASCII"),
        define: format!("{define}={}", design.name),
        shim,
        inputs: layout.inputs,
        outputs: layout.outputs,
    });
    let library = library.map_err(|error| Unsupported::from(error.to_string()))?;
    Ok((design, library))
}

/// The library of a model.
fn make(model: &Model<'_>) -> Result<Library, CannotRun> {
    let root = run(
        "verilator",
        Command::new("verilator").args(["--getenv", "VERILATOR_ROOT"]),
        Path::new(""),
    )?;
    let root = PathBuf::from(root.trim());
    let version = run(
        "verilator",
        Command::new("verilator").arg("--version"),
        Path::new(""),
    )?;
    let key = |parts: &[&str]| {
        let mut hasher = DefaultHasher::new();
        (parts, FLAGS, &version).hash(&mut hasher);
        hasher.finish()
    };
    let cache = cache();
    let texts = model.files.iter().map(|(_, text)| *text);
    let texts: Vec<&str> = texts.chain([model.shim, &*model.define]).collect();
    let made = cache.join(format!("{:016x}.so", key(&texts)));
    if !made.exists() {
        fs::create_dir_all(&cache).map_err(|error| unusable(&cache, error))?;
        let runtime = runtime(&root, &cache, &format!("{:016x}", key(&["runtime"])))?;
        let folder = cache.join(format!("{}.{}", made.display(), own()));
        compile(model, &root, &runtime, &folder, &made)?;
        fs::remove_dir_all(&folder).map_err(|error| unusable(&folder, error))?;
    }
    Library::open(&made, model.inputs, model.outputs).map_err(|error| CannotRun::Cache {
        file: made,
        text: error.to_string(),
    })
}

/// Part of a name that nobody else has: another process, or thread, may make the same at the same time.
fn own() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}

fn compile(
    model: &Model<'_>,
    root: &Path,
    runtime: &Path,
    folder: &Path,
    made: &Path,
) -> Result<(), CannotRun> {
    fs::create_dir_all(folder).map_err(|error| unusable(folder, error))?;
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::write(&file, text).map_err(|error| unusable(&file, error))
    };
    for (name, text) in model.files.iter().chain([&("shim.cpp", model.shim)]) {
        write(name, text)?;
    }
    let mut verilator = Command::new("verilator");
    verilator.current_dir(folder).args([
        "--cc",
        "-O3",
        "--x-assign",
        "fast",
        "--x-initial",
        "fast",
        "--prefix",
        "Vp4",
        "-Mdir",
        "model",
        "-Wno-fatal",
    ]);
    if !model.define.is_empty() {
        verilator.arg(format!("-D{}", model.define));
    }
    verilator.args([
        "--output-split",
        "20000",
        "--top-module",
        model.top,
        "-y",
        ".",
        &format!("{}.v", model.top),
    ]);
    run("verilator", &mut verilator, folder)?;
    let model = folder.join("model");
    let entries = fs::read_dir(&model).map_err(|error| unusable(&model, error))?;
    let mut sources: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "cpp"));
    sources.sort();
    let object = folder.join("p4.so");
    // One unit: the runtime's headers are read once.
    let all: String = sources
        .iter()
        .map(|path| format!("#include \"{}\"\n", path.display()))
        .collect();
    write("all.cpp", &(all + "#include \"shim.cpp\"\n"))?;
    let mut cxx = Command::new("c++");
    cxx.current_dir(folder)
        .args(FLAGS)
        .args(["-shared", "-o"])
        .arg(&object)
        .arg("all.cpp")
        .arg(runtime);
    includes(&mut cxx, root).arg("-I").arg(&model);
    run("c++", &mut cxx, folder)?;
    // Whoever makes the same at the same time makes the same.
    fs::rename(&object, made).map_err(|error| unusable(made, error))
}

/// Verilator's own part, which all programs share, as an object.
fn runtime(root: &Path, cache: &Path, key: &str) -> Result<PathBuf, CannotRun> {
    let made = cache.join(format!("{key}.o"));
    if !made.exists() {
        let own = own();
        let part = cache.join(format!("{key}.{own}.o"));
        let source = root.join("include/verilated.cpp");
        let threads = root.join("include/verilated_threads.cpp");
        let all = cache.join(format!("{key}.{own}.cpp"));
        let text = format!(
            "#include \"{}\"\n#include \"{}\"\n",
            source.display(),
            threads.display()
        );
        fs::write(&all, text).map_err(|error| unusable(&all, error))?;
        let mut cxx = Command::new("c++");
        cxx.args(FLAGS).args(["-c", "-o"]).arg(&part).arg(&all);
        run("c++", includes(&mut cxx, root), cache)?;
        fs::rename(&part, &made).map_err(|error| unusable(&made, error))?;
        fs::remove_file(&all).map_err(|error| unusable(&all, error))?;
    }
    Ok(made)
}

fn includes<'a>(command: &'a mut Command, root: &Path) -> &'a mut Command {
    command
        .arg("-I")
        .arg(root.join("include"))
        .arg("-I")
        .arg(root.join("include/vltstd"));
    command.args(["-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0"])
}

fn unusable(file: &Path, error: std::io::Error) -> CannotRun {
    CannotRun::Cache {
        file: file.into(),
        text: error.to_string(),
    }
}

fn run(tool: &'static str, command: &mut Command, folder: &Path) -> Result<String, CannotRun> {
    let output = command.output().map_err(|_| CannotRun::NoTool(tool))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let text: Vec<&str> = text.lines().take(12).collect();
    Err(CannotRun::Refused {
        tool,
        folder: folder.into(),
        text: text.join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_make_at_one_time_is_there_for_both() {
        let Ok(root) = Command::new("verilator")
            .args(["--getenv", "VERILATOR_ROOT"])
            .output()
        else {
            println!("skipped: verilator is not here (Debian: apt-get install verilator)");
            return;
        };
        let root = String::from_utf8(root.stdout).expect("it is a path");
        let root = Path::new(root.trim());
        let cache = env::temp_dir().join(format!("wireline-runtime-{}", own()));
        fs::create_dir_all(&cache).expect("it can be written to");
        let made = std::thread::scope(|scope| {
            let both = [(); 2].map(|()| scope.spawn(|| runtime(root, &cache, "made")));
            both.map(|one| one.join().expect("no panic").expect("it is made"))
        });
        assert_eq!(made[0], made[1]);
        // What it was made from is gone.
        assert_eq!(fs::read_dir(&cache).expect("it is there").count(), 1);
        fs::remove_dir_all(&cache).expect("it is there");
    }
}
