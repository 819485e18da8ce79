//! Behaviour of traces through simulated routers.

mod hostile;
mod multipath;
mod network;
mod paris;
mod rounds;
