//! Files that packets come from and go to, the machine's clock, and signals: what a run needs of a machine without ports.
//!
//! | module | what is in it |
//! |---|---|
//! | [`file`](mod@file) | anything that packets come from: captures, lines and records, compressed too |
//! | [`output`] | files that are written: whole under their name, or not at all |
//! | [`clock`] | the counter, and the wall-clock time of its zero |
//! | [`signal`] | Ctrl-C and TERM as a flag that loops poll |
//! | [`file_system`] | the file system that a path is on |
//! | [`random`] | numbers that nobody can guess |

pub mod clock;
pub mod file;
pub mod file_system;
pub mod output;
pub mod random;
pub mod signal;
