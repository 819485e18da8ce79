//! A command that reads files and writes files: what it makes when all goes well, and what may be there when something does not.

use super::inject::{self, Fault, Run, Setting};
use crate::shell::Place;
use ::capture::file::{Next, Source};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::process::{Command, Stdio};

/// What stood in a file before the command that is to write it.
const OLD: &[u8] = b"what was here before\n";

/// A command, in a folder with its inputs.
pub struct Case {
    place: Place,
    line: String,
    outputs: Vec<String>,
    /// All files before it.
    before: Files,
    /// All files behind it, when nothing went wrong.
    good: Files,
}

type Files = BTreeMap<String, Vec<u8>>;

/// What became of a run.
pub struct Ending {
    pub run: Run,
    files: Files,
}

impl Case {
    /// A line of words, run in `place`, in which its inputs are, and the files that it is to write. It is run once,
    /// without a fault; it has to succeed.
    pub fn new(place: Place, line: &str, outputs: &[&str]) -> Case {
        for name in outputs {
            if let Some(folder) = Path::new(name).parent() {
                std::fs::create_dir_all(place.path.join(folder)).expect("there is room");
            }
            if !place.path.join(name).exists() {
                place.write(name, OLD);
            }
        }
        let outputs = outputs.iter().map(|&name| name.to_owned()).collect();
        let before = files(&place.path);
        let mut case = Case {
            place,
            line: line.into(),
            outputs,
            before,
            good: Files::new(),
        };
        let ending = case.run("read", None);
        assert_eq!(ending.run.code, Some(0), "{line}: {}", ending.run.said);
        case.good = ending.files;
        for name in &case.outputs {
            assert_ne!(
                case.good[name], case.before[name],
                "{line} does not write {name}"
            );
        }
        case
    }

    /// Which calls of a kind it makes when all goes well, by name and number.
    pub fn calls(&self, calls: &str) -> Vec<(String, u32)> {
        self.run(calls, None).run.own_calls()
    }

    /// Runs it with a fault, from files as they were.
    pub fn run(&self, trace: &str, fault: Option<&Fault>) -> Ending {
        for name in files(&self.place.path).keys() {
            if !self.before.contains_key(name) {
                let _ = std::fs::remove_file(self.place.path.join(name));
            }
        }
        for (name, bytes) in &self.before {
            self.place.write(name, bytes);
        }
        let by = Command::new("timeout");
        let setting = Setting {
            folder: &self.place.path,
            by,
        };
        let run = inject::run(setting, trace, fault, Stdio::null(), &self.line);
        let files = files(&self.place.path);
        Ending { run, files }
    }

    /// An ending that is wrong, in a line.
    pub fn told(&self, ending: &Ending, fault: &Fault, why: &str) -> String {
        let Fault { what, when } = fault;
        let Run {
            code, signal, said, ..
        } = &ending.run;
        let end = signal.map_or(format!("{code:?}"), |signal| format!("signal {signal}"));
        let (call, said) = (
            ending.run.injected(),
            said.lines().rev().take(2).collect::<Vec<_>>(),
        );
        format!(
            "{}: {what} at {when:?}, {call}: {why} ({end}): {said:?}",
            self.line
        )
    }

    /// What is wrong with an ending, if anything is. `stops` says that the fault is a signal, which ends a command with
    /// what it has done until then.
    pub fn judge(&self, ending: &Ending, stops: bool) -> Result<(), String> {
        let Ending { run, files } = ending;
        if let Some(blemish) = run.blemish() {
            return Err(blemish);
        }
        let done = run.code == Some(0);
        let stopped = stops && (matches!(run.code, Some(130 | 143)) || run.signal.is_some());
        if !done && !stopped && !matches!(run.code, Some(1 | 2)) {
            return Err(format!("exit code {:?}, signal {:?}", run.code, run.signal));
        }
        if stops && !done && !stopped {
            return Err(format!(
                "a stop was taken for something else: exit code {:?}",
                run.code
            ));
        }
        if !done && !stopped && run.said.is_empty() && !run.is_muted() {
            return Err(format!("exit code {:?} without a word", run.code));
        }
        for (name, bytes) in &self.before {
            let now = files.get(name).ok_or_else(|| format!("{name} is gone"))?;
            let written = self.outputs.contains(name);
            let stands = now == bytes;
            if !written && !stands {
                return Err(format!("{name}, which is only read, has changed"));
            }
            if !written || (stands && !done) {
                continue;
            }
            self.compare(name, now, done, stopped)?;
        }
        for name in files.keys().filter(|&name| !self.before.contains_key(name)) {
            match name.as_str() {
                "stdout" => self.part(name, &files[name], done, stopped)?,
                "stderr" => {}
                // What had been made before a fault may be kept, if that is told.
                _ if !done && run.said.contains(name) => {}
                _ => return Err(format!("{name} is left behind")),
            }
        }
        Ok(())
    }

