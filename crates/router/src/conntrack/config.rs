//! Configuration of the tracker: the names and defaults of Linux's `net.netfilter.nf_conntrack_*`.

use super::state::TcpState;
use alloc::format;
use node::{ConfigError, Time};

/// Maximum value of `max`: 4 Mi entries.
pub const MAX_ENTRIES: u32 = 1 << 22;
/// Maximum value of a timeout: 100 days.
const MAX_TIMEOUT: Time = Time::from_secs(100 * 24 * 3600);

macro_rules! timeouts {
    ($($(#[$doc:meta])* $key:ident = $seconds:expr,)+) => {
        /// Configuration of the tracker. Timeouts are more than 0 and at most 100 days.
        #[derive(Clone, Debug)]
        #[cfg_attr(
            feature = "serde",
            derive(serde::Deserialize),
            serde(deny_unknown_fields, default)
        )]
        pub struct Config {
            /// Maximum number of connections, 1 to [`MAX_ENTRIES`].
            pub max: u32,
            /// Whether a packet with a wrong checksum is invalid.
            pub checksum: bool,
            /// Whether an ACK without a known connection begins one.
            pub tcp_loose: bool,
            /// Whether segments outside the window are accepted.
            pub tcp_be_liberal: bool,
            /// Whether a RST with an old sequence number is accepted.
            pub tcp_ignore_invalid_rst: bool,
            /// Number of retransmissions after which `tcp_timeout_max_retrans` applies.
            pub tcp_max_retrans: u8,
            $($(#[$doc])* pub $key: Time,)+
        }

        impl Default for Config {
            fn default() -> Config {
                Config {
                    max: 65_536,
                    checksum: true,
                    tcp_loose: true,
                    tcp_be_liberal: false,
                    tcp_ignore_invalid_rst: false,
                    tcp_max_retrans: 3,
                    $($key: Time::from_secs($seconds),)+
                }
            }
        }

        impl Config {
            /// Checks each value.
            ///
            /// # Errors
            /// When a value is out of its range.
            pub(super) fn check(&self) -> Result<(), ConfigError> {
                if !(1..=MAX_ENTRIES).contains(&self.max) {
                    let reason = format!("`max` is from 1 to {MAX_ENTRIES}");
                    return Err(ConfigError::new("conntrack", reason));
                }
                $(if self.$key == Time::ZERO || self.$key > MAX_TIMEOUT {
                    let reason = concat!("`", stringify!($key), "` is more than 0 and at most 100 days");
                    return Err(ConfigError::new("conntrack", reason));
                })+
                Ok(())
            }
        }
    };
}

timeouts! {
    /// After a SYN.
    tcp_timeout_syn_sent = 120,
    /// After a SYN-ACK.
    tcp_timeout_syn_recv = 60,
    /// Of an open connection.
    tcp_timeout_established = 432_000,
    /// After the first FIN.
    tcp_timeout_fin_wait = 120,
    /// After the first FIN was acknowledged.
    tcp_timeout_close_wait = 60,
    /// After the second FIN.
    tcp_timeout_last_ack = 30,
    /// After the last ACK.
    tcp_timeout_time_wait = 120,
    /// After a RST.
    tcp_timeout_close = 10,
    /// After `tcp_max_retrans` retransmissions, and with a window of 0, at most.
    tcp_timeout_max_retrans = 300,
    /// While data is not acknowledged, and of connections that were picked up and not answered, at most.
    tcp_timeout_unacknowledged = 300,
    /// Of UDP without an answer, and in the first two seconds.
    udp_timeout = 30,
    /// Of UDP with packets both ways after two seconds.
    udp_timeout_stream = 120,
    /// After an ICMP query.
    icmp_timeout = 30,
    /// After an ICMPv6 query.
    icmpv6_timeout = 30,
    /// Of GRE without an answer.
    gre_timeout = 30,
    /// Of GRE with packets both ways.
    gre_timeout_stream = 180,
    /// Of other protocols.
    generic_timeout = 600,
}

impl Config {
    /// Timeout of a TCP state.
    pub(super) fn tcp(&self, state: TcpState) -> Time {
        match state {
            TcpState::None | TcpState::SynSent | TcpState::SynSent2 => self.tcp_timeout_syn_sent,
            TcpState::SynRecv => self.tcp_timeout_syn_recv,
            TcpState::Established => self.tcp_timeout_established,
            TcpState::FinWait => self.tcp_timeout_fin_wait,
            TcpState::CloseWait => self.tcp_timeout_close_wait,
            TcpState::LastAck => self.tcp_timeout_last_ack,
            TcpState::TimeWait => self.tcp_timeout_time_wait,
            TcpState::Close => self.tcp_timeout_close,
        }
    }
}
