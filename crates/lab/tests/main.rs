//! Labs in each world.

mod bandwidth;
mod clocks;
mod commands;
mod conformance;
mod contract;
mod controllers;
mod covert;
mod engines;
mod examples;
mod faults;
mod hardware;
mod headlines;
mod levels;
mod outputs;
mod paxos;
mod ping;
mod real;
mod reference;
mod relays;
mod snmp;
mod streams;
mod sweeps;
mod switches;
mod threads;
mod topology;
mod traces;
