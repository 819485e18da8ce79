//! A P4Runtime server for pipelines (specification 1.4).
//!
//! A [`Pipeline`] is a program with its [`Control`](pipeline::control::Control) and its P4Info; [`serve`] lets controllers steer it over
//! gRPC. Whoever forwards packets is a [`Device`]: it takes another program when a controller brings one, and tells the time.
#![forbid(unsafe_code)]

pub mod arbitration;
mod bytes;
mod device;
mod digests;
mod expansion;
pub mod messages;
mod metered;
pub mod p4info;
mod packets;
mod pipeline_state;
mod read;
mod server;
mod service;
mod status;
mod switch;
mod translation;
mod write;

pub use device::{Device, DeviceError};
pub use pipeline_state::Pipeline;
pub use server::{Current, Running, Server, Settings, serve};
pub use service::{P4Runtime, P4RuntimeServer};
pub use switch::{PipelineFactory, SwitchHandle, SwitchNode};
