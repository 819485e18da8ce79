//! The process of a program: a line in, a line out.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// The time in which a program answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer, bytes.
const MAX_ANSWER: u64 = 1 << 20;
/// The time in which it ends once its input has ended.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// A process that answers lines.
pub(super) struct Child {
    process: std::process::Child,
    /// Lines for its input, which ends with this.
    events: Option<Sender<String>>,
    answers: Receiver<io::Result<String>>,
}

impl Child {
    /// Starts a command line of the shell.
    pub fn start(command: &str, folder: Option<&Path>) -> io::Result<Child> {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if let Some(folder) = folder {
            shell.current_dir(folder);
        }
        let mut process = shell.spawn()?;
        let input = process.stdin.take();
        let output = process.stdout.take().map(BufReader::new);
        // Threads of their own, so that neither a program that does not read nor one that does not write holds the node up.
        let (events, lines) = channel::<String>();
        thread::Builder::new()
            .name("flops events".into())
            .spawn(move || {
                if let Some(mut input) = input {
                    // The end of a program is detected at its output.
                    let mut lines = lines.into_iter();
                    let _ = lines.all(|line| input.write_all(line.as_bytes()).is_ok());
                }
            })?;
        let (sender, answers) = sync_channel(1);
        thread::Builder::new()
            .name("flops answers".into())
            .spawn(move || {
                let lines = output.into_iter().flat_map(Lines);
                for line in lines {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Child {
            process,
            events: Some(events),
            answers,
        })
    }

    /// The answer to an event.
    pub fn ask(&mut self, event: &Value) -> Result<String, String> {
        if let Some(events) = &self.events {
            // The end of its output is reported below.
            let _ = events.send(format!("{event}\n"));
        }
        match self.answers.recv_timeout(ANSWER_TIMEOUT) {
            Ok(Ok(line)) => Ok(line),
            Ok(Err(error)) => Err(format!("its answer: {error}")),
            Err(RecvTimeoutError::Timeout) => {
                Err("no answer in 10 s: write one line for each line read, and flush it".into())
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.process.wait();
                let status = status.map_or_else(|error| error.to_string(), |how| how.to_string());
                Err(format!("it ended with {status} before the test was over"))
            }
        }
    }
}

impl Drop for Child {
    /// Its input ends first; a program that goes on is killed.
    fn drop(&mut self) {
        self.events = None;
        let step = Duration::from_millis(5);
        for _ in 0..END_TIMEOUT.as_millis() / step.as_millis() {
            if let Ok(Some(_)) = self.process.try_wait() {
                return;
            }
            thread::park_timeout(step);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Lines of an output, up to the first that cannot be read.
struct Lines<R>(R);

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<io::Result<String>> {
        let mut line = Vec::new();
        let read = (&mut self.0).take(MAX_ANSWER).read_until(b'\n', &mut line);
        match read {
            Ok(0) => None,
            Ok(_) if line.last() == Some(&b'\n') => {
                Some(Ok(String::from_utf8_lossy(&line).into_owned()))
            }
            Ok(_) => Some(Err(io::Error::other(
                "a line without an end, or above 1 MiB",
            ))),
            Err(error) => Some(Err(error)),
        }
    }
}

/// The beginning of an answer, for a message.
pub(super) fn short(line: &str) -> String {
    line.trim_end().chars().take(60).collect()
}
