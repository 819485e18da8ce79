//! Files that packets come from and go to, the machine's clock, and signals: everything that a run needs of a machine except ports.
//!
//! | module | what is in it |
//! |---|---|
//! | [`file`](mod@file) | packets from captures, lines and records, compressed or not |
//! | [`output`] | output files, which get their name when they are complete |
//! | [`clock`] | the counter, and the wall-clock time of its zero |
//! | [`signal`] | SIGINT and SIGTERM as a flag for loops to poll |
//! | [`file_system`] | the file system that a path is on |
//! | [`random`] | random numbers of the system |

pub mod clock;
pub mod file;
pub mod file_system;
pub mod output;
pub mod random;
pub mod signal;
