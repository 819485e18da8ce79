//! A lab on a page: what it shows, how it is steered, and who is refused.

mod orders;
mod page;
mod refusals;
mod server;
