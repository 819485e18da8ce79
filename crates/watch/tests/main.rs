//! The page of a lab: samples, orders, refused requests, and the page in a browser.

mod orders;
mod page;
mod refusals;
mod server;
