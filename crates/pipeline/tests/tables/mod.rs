//! Match tables as the control plane and packets see them.

mod against_linear;
mod behaviour;
mod concurrent;
mod programs;
