//! A Unix socket at which something that runs on this machine takes commands, a line each, and who says them.

use crate::Verdict;
use crate::output::{Buffering, Output};
use anyhow::{Context, bail};
use listen::{CONTROL, Gate, Permit};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a command answers: rows, each as a text and as JSON.
pub type Rows = Vec<(String, Value)>;

/// A Unix socket for commands, at which connections wait.
pub struct Listener {
    name: Name,
    socket: UnixListener,
}

/// A thread that accepts commands on a Unix socket.
pub struct Listening {
    _name: Name,
    gate: Arc<Gate>,
}

/// The file of a socket, which is removed in the end.
struct Name(PathBuf);

impl Drop for Name {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Listener {
    /// Makes a Unix socket that only this user may use.
    ///
    /// # Errors
    /// When the socket cannot be made; another process may be listening there already.
    pub fn open(path: &Path) -> anyhow::Result<Listener> {
        let name = path.display();
        let socket = match listen::unix::listen_at(path) {
            Err(error)
                if error.kind() == ErrorKind::AddrInUse && UnixStream::connect(path).is_ok() =>
            {
                bail!("{name}: somebody listens there already; give another --control")
            }
            other => other.with_context(|| name.to_string())?,
        };
        let name = Name(path.into());
        Ok(Listener { name, socket })
    }

    /// Accepts connections from now on; `say` carries out a line.
    ///
    /// # Errors
    /// When the system has no room for a thread.
    pub fn start(
        self,
        say: impl Fn(&str) -> Result<Rows, String> + Send + Sync + 'static,
    ) -> anyhow::Result<Listening> {
        let Listener { name, socket } = self;
        let gate = Gate::new(name.0.display().to_string(), CONTROL);
        let (say, let_in) = (Arc::new(say), Arc::clone(&gate));
        let body = move || {
            loop {
                let (stream, permit) = listen::unix::accept(&socket, &let_in);
                answer(stream, permit, &say);
            }
        };
        let thread = std::thread::Builder::new().name("control".into());
        thread.spawn(body).context("making a thread")?;
        Ok(Listening { _name: name, gate })
    }
}

/// Answers somebody in a thread of its own.
fn answer<S>(stream: UnixStream, permit: Permit, say: &Arc<S>)
where
    S: Fn(&str) -> Result<Rows, String> + Send + Sync + 'static,
{
    let say = Arc::clone(say);
    let body = move || {
        let _permit = permit;
        // Who asks and goes away is not answered.
        let _ = serve(&stream, &*say);
    };
    // Where no thread can start, the far end reads the end of the stream.
    if let Err(error) = std::thread::Builder::new()
        .name("control".into())
        .spawn(body)
    {
        eprintln!("wire: no thread for a connection: {error}");
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(told) = self.gate.summary() {
            eprintln!("wire: {told}");
        }
    }
}

/// Maximum number of commands that wait for an answer.
const WAITING: usize = 256;

/// A command a line in; for each one the rows of its answer, a line of JSON each, and how it ended.
fn serve(stream: &UnixStream, say: &dyn Fn(&str) -> Result<Rows, String>) -> std::io::Result<()> {
    const MAX_COMMAND_LEN: u64 = 1 << 20;
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
        let length = (&mut lines).take(MAX_COMMAND_LEN).read_line(&mut line)? as u64;
        match length {
            0 => return Ok(()),
            // The rest of this line is no command of its own.
            MAX_COMMAND_LEN if !line.ends_with('\n') => {
                let error = format!("a command is longer than {MAX_COMMAND_LEN} bytes");
                text += &format!("{}\n", json!({ "done": false, "error": error }));
                return writer.write_all(text.as_bytes());
            }
            _ => {}
        }
        match say(&line) {
            Ok(rows) => {
                for (row, object) in rows {
                    text += &format!("{}\n", json!({ "row": row, "object": object }));
                }
                text += &format!("{}\n", json!({ "done": true }));
            }
            Err(error) => text += &format!("{}\n", json!({ "done": false, "error": error })),
        }
    }
}

/// Says words, `first` before the others, to `what` listens at a socket, and tells the answer: `-` is lines of standard input.
///
/// # Errors
/// When nobody listens.
pub fn say(
    control: &Path,
    what: &str,
    first: &str,
    words: &[String],
    json: bool,
) -> anyhow::Result<Verdict> {
    let name = control.display();
    let stream = UnixStream::connect(control);
    let stream = stream.with_context(|| format!("{name}: no {what} listens there"))?;
    let mut answers = BufReader::new(stream.try_clone()?);
    let mut stdout = Output::open(&Buffering::default())?;
    let mut verdict = Verdict::Good;
    let mut hear = |place: &str| -> anyhow::Result<()> {
        loop {
            let mut answer = String::new();
            if answers.read_line(&mut answer)? == 0 {
                bail!("{name}: the {what} went away");
            }
            let answer: Value = serde_json::from_str(&answer).with_context(|| name.to_string())?;
            if let Some(row) = answer["row"].as_str() {
                let text = if json {
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
    if words == ["-"] {
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
        let line = format!("{first} {}\n", words.join(" "));
        (&stream).write_all(line.as_bytes())?;
        hear("")?;
    }
    stdout.finish()?;
    Ok(verdict)
}
