//! A program that runs, and the pipes to and from it.

use super::answer::Answers;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Bytes that a pipe holds, where the system lets us.
const PIPE: i32 = 1 << 20;
/// Bytes read at once.
const PIECE: usize = 65_536;

/// A program in a group of its own: it ends with this value.
pub struct Program {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// What it has not read yet, from `written` on.
    unread: Vec<u8>,
    written: usize,
    piece: Box<[u8]>,
}

impl Program {
    /// Starts it.
    pub fn start(command: &str) -> io::Result<Program> {
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or(ErrorKind::BrokenPipe)?;
        for fd in [input.as_raw_fd(), output.as_raw_fd()] {
            // SAFETY: plain system calls on descriptors that are ours. A pipe that stays short is no harm.
            unsafe {
                libc::fcntl(fd, libc::F_SETPIPE_SZ, PIPE);
                if libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
        }
        Ok(Program {
            child,
            input,
            output,
            unread: Vec::new(),
            written: 0,
            piece: vec![0; PIECE].into(),
        })
    }

    /// What it is to read is appended to this.
    pub fn unread(&mut self) -> &mut Vec<u8> {
        &mut self.unread
    }

    /// Gives it what it takes now.
    pub fn write(&mut self) {
        while self.written < self.unread.len() {
            match self.input.write(&self.unread[self.written..]) {
                Ok(0) => break,
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // That it has ended shows where its answers come from.
                Err(_) => break,
            }
        }
        if self.written == self.unread.len() || self.written > super::ROOM / 2 {
            self.unread.drain(..self.written);
            self.written = 0;
        }
    }

    /// Takes what it has said; false once it says no more.
    pub fn read(&mut self, answers: &mut Answers) -> bool {
        while answers.has_room() {
            match self.output.read(&mut self.piece) {
                Ok(0) => return false,
                Ok(count) => answers.add(&self.piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }

    /// Ends it; how it ended, if it did by itself.
    pub fn end(mut self) -> String {
        // Its output ends a moment before it does.
        for _ in 0..20 {
            match self.child.try_wait() {
                Ok(Some(status)) => return format!("ended with {status}"),
                _ => std::thread::park_timeout(std::time::Duration::from_millis(1)),
            }
        }
        "has closed its output".into()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let group = self.child.id() as i32;
            // SAFETY: a plain system call; the group is that of a child that has not been waited for.
            unsafe { libc::kill(-group, libc::SIGTERM) };
            for _ in 0..50 {
                if let Ok(Some(_)) = self.child.try_wait() {
                    return;
                }
                std::thread::park_timeout(std::time::Duration::from_millis(2));
            }
            // SAFETY: as above.
            unsafe { libc::kill(-group, libc::SIGKILL) };
            let _ = self.child.wait();
        }
    }
}
