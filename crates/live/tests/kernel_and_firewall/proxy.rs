//! SYN proxies.
