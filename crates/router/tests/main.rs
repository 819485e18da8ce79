//! Behaviour of routers.
