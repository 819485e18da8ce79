//! Words on standard error and reports on standard output: `eprintln!` and `println!` as everywhere, but that a stream
//! nobody reads, or that is a file on a full disk, ends no command in the middle of its work; and that no name or message
//! from outside acts on a terminal.

use ::capture::output::stdout_was_closed;
use packet::printable;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

/// The first error of standard output.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// These four stand in for those of the standard library, which panic where they cannot write.
macro_rules! print {
    ($($text:tt)*) => { $crate::print::report(format_args!($($text)*)) };
}

macro_rules! println {
    ($($text:tt)+) => { print!("{}\n", format_args!($($text)+)) };
}

macro_rules! eprint {
    ($($text:tt)*) => { $crate::print::say(format_args!($($text)*)) };
}

macro_rules! eprintln {
    () => { eprint!("\n") };
    ($($text:tt)+) => { eprint!("{}\n", format_args!($($text)+)) };
}

/// Text on standard output. If it cannot be written, the command goes on with its work, and [`lost`] tells at the end.
pub fn report(text: Arguments<'_>) {
    if stdout_was_closed() {
        let _ = LOST.set(io::Error::other("it is closed"));
    }
    if LOST.get().is_none()
        && let Err(error) = io::stdout().write_all(printable::lines(&text.to_string()).as_bytes())
    {
        let _ = LOST.set(error);
    }
}

/// Text on standard error, printable wherever that leads. If it cannot be written, there is nobody to tell.
pub fn say(text: Arguments<'_>) {
    put(&printable::lines(&text.to_string()));
}

/// Writes a line on standard error, which is a terminal, over the one that stood there.
pub fn redraw(line: &str) {
    put(&format!("\r\x1b[K{}", printable::word(line)));
}

fn put(text: &str) {
    // In one piece: other processes may write there too.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Why a part of the reports is not on standard output, if that is so; a reader that has gone has seen enough.
pub fn lost() -> Option<&'static io::Error> {
    LOST.get()
        .filter(|error| error.kind() != ErrorKind::BrokenPipe)
}
