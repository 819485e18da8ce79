//! What goes wrong around a program: disks that are full, descriptors that run out, calls that a signal interrupts,
//! threads that cannot start, mounts that fail, links that flap, interfaces and peers that go away. Behind each fault
//! either all that was accepted is there, packet by packet, or the exit code says that it is not; nobody panics or
//! hangs, and nothing stays behind: no process, mount, interface, temporary file.
//!
//! Most faults are put in by strace(1), which makes the Nth call of a kind fail: a good run tells how many there are.
//! `make test` runs a sample of the places, drawn from FAULTS_SEED (default 1); FAULTS=all, as in `make fuzz`, runs
//! every one.
#![allow(
    clippy::disallowed_methods,
    reason = "these tests wait for other programs"
)]

mod bed;
mod case;
mod files;
mod inject;
mod labs;
mod ports;
mod signals;
mod soak;
