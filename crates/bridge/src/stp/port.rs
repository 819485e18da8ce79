//! Variables of a port (IEEE 802.1D-2004 section 17.19) and its timers (17.17).

use super::bpdu::{Bpdu, Flags, SenderRole};
use super::config::PortConfig;
use super::vector::{PortId, Times, Vector};
use node::Time;

/// Role of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Without a link, or disabled by a guard.
    #[default]
    Disabled,
    /// Way to the root.
    Root,
    /// Way from the root for all that is on the link.
    Designated,
    /// Another way to the root, blocked.
    Alternate,
    /// Another port of this bridge on a link for which it is designated already, blocked.
    Backup,
}

impl Role {
    /// Name as in `tables`.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Disabled => "disabled",
            Role::Root => "root",
            Role::Designated => "designated",
            Role::Alternate => "alternate",
            Role::Backup => "backup",
        }
    }
}

/// Origin of a port's information (`infoIs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Info {
    #[default]
    Disabled,
    Received,
    Mine,
    Aged,
}

/// State of the protocol migration machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Migration {
    #[default]
    Checking,
    SelectingStp,
    Sensing,
}

/// A timer that has been held at its start value: it does not run.
pub(super) const HELD: Time = Time::MAX;

/// A timer: the time at which it reaches zero, or [`HELD`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timer(pub Time);

impl Timer {
    pub(super) fn is_zero(self, now: Time) -> bool {
        self.0 <= now
    }

    /// When it will reach zero, if it runs.
    pub(super) fn deadline(self, now: Time) -> Option<Time> {
        (self.0 > now && self.0 != HELD).then_some(self.0)
    }
}

/// A port. Names are those of the standard.
#[derive(Clone, Debug, Default)]
pub(super) struct Port {
    pub config: PortConfig,
    pub id: PortId,
    pub cost: u32,
    /// The link is up.
    pub link: bool,
    /// A BPDU has arrived at a port with a guard.
    pub is_guarded: bool,

    pub info_is: Info,
    pub port_priority: Vector,
    pub port_times: Times,
    pub designated_priority: Vector,
    pub designated_times: Times,

    pub role: Role,
    pub selected_role: Role,
    pub selected: bool,
    pub reselect: bool,
    pub updt_info: bool,

    pub learn: bool,
    pub learning: bool,
    pub forward: bool,
    pub forwarding: bool,

    pub proposing: bool,
    pub proposed: bool,
    pub agree: bool,
    pub agreed: bool,
    pub sync: bool,
    pub synced: bool,
    pub re_root: bool,
    pub disputed: bool,
    pub oper_edge: bool,

    pub send_rstp: bool,
    pub migration: Migration,
    pub rcvd_rstp: bool,
    pub rcvd_stp: bool,
    pub new_info: bool,
    pub tx_count: u8,

    /// The topology change machine is in ACTIVE or on its way back there; else in INACTIVE or LEARNING.
    pub tc_active: bool,
    pub tc_learning: bool,
    pub rcvd_tc: bool,
    pub rcvd_tcn: bool,
    pub rcvd_tc_ack: bool,
    pub tc_ack: bool,
    pub tc_prop: bool,
    /// The addresses that were learned at the port must be forgotten.
    pub flush: bool,

    pub edge_delay_while: Timer,
    pub fd_while: Timer,
    pub hello_when: Timer,
    pub mdelay_while: Timer,
    pub rb_while: Timer,
    pub rcvd_info_while: Timer,
    pub rr_while: Timer,
    pub tc_while: Timer,
    /// When `tx_count` decreases by 1.
    pub tx_tick: Timer,

    /// Received BPDUs of the current second, and its end.
    pub received: u32,
    pub received_until: Time,
}

impl Port {
    /// `portEnabled`.
    pub(super) fn is_enabled(&self) -> bool {
        self.link && !self.is_guarded
    }

    /// `selected && !updtInfo`, without which no role changes and nothing is sent.
    pub(super) fn is_settled(&self) -> bool {
        self.selected && !self.updt_info
    }

    /// DISABLED of the port information machine (17.27).
    pub(super) fn disable(&mut self) {
        (self.proposing, self.proposed, self.agree, self.agreed) = (false, false, false, false);
        self.disputed = false;
        self.rcvd_info_while = Timer::default();
        self.info_is = Info::Disabled;
        (self.reselect, self.selected) = (true, false);
    }

    /// The earliest time at which a timer reaches zero that something waits for.
    pub(super) fn deadline(&self, now: Time) -> Option<Time> {
        if !self.is_enabled() {
            return None;
        }
        let received = match self.info_is {
            Info::Received => self.rcvd_info_while,
            _ => Timer::default(),
        };
        let counts = match self.tx_count {
            0 => Timer::default(),
            _ => self.tx_tick,
        };
        let timers = [
            self.edge_delay_while,
            self.fd_while,
            self.hello_when,
            self.mdelay_while,
            self.rb_while,
            received,
            self.rr_while,
            self.tc_while,
            counts,
        ];
        let deadlines = timers.iter().filter_map(|timer| timer.deadline(now));
        deadlines.min()
    }

    /// `txConfig`, `txRstp`, `txTcn`: the BPDU that the port has to send.
    pub(super) fn bpdu(&self, now: Time) -> Bpdu {
        let role = match self.role {
            Role::Root => SenderRole::Root,
            Role::Designated => SenderRole::Designated,
            Role::Alternate | Role::Backup => SenderRole::AlternateOrBackup,
            Role::Disabled => SenderRole::Unknown,
        };
        let topology_change = !self.tc_while.is_zero(now);
        let flags = Flags {
            topology_change,
            role,
            ..Flags::default()
        };
        if self.send_rstp {
            let flags = Flags {
                proposal: self.proposing,
                agreement: self.agree,
                learning: self.learning,
                forwarding: self.forwarding,
                ..flags
            };
            Bpdu::Rst(self.designated_priority, self.designated_times, flags)
        } else if self.role == Role::Root {
            Bpdu::Notification
        } else {
            let flags = Flags {
                topology_change_ack: self.tc_ack,
                ..flags
            };
            Bpdu::Configuration(self.designated_priority, self.designated_times, flags)
        }
    }
}
