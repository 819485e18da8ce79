//! Real clients and servers in namespaces. Without the rights to make them, or without a program, a test says that it was skipped.
#![allow(
    clippy::disallowed_methods,
    reason = "a test waits for other processes"
)]

mod peers {
    pub mod harness;
    mod ra;
    mod speed;
    mod v4;
    mod v6;
}
