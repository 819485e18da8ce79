//! A program that runs, and the terminal or the pipes to and from it.

use super::answer::Answers;
use super::idle::{self, Asleep};
use ::capture::clock::now_ns;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::fcntl_setpipe_size;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};

/// Bytes that a pipe holds, where the system lets us.
const PIPE: usize = 1 << 20;
/// Bytes of one read.
const PIECE: usize = 65_536;

/// Time that a program with unread input sleeps before it counts as quiet, where it has left input unread before, ns.
const DOUBT_NS: u64 = 20_000_000;
/// The same at first, and when a process has ended and its parent has not asked how: longer than a loaded machine takes a
/// processor away between a cause and the wake-up that follows. A terminal's input is readable before the kernel's worker
/// thread has woken its reader.
const FIRST_DOUBT_NS: u64 = 500_000_000;
/// Minimum number of polls in that time. A single one, just before the kernel preempts the polling
/// thread, says nothing about the time since.
const MIN_QUIET_POLLS: u32 = 32;

/// A program in a group of its own: it ends with this value.
pub struct Program {
    child: Child,
    input: File,
    output: File,
    /// The program's end of a terminal, where we are to see whether it has read.
    theirs: Option<OwnedFd>,
    /// Bytes that it has not read yet, from `written` on.
    unread: Vec<u8>,
    written: usize,
    piece: Box<[u8]>,
    /// Ended processes whose parents have not waited for them; the program has been polled for them
    /// once.
    left: Vec<u32>,
    /// It was quiet with unread input when it was polled last.
    leaves_input: bool,
}

/// How a program is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// A terminal in place of pipes.
    pub terminal: bool,
    /// The folder that it is in.
    pub folder: Option<PathBuf>,
    /// Whether it will be waited for by [`Program::settle`].
    pub settles: bool,
}

