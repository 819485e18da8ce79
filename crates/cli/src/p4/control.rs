//! The control plane's words, from files, from a terminal, and to a pipeline that runs elsewhere on this machine.

use crate::Verdict;
use crate::output::{Buffering, Output};
use ::pipeline::control::Control;
use ::pipeline::control::commands::parse_file;
use anyhow::{Context, anyhow, bail};
use listen::{CONTROL, Gate, Permit};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Carries out a file of commands.
///
/// # Errors
/// All lines that make no sense, before anything is done; or the first that is refused.
pub fn carry_out(control: &Control, path: &Path) -> anyhow::Result<()> {
    let name = path.display().to_string();
    let text = live::file::text(path).with_context(|| name.clone())?;
    let commands = parse_file(control.program(), &name, &text).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow!(errors.join("\n"))
    })?;
    for (line, command) in commands {
        let done = control.run(&command);
        done.map_err(|error| anyhow!("{name}:{line}: {error}"))?;
    }
    Ok(())
}

/// Where a pipeline that runs listens for commands.
pub struct Listener {
    path: PathBuf,
    gate: Arc<Gate>,
}

impl Listener {
    /// Listens on a Unix socket that only this user may use, and carries out what comes; `control` is asked for each command, since a
    /// controller may have brought another program meanwhile.
    ///
    /// # Errors
    /// When the socket cannot be made; somebody may be listening there already.
    pub fn open(
        path: &Path,
        control: impl Fn() -> Control + Send + Sync + 'static,
    ) -> anyhow::Result<Listener> {
        let name = path.display();
        let listener = match listen::unix::listen_at(path) {
            Err(error)
                if error.kind() == ErrorKind::AddrInUse && UnixStream::connect(path).is_ok() =>
            {
                bail!("{name}: somebody listens there already; give another --control")
            }
            other => other.with_context(|| name.to_string())?,
        };
        let gate = Gate::new(name.to_string(), CONTROL);
        let (control, let_in) = (Arc::new(control), Arc::clone(&gate));
        let body = move || {
            loop {
                let (stream, permit) = listen::unix::accept(&listener, &let_in);
                answer(stream, permit, &control);
            }
        };
        let thread = std::thread::Builder::new().name("control".into());
        thread.spawn(body).context("making a thread")?;
        let path = path.into();
        Ok(Listener { path, gate })
    }
}

/// Answers somebody in a thread of its own.
fn answer<C>(stream: UnixStream, permit: Permit, control: &Arc<C>)
where
    C: Fn() -> Control + Send + Sync + 'static,
{
    let control = Arc::clone(control);
    let body = move || {
        let _permit = permit;
        // Who asks and goes away is not answered.
        let _ = serve(&stream, &*control);
    };
    // Where no thread can start, the far end reads the end of the stream.
    if let Err(error) = std::thread::Builder::new()
        .name("control".into())
        .spawn(body)
    {
        eprintln!("wire: no thread for a connection: {error}");
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        if let Some(told) = self.gate.summary() {
            eprintln!("wire: {told}");
        }
    }
}

/// So many commands may be on the way before the first of them is answered.
const WAITING: usize = 256;

/// A command a line in; for each one the rows of its answer, a line of JSON each, and how it ended.
fn serve(stream: &UnixStream, control: &dyn Fn() -> Control) -> std::io::Result<()> {
    const LONGEST: u64 = 1 << 20;
    let mut lines = BufReader::new(stream);
    let mut writer = stream;
    let mut text = String::new();
    loop {
        // Answers go out together while more commands are here already.
        if !lines.buffer().contains(&b'\n') || text.len() > 1 << 16 {
            writer.write_all(text.as_bytes())?;
            text.clear();
        }
        let mut line = String::new();
        let length = (&mut lines).take(LONGEST).read_line(&mut line)? as u64;
        match length {
            0 => return Ok(()),
            // What is behind it is the rest of a command, and none itself.
            LONGEST if !line.ends_with('\n') => {
                let error = format!("a command is longer than {LONGEST} bytes");
                text += &format!("{}\n", json!({ "done": false, "error": error }));
                return writer.write_all(text.as_bytes());
            }
            _ => {}
        }
        match control().say(&line) {
            Ok(answer) => {
                for (row, object) in answer.rows {
                    let object: Value = serde_json::from_str(&object).unwrap_or(Value::Null);
                    text += &format!("{}\n", json!({ "row": row, "object": object }));
                }
                text += &format!("{}\n", json!({ "done": true }));
            }
            Err(error) => {
                text += &format!("{}\n", json!({ "done": false, "error": error.message }))
            }
        }
    }
}

/// Control a pipeline that runs: `wire p4 run ... --control SOCKET`
///
/// The words are those of entry files: table ls|dump|add|set|rm, register, counter, meter, profile, group, mirror,
/// value-set, digest, crc. `-` reads commands from standard input, a line each.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire p4 table add ipv4_lpm 10.0.0.0/8 do forward 3 --control s1.sock
  wire p4 table dump --control s1.sock > entries.txt
  wire p4 counter read seen all --control s1.sock --json")]
pub struct Words {
    /// The command
    #[arg(required = true, allow_negative_numbers = true, value_name = "WORD")]
    words: Vec<String>,
    /// The socket of the pipeline
    #[arg(long, alias = "at", value_name = "SOCKET")]
    control: PathBuf,
    /// The answer as JSON, an object a line
    #[arg(long)]
    json: bool,
}

impl Words {
    /// Says them, `first` before the others.
    ///
    /// # Errors
    /// When nobody listens.
    pub fn run(self, first: &str) -> anyhow::Result<Verdict> {
        let name = self.control.display();
        let stream = UnixStream::connect(&self.control);
        let stream = stream.with_context(|| format!("{name}: no pipeline listens there"))?;
        let mut answers = BufReader::new(stream.try_clone()?);
        let mut stdout = Output::open(&Buffering::default())?;
        let mut verdict = Verdict::Good;
        let mut hear = |place: &str| -> anyhow::Result<()> {
            loop {
                let mut answer = String::new();
                if answers.read_line(&mut answer)? == 0 {
                    bail!("{name}: the pipeline went away");
                }
                let answer: Value =
                    serde_json::from_str(&answer).with_context(|| name.to_string())?;
                if let Some(row) = answer["row"].as_str() {
                    let text = if self.json {
                        answer["object"].to_string()
                    } else {
                        row.to_string()
                    };
                    stdout.tell(&format!("{text}\n"))?;
                    continue;
                }
                if let Some(error) = answer["error"].as_str() {
                    eprintln!("wire: {place}{error}");
                    verdict = Verdict::Failed;
                }
                return Ok(());
            }
        };
        if self.words == ["-"] {
            // Lines go out while answers come in, a bounded number of them on the way.
            let (said, to_hear) = std::sync::mpsc::sync_channel::<std::io::Result<()>>(WAITING);
            let first = first.to_string();
            let mut to = stream;
            live::thread::spawn("input", move || {
                for line in std::io::stdin().lines() {
                    let sent = line.and_then(|l| to.write_all(format!("{first} {l}\n").as_bytes()));
                    let ends = sent.is_err();
                    if said.send(sent).is_err() || ends {
                        return;
                    }
                }
            })?;
            for (number, sent) in (1..).zip(to_hear) {
                sent.with_context(|| format!("line {number}"))?;
                hear(&format!("line {number}: "))?;
            }
        } else {
            let line = format!("{first} {}\n", self.words.join(" "));
            (&stream).write_all(line.as_bytes())?;
            hear("")?;
        }
        stdout.finish()?;
        Ok(verdict)
    }
}
