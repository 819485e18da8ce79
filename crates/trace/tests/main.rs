//! Behaviour of traces through simulated routers.

mod archive;
mod fakeroute;
mod hostile;
mod multipath;
mod network;
mod paris;
mod published;
mod rounds;
