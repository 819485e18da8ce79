//! Calls of externs at work: what each means, found once ([`Call::resolve`](crate::externs::Call::resolve)), and done for each packet
//! ([`Call::invoke`](crate::externs::Call::invoke)).

mod invoke;
mod resolve;

pub(crate) use invoke::{put, select};
