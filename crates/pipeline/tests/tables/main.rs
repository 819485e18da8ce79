//! Match tables as the control plane and packets see them.

mod behaviour;
mod programs;
