//! Labs in each world.

mod bandwidth;
mod commands;
mod conformance;
mod contract;
mod controllers;
mod covert;
mod examples;
mod faults;
mod huygens;
mod levels;
mod ntp;
mod outputs;
mod ping;
mod ptp;
mod real;
mod reference;
mod relays;
mod snmp;
mod sweeps;
mod switches;
mod threads;
mod topology;
mod traces;
