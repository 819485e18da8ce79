//! Behaviour of the home router.

mod addresses;
mod admission;
mod authentication;
mod forwarding;
mod guests;
mod limits;
mod names;
mod six;
mod stage;
#[cfg(feature = "lab")]
mod story;
