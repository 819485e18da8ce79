//! `wire p4 tutorial`: an exercise of the P4 tutorials as a lab.

mod entries;
mod form;
mod lab;
mod network;

use super::source::Reading;
use crate::Verdict;
use crate::output::{Buffering, Output};
use anyhow::{Context, anyhow, bail, ensure};
use confine::Permissions;
use form::{Runtime, Topology};
use network::Network;
use p4::compile::Compiled;
use p4runtime::p4info;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Make a lab of an exercise of the P4 tutorials
///
/// Reads topology.json and each switch's sX-runtime.json as the tutorials' Mininet scripts do, and writes FOLDER/lab.toml for `wire lab`.
/// Every switch then has the program and the entries of its sX-runtime.json, and serves P4Runtime at 127.0.0.1:50051 and up. For the
/// exercise's controller the program and its P4Info are put into FOLDER/build, under the names that p4c gives them, and FOLDER/logs is made.
#[derive(clap::Args)]
#[command(after_help = "Example:
  wire p4 tutorial exercises/basic --solution
  sudo wire lab exercises/basic/lab.toml --run 'h1 ping -c 3 h2'")]
pub struct Tutorial {
    /// The exercise's folder
    folder: PathBuf,
    /// Take what there is in the exercise's folder `solution` from there
    #[arg(long)]
    solution: bool,
    /// The network, in place of the one that the exercise's Makefile names
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Where the lab goes, in place of FOLDER/lab.toml; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

/// The first port of P4Runtime; the next switch has the next.
const FIRST_P4RUNTIME: u16 = 50_051;
/// The folder of programs that do what the exercise asks for.
const SOLUTION: &str = "solution";
/// The folder for what p4c makes.
const BUILD: &str = "build";

/// The folder into which the exercises' controllers write what they send.
const LOGS: &str = "logs";

impl Tutorial {
    /// Makes it.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let folder = &self.folder;
        ensure!(folder.is_dir(), "{}: not a folder", folder.display());
        ensure!(
            !self.solution || folder.join(SOLUTION).is_dir(),
            "{} has no folder `{SOLUTION}`: leave --solution out",
            folder.display()
        );
        let build = folder.join(BUILD);
        for made in [&build, &folder.join(LOGS)] {
            std::fs::create_dir_all(made).with_context(|| made.display().to_string())?;
        }
        confine::reader(Permissions {
            writes: true,
            ..Permissions::default()
        })?;
        let makefile = Makefile::read(&folder.join("Makefile"));
        let topology_file = self.topology_file(&makefile)?;
        let topology: Topology = read(&folder.join(&topology_file))?;
        let place = |error: String| anyhow!("{}: {error}", topology_file.display());
        let network = Network::of(&topology).map_err(place)?;
        let mut switches = Vec::new();
        let mut programs = Programs::default();
        for (number, (name, ports)) in network.switches.iter().enumerate() {
            let Some((_, switch)) = topology.switches.0.iter().find(|(other, _)| other == name)
            else {
                continue;
            };
            let runtime = match &switch.runtime_json {
                Some(file) => {
                    let file = self.own_or_solution(Path::new(file));
                    let runtime: Runtime = read(&folder.join(&file))?;
                    Some((file, runtime))
                }
                None => None,
            };
            let stem = self.stem(switch, runtime.as_ref(), &makefile);
            let stem = stem.with_context(|| format!("{}: {name}", topology_file.display()))?;
            let program = self.own_or_solution(Path::new(&format!("{stem}.p4")));
            let compiled = programs.get(&self.reading, folder, &program)?;
            let control = match &runtime {
                Some((file, runtime)) => {
                    let words = entries::words(runtime, compiled);
                    words.map_err(|error| anyhow!("{}: {error}", file.display()))?
                }
                None => Vec::new(),
            };
            if let Some(queues) = &switch.priority_queues {
                eprintln!(
                    "wire: {}: switches.{name}.priority_queues: {queues}: a port has one queue here",
                    topology_file.display()
                );
            }
            switches.push(lab::Switch {
                name: name.clone(),
                program,
                ports: *ports,
                cpu_port: form::cpu_port(name, switch).map_err(place)?,
                p4runtime: FIRST_P4RUNTIME.saturating_add(number as u16),
                device_id: number,
                runtime: runtime.map(|(file, _)| file),
                control,
            });
        }
        let said = lab::Lab {
            name: title(folder),
            topology: &topology_file,
            switches,
            network: &network,
        };
        self.write(&said, &programs, &build)
    }

    /// The network's file, from the exercise's folder.
    fn topology_file(&self, makefile: &Makefile) -> anyhow::Result<PathBuf> {
        if let Some(file) = &self.topology {
            // A file is named from where the user is, but what it says from the exercise's folder.
            let file = std::path::absolute(file).with_context(|| file.display().to_string())?;
            return Ok(file);
        }
        let named = makefile.value("TOPO").unwrap_or("topology.json");
        let found = self.folder.join(named);
        ensure!(
            found.exists(),
            "there is no {}: name the network's file with --topology",
            found.display()
        );
        Ok(named.into())
    }