    /// A file that has been written anew.
    fn compare(&self, name: &str, now: &[u8], done: bool, stopped: bool) -> Result<(), String> {
        // Of several files one may be new and another old: each is whole.
        self.part(name, now, done || !stopped, stopped)
            .map_err(|why| format!("{why}, and the old file is gone"))
    }

    /// The packets of a bit stream, as lines.
    fn decoded(&self, bits: &[u8]) -> Vec<u8> {
        self.place.write("bits", bits);
        self.place.run("wire phy decode bits").out.into_bytes()
    }

    /// What is there is that of a good run, or, if it need not be all, the beginning of it; packet by packet where the
    /// file has packets, for a capture tells when it was written, too.
    fn part(&self, name: &str, now: &[u8], all: bool, stopped: bool) -> Result<(), String> {
        let good = self.good.get(name).map_or(&[][..], |bytes| bytes);
        if stopped && String::from_utf8_lossy(now).contains(r#""finish":"stopped""#) {
            // A report of what had come until then, which says so.
            return Ok(());
        }
        let failed = without(now, &["failure"]);
        if failed.len() < now.len() {
            // A report tells of what could not be written, and not of what was.
            let same = without(&failed, &["file"]) == without(good, &["file"]);
            return same
                .then_some(())
                .ok_or(format!("{name} reports something else"));
        }
        if stopped && name.ends_with(".svg") {
            // The picture of what had come until then.
            let whole = now.starts_with(b"<svg") && now.ends_with(b"</svg>\n");
            return whole.then_some(()).ok_or(format!("{name} is no picture"));
        }
        let (good, now) = match name.ends_with(".phy") {
            true => (&self.decoded(good)[..], &self.decoded(now)[..]),
            false => (good, now),
        };
        // Of packets that it could not read to the end a profile is another one; that they are not all is told.
        let profiles = self.line.starts_with("wire profile")
            || (name == "stdout" && self.line.contains("--summary"));
        if !all && profiles {
            return Ok(());
        }
        let is_text = good.is_ascii();
        let (same, begins, sound) = if is_text {
            (
                now == good,
                good.starts_with(now),
                now.is_empty() || now.ends_with(b"\n"),
            )
        } else if let (good, true) = packets(good) {
            let (now, sound) = packets(now);
            (now == good && sound, good.starts_with(&now), sound)
        } else {
            (now == good, good.starts_with(now), now == good)
        };
        match (same, begins) {
            (true, _) => Ok(()),
            (_, false) => Err(format!("{name} has what no good run writes")),
            _ if all => Err(format!("{name} is not complete")),
            _ if stopped && !sound => Err(format!("{name} ends within a packet")),
            _ => Ok(()),
        }
    }
}

/// JSON Lines without those of some types.
fn without(text: &[u8], types: &[&str]) -> Vec<u8> {
    let is_kept = |line: &&[u8]| {
        let line = String::from_utf8_lossy(line);
        !types
            .iter()
            .any(|kind| line.contains(&format!(r#""type":"{kind}""#)))
    };
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    lines.filter(is_kept).flatten().copied().collect()
}

/// The packets of a file, with their stamps from that of the first on, and whether there was nothing else in it.
pub fn packets(bytes: &[u8]) -> (Vec<(u128, Vec<u8>)>, bool) {
    let mut packets = Vec::new();
    let mut first = None;
    let source = Source::from_reader("it", Box::new(Cursor::new(bytes.to_vec())));
    let Ok(mut source) = source.map(Source::strict) else {
        return (packets, bytes.is_empty());
    };
    loop {
        match source.next() {
            Ok(Next::Item(item)) => {
                let stamp = item.at_ps.or(item.word.map(u128::from)).unwrap_or(0);
                let since = stamp.wrapping_sub(*first.get_or_insert(stamp));
                packets.push((since, item.bytes.to_vec()));
            }
            Ok(Next::End) => return (packets, true),
            Ok(Next::Stopped) => return (packets, false),
            Err(_) => return (packets, false),
        }
    }
}

/// All files in a folder and those in it, by their paths from there.
fn files(folder: &Path) -> Files {
    let mut files = Files::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        match std::fs::read(entry.path()) {
            Ok(bytes) => {
                files.insert(name, bytes);
            }
            Err(_) => {
                let within = self::files(&entry.path()).into_iter();
                files.extend(within.map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
            }
        }
    }
    files
}