impl Program {
    /// Starts it, with a terminal or with pipes as its standard input and output.
    pub fn start(command: &str, setting: &Setting) -> io::Result<Program> {
        let terminal = setting.terminal;
        let [(input, stdin), (output, stdout)] = match terminal {
            true => pseudo_terminal()?,
            false => pipes()?,
        };
        for fd in [&input, &output] {
            rustix::io::ioctl_fionbio(fd, true)?;
        }
        let start = |words: &[&str]| {
            let mut program = Command::new(words[0]);
            program
                .args(&words[1..])
                .arg(command)
                .stdin(stdin.try_clone()?)
                .stdout(stdout.try_clone()?)
                .process_group(0);
            if let Some(folder) = &setting.folder {
                program.current_dir(folder);
            }
            if terminal {
                // Not for eyes: no colours. And what stands within a pipe of the command has no terminal to write to.
                let set = ["TERM=dumb", "NO_COLOR=1", "PYTHONUNBUFFERED=1"];
                program.envs(set.iter().filter_map(|pair| pair.split_once('=')));
            }
            program.spawn()
        };
        const WORDS: [&str; 4] = ["stdbuf", "-oL", "sh", "-c"];
        let child = match start(&WORDS[if terminal { 0 } else { 2 }..]) {
            Err(error) if terminal && error.kind() == ErrorKind::NotFound => start(&WORDS[2..])?,
            child => child?,
        };
        Ok(Program {
            child,
            input: input.into(),
            output: output.into(),
            theirs: (terminal && setting.settles).then_some(stdin),
            unread: Vec::new(),
            written: 0,
            piece: vec![0; PIECE].into(),
            left: Vec::new(),
            leaves_input: false,
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
        if self.written == self.unread.len() || self.written > super::MAX_UNREAD_BYTES / 2 {
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
                // EIO is what a terminal says that nobody has open.
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }

    /// Gives it all that it takes and takes all that it says, until it has done what it can: see [`idle`]. Then
    /// whether it still runs; `None` if it works for longer than `patience`, in ns.
    pub fn settle(&mut self, answers: &mut Answers, patience: u64) -> Option<bool> {
        let until = now_ns() + patience;
        let (mut before, mut since, mut looks) = (None, 0, 0);
        loop {
            self.write();
            let unread = self.has_unread();
            // Looked at before its output is read: what has ended says no more.
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            let threads = match ended {
                true => Some(Asleep::default()),
                false => idle::asleep(self.child.id()),
            };
            let said = answers.unseen();
            let open = self.read(answers);
            let is_same = threads.is_some() && threads == before && answers.unseen() == said;
            if ended && is_same || !open {
                return Some(false);
            }
            let now = now_ns();
            // Between a wake-up and what comes of it a processor may be taken away: what has a reason to go on has time.
            let ended = threads.as_ref().map_or(&[][..], |asleep| &asleep.ended);
            let has_new_end = !ended.iter().all(|process| self.left.contains(process));
            let doubt = match unread {
                _ if has_new_end => FIRST_DOUBT_NS,
                true if self.leaves_input => DOUBT_NS,
                true => FIRST_DOUBT_NS,
                false => 0,
            };
            if !is_same {
                (since, looks) = (now, 0);
            } else if doubt == 0 || now - since > doubt && looks > MIN_QUIET_POLLS {
                self.left = ended.into();
                self.leaves_input = unread;
                return Some(true);
            }
            looks += 1;
            if now > until {
                return None;
            }
            if threads.is_none() || is_same {
                // It works, or is about to: the processor is its own, for a moment or until it says something.
                let moment = Timespec {
                    tv_sec: 0,
                    tv_nsec: 50_000,
                };
                let _ = poll(
                    &mut [PollFd::new(&self.output, PollFlags::IN)],
                    Some(&moment),
                );
            }
            before = threads;
        }
    }

    /// Whether there is something on its standard input that it has not read.
    fn has_unread(&self) -> bool {
        let Some(theirs) = &self.theirs else {
            return rustix::io::ioctl_fionread(&self.input).is_ok_and(|bytes| bytes > 0);
        };
        // What is under way to a terminal gets there when somebody asks for it.
        let mut ends = [PollFd::new(theirs, PollFlags::IN)];
        poll(&mut ends, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
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

/// What we hold of a way, and what the program holds.
type Ends = (OwnedFd, OwnedFd);

/// A way to the program, and one from it.
fn pipes() -> io::Result<[Ends; 2]> {
    let (stdin, input) = io::pipe()?;
    let (output, stdout) = io::pipe()?;
    for fd in [
        OwnedFd::from(input.try_clone()?),
        output.try_clone()?.into(),
    ] {
        // One that stays short is no harm.
        let _ = fcntl_setpipe_size(&fd, PIPE);
    }
    Ok([(input.into(), stdin.into()), (output.into(), stdout.into())])
}

/// The same, by a terminal that changes no byte. It is nobody's controlling terminal: no signals come by it.
fn pseudo_terminal() -> io::Result<[Ends; 2]> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    let mut settings = tcgetattr(&theirs)?;
    settings.make_raw();
    tcsetattr(&theirs, OptionalActions::Now, &settings)?;
    let (input, stdin) = (ours.try_clone()?, theirs.try_clone()?);
    Ok([(input, stdin), (ours, theirs)])
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

#[cfg(test)]
mod tests {
    use super::*;

    /// How a program settles that is given a line so many times, and how long that takes, in ns.
    fn settled(command: &str, times: usize) -> Vec<(Option<bool>, u64)> {
        let setting = Setting {
            settles: true,
            ..Setting::default()
        };
        let mut program = Program::start(command, &setting).expect("it starts");
        let mut answers = Answers::new(false);
        let settled = (0..times).map(|_| {
            let start = now_ns();
            program.unread().extend(b"a line\n");
            let settled = program.settle(&mut answers, 10_000_000_000);
            (settled, now_ns() - start)
        });
        let settled = settled.collect();
        let _ = program.child.kill();
        let _ = program.child.wait();
        settled
    }

    #[test]
    fn a_child_that_has_ended_is_waited_for_until_its_parent_knows() {
        // The parent sleeps beside a child that has ended for longer than other doubts last, as if a processor were away.
        let late = "exec python3 -c 'import os, time\n\
            os.read(0, 99)\nos.fork() or os._exit(0)\ntime.sleep(0.15)\nos._exit(0)'";
        assert_eq!(settled(late, 1)[0].0, Some(false));
    }

    #[test]
    fn a_child_that_nobody_asks_for_holds_up_once() {
        let never = "exec python3 -c 'import os\n\
            os.fork() or os._exit(0)\nwhile os.read(0, 99): pass'";
        let times = settled(never, 2);
        let [(first, took), (second, again)] = times[..] else {
            panic!("{times:?}");
        };
        assert_eq!((first, second), (Some(true), Some(true)));
        assert!(took > FIRST_DOUBT_NS && again < FIRST_DOUBT_NS, "{times:?}");
    }

    #[test]
    fn unread_input_is_waited_for_until_a_late_reader_takes_it_and_holds_up_once() {
        // It sleeps for longer than later doubts last, as if its wake-up were late.
        let late =
            "exec python3 -c 'import os, time\ntime.sleep(0.15)\nos.read(0, 99)\nos._exit(0)'";
        assert_eq!(settled(late, 1)[0].0, Some(false));
        let times = settled("exec sleep 100", 2);
        let [(first, took), (second, again)] = times[..] else {
            panic!("{times:?}");
        };
        assert_eq!((first, second), (Some(true), Some(true)));
        assert!(took > FIRST_DOUBT_NS && again < FIRST_DOUBT_NS, "{times:?}");
    }
}
