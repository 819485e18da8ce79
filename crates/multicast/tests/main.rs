//! Multicast.
