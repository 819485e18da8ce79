//! What nodes do, told as stories: frames go in at times that the test moves by hand.

mod capture;
mod covert;
mod echo;
mod filter;
mod hand;
mod host;
mod meter;
mod mirror;
mod ping;
mod schedules;
mod switch;
