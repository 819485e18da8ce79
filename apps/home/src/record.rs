//! Rows about traffic and leases, for a database of streams (paper 003, section 4.3.2).

use core::net::IpAddr;
use node::Time;
use packet::ethernet::Mac;

/// Traffic of a flow in one direction since the last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// Time of the poll.
    pub at: Time,
    /// Sending device; `None` for an address outside the home.
    pub from: Option<Mac>,
    /// Receiving device; `None` for an address outside the home.
    pub to: Option<Mac>,
    /// Protocol of IP; 0 when the row is about all flows of a device.
    pub protocol: u8,
    /// Source.
    pub source: IpAddr,
    /// Destination.
    pub destination: IpAddr,
    /// Ports of TCP and UDP, type and code of ICMP.
    pub ports: Option<(u16, u16)>,
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
    /// Whether the device has looked up the name of the other end.
    pub is_named: bool,
}

/// Traffic of a port of the switch since the last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRow {
    /// Time of the poll.
    pub at: Time,
    /// The port.
    pub port: u32,
    /// Packets received and sent by the switch.
    pub packets: (u64, u64),
    /// Bytes received and sent by the switch.
    pub bytes: (u64, u64),
    /// Packets dropped on receive and on transmit.
    pub dropped: (u64, u64),
}

/// A lease, or the end of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    /// Time of the message.
    pub at: Time,
    /// The device.
    pub mac: Mac,
    /// Its address.
    pub address: IpAddr,
    /// End of the lease; `None` if it has ended.
    pub end: Option<Time>,
}

/// Takes rows.
pub trait Record: Send {
    /// A row of the table Flows.
    fn flow(&mut self, row: &FlowRow) {
        let _ = row;
    }

    /// A row of the table Links.
    fn link(&mut self, row: &LinkRow) {
        let _ = row;
    }

    /// Current time, at each poll of the switch, with or without rows.
    fn time(&mut self, now: Time) {
        let _ = now;
    }

    /// A row of the table Leases.
    fn lease(&mut self, row: &LeaseRow) {
        let _ = row;
    }
}

/// Takes no rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRecord;

impl Record for NoRecord {}
