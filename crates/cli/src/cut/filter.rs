//! A line filter that sees extracts, and the packets that go with what it lets through.

use crate::output::Output;
use anyhow::{Context, bail, ensure};
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, Command, Stdio};

/// Bytes of packets for which the filter is run once.
const BATCH: usize = 8 * 1024 * 1024;
/// Bytes of packets and extracts that a filter which is run a single time may be given.
const ONCE: usize = 1024 * 1024 * 1024;

/// Packets waiting for a filter's verdict.
pub struct Filter {
    command: String,
    once: bool,
    /// The packets, as lines.
    whole: Vec<u8>,
    /// Their extracts, as lines.
    extract: Vec<u8>,
    /// Where each ends in both.
    ends: Vec<(usize, usize)>,
}

impl Filter {
    /// A filter that is run once for each batch, or a single time for all.
    pub fn new(command: &str, once: bool) -> Filter {
        Filter {
            command: command.into(),
            once,
            whole: Vec::new(),
            extract: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a packet whose extract `select` appends; nothing if that returns false.
    ///
    /// # Errors
    /// Those of `select`.
    pub fn add(
        &mut self,
        whole: &[u8],
        select: impl FnOnce(&mut Vec<u8>) -> anyhow::Result<bool>,
    ) -> anyhow::Result<bool> {
        if !select(&mut self.extract)? {
            return Ok(false);
        }
        self.extract.push(b'\n');
        self.whole.extend_from_slice(whole);
        self.whole.push(b'\n');
        self.ends.push((self.whole.len(), self.extract.len()));
        Ok(true)
    }

    /// The input pauses: judges what has come so far, unless that is for the end.
    ///
    /// # Errors
    /// Those of the filter and of standard output.
    pub fn idle(&mut self, stdout: &mut Output) -> anyhow::Result<()> {
        if !self.once {
            self.judge(stdout)?;
        }
        stdout.flush()
    }

    /// Judges a full batch.
    ///
    /// # Errors
    /// Those of the filter and of standard output; more than fits for a filter that is run once.
    pub fn relieve(&mut self, stdout: &mut Output) -> anyhow::Result<()> {
        if !self.once && self.whole.len() >= BATCH {
            return self.judge(stdout);
        }
        ensure!(
            self.whole.len() + self.extract.len() <= ONCE,
            "--once keeps all packets until the filter has seen the last, and these exceed 1 GiB; \
             leave --once out, or cut the input into parts"
        );
        Ok(())
    }

    /// Judges what is left.
    ///
    /// # Errors
    /// Those of the filter and of standard output.
    pub fn finish(mut self, stdout: &mut Output) -> anyhow::Result<()> {
        self.judge(stdout)
    }

    /// Runs the filter over the extracts and writes the packets whose lines come out.
    fn judge(&mut self, stdout: &mut Output) -> anyhow::Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let passed = self.ask()?;
        let mut begin = (0, 0);
        let mut ends = self.ends.iter();
        for line in passed.split_inclusive(|byte| *byte == b'\n') {
            // A filter keeps the order, so the packet is the next one with this extract.
            loop {
                let Some(&(whole, extract)) = ends.next() else {
                    bail!(
                        "the filter `{}` gave a line that it was not given: `{}`; it may leave \
                         lines out, but not change them or their order",
                        self.command,
                        String::from_utf8_lossy(line).trim_end()
                    );
                };
                let (whole_begin, extract_begin) = begin;
                begin = (whole, extract);
                let extract = &self.extract[extract_begin..extract];
                if extract == line || extract.strip_suffix(b"\n") == Some(line) {
                    stdout.write(&self.whole[whole_begin..whole])?;
                    break;
                }
            }
        }
        self.whole.clear();
        self.extract.clear();
        self.ends.clear();
        Ok(())
    }

    /// What the filter answers to the extracts.
    fn ask(&self) -> anyhow::Result<Vec<u8>> {
        let place = || format!("cannot run the filter `{}`", self.command);
        let mut child = Command::new("sh")
            .args(["-c", &self.command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(place)?;
        let mut passed = Vec::new();
        exchange(&mut child, &self.extract, &mut passed).with_context(place)?;
        let status = child.wait().with_context(place)?;
        // 1 is how grep says that no line matched; 0 and 1 are how most filters end.
        match status.code() {
            Some(0 | 1) => Ok(passed),
            // Ctrl-C reaches the filter too.
            None if ::capture::signal::stop_requested() => Ok(passed),
            _ => bail!("the filter `{}` failed: {status}", self.command),
        }
    }
}

/// Writes `given` to a child and reads its answer at the same time, so that neither waits for a
/// full pipe.
fn exchange(child: &mut Child, given: &[u8], passed: &mut Vec<u8>) -> std::io::Result<()> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    std::thread::scope(|scope| {
        let write = move || match stdin.map(|mut pipe| pipe.write_all(given)) {
            // A filter such as `head` need not read everything.
            Some(Err(error)) if error.kind() != ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        };
        let writer = live::thread::spawn_scoped(scope, "filter", write)?;
        if let Some(mut pipe) = stdout {
            pipe.read_to_end(passed)?;
        }
        writer.join().unwrap_or(Ok(()))
    })
}