    /// A file of the exercise, or with --solution that of its name in the folder `solution`, if there is one.
    fn own_or_solution(&self, file: &Path) -> PathBuf {
        let solution = Path::new(SOLUTION).join(file.file_name().unwrap_or_default());
        match self.solution && self.folder.join(&solution).exists() {
            true => solution,
            false => file.into(),
        }
    }

    /// The name of a switch's program, without `.p4`: that of what its sX-runtime.json installs, else its own, else the exercise's.
    fn stem(
        &self,
        switch: &form::Switch,
        runtime: Option<&(PathBuf, Runtime)>,
        makefile: &Makefile,
    ) -> anyhow::Result<String> {
        let installed = runtime.map(|(_, runtime)| runtime.bmv2_json.as_str());
        if let Some(json) = installed.or(switch.program.as_deref()) {
            let name = Path::new(json).file_name().and_then(|name| name.to_str());
            let stem = name.and_then(|name| name.strip_suffix(".json"));
            return Ok(stem
                .with_context(|| format!("`{json}` is not what p4c makes of a program, NAME.json"))?
                .into());
        }
        if let Some(name) = makefile.value("DEFAULT_PROG") {
            return Ok(name.strip_suffix(".p4").unwrap_or(name).into());
        }
        let entries = std::fs::read_dir(&self.folder);
        let entries = entries.with_context(|| self.folder.display().to_string())?;
        let mut stems = entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_program = path.extension().is_some_and(|end| end == "p4");
            is_program.then(|| {
                path.file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned())
            })?
        });
        match (stems.next(), stems.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => bail!("no program: {} has no .p4 file", self.folder.display()),
            (Some(_), Some(_)) => bail!(
                "which program? {} has several .p4 files; write `DEFAULT_PROG = NAME.p4` into its Makefile",
                self.folder.display()
            ),
        }
    }

    fn write(
        &self,
        said: &lab::Lab<'_>,
        programs: &Programs,
        build: &Path,
    ) -> anyhow::Result<Verdict> {
        let target = match &self.output {
            None => Some(self.folder.join("lab.toml")),
            Some(path) if path.as_os_str() == "-" => None,
            Some(path) => Some(path.clone()),
        };
        // Programs are named from the lab's folder.
        let beside = target.as_ref().is_none_or(|target| {
            target
                .parent()
                .and_then(|parent| parent.canonicalize().ok())
                == self.folder.canonicalize().ok()
        });
        let prefix = match beside {
            true => PathBuf::new(),
            false => std::path::absolute(&self.folder)?,
        };
        let text = said.text(&prefix);
        let checked =
            ::lab::Registry::standard().parse_for(&text, Some(&self.folder), ::lab::World::Live);
        if let Err(faults) = checked {
            bail!("the lab that came of it has faults\n{faults}");
        }
        for (file, (compiled, source)) in &programs.0 {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            let (Some(checked), Some(program)) = (&compiled.checked, &compiled.program) else {
                continue;
            };
            let info = p4info::message(&p4::info::describe(checked, program));
            let info = p4info::text(&info);
            let p4info = build.join(format!("{stem}.p4.p4info.txtpb"));
            ::capture::output::replace(&p4info, info.as_bytes())?;
            ::capture::output::replace(&build.join(format!("{stem}.json")), source.as_bytes())?;
        }
        let Some(target) = target else {
            let mut stdout = Output::open(&Buffering::default())?;
            stdout.write(text.as_bytes())?;
            stdout.finish()?;
            return Ok(Verdict::Good);
        };
        if let Ok(old) = ::capture::file::text(&target) {
            ensure!(
                old.starts_with(lab::HEAD),
                "{} is not of this command's making: it stays; -o writes elsewhere",
                target.display()
            );
        }
        ::capture::output::replace(&target, text.as_bytes())?;
        let lab = target.display();
        eprintln!("wire: wrote {lab}; as root `wire lab {lab}` brings it up");
        Ok(Verdict::Good)
    }
}

/// The programs, by their files, with their texts.
#[derive(Default)]
struct Programs(BTreeMap<PathBuf, (Compiled, String)>);

impl Programs {
    fn get(&mut self, reading: &Reading, folder: &Path, file: &Path) -> anyhow::Result<&Compiled> {
        if !self.0.contains_key(file) {
            let path = folder.join(file);
            let compiled = reading.load_valid(&path)?;
            ensure!(
                compiled.program.is_some(),
                "{}: without a `main` there is nothing to run",
                path.display()
            );
            let text =
                ::capture::file::text_named(&path).with_context(|| path.display().to_string())?;
            self.0.insert(file.into(), (compiled, text));
        }
        Ok(&self.0[file].0)
    }
}

/// What an exercise's Makefile sets: lines `NAME = VALUE`.
struct Makefile(Vec<(String, String)>);

impl Makefile {
    /// An exercise may have none.
    fn read(path: &Path) -> Makefile {
        let text = ::capture::file::text_named(path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| {
            let (name, value) = line.split_once('=')?;
            Some((name.trim().to_string(), value.trim().to_string()))
        });
        Makefile(lines.collect())
    }

    fn value(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rfind(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A file of JSON.
fn read<T: serde::de::DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = ::capture::file::text_named(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// What the lab is called: as the exercise's folder.
fn title(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.into());
    let name = whole.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
