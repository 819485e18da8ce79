//! State of a connection by the field names of Linux's `tcp_info`.

use super::super::super::ecn::Mode;
use super::super::super::{Endpoint, State};
use super::machine::{Machine, Tested};
use node::Time;
use std::string::String;

/// Names of Linux's numbers.
const NUMBERS: [(&str, u32); 22] = [
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
];

impl Machine {
    /// The value of a name, of the connection that the script is about.
    ///
    /// # Errors
    /// The name, if it is not in the subset.
    pub fn value(&self, name: &str) -> Result<f64, String> {
        if let Some((_, number)) = NUMBERS.iter().find(|(other, _)| *other == name) {
            return Ok(f64::from(*number));
        }
        let Tested::Connection(index) = self.tested else {
            return Err(name.into());
        };
        let connection = &self.connections[index];
        let end = &connection.end;
        let view = end.sender().view();
        let microseconds = |time: Time| (time.as_ns() / 1_000) as f64;
        let value = match name {
            "tcpi_state" => f64::from(state(end.state())),
            "tcpi_options" => f64::from(options(end)),
            "tcpi_ca_state" => f64::from(view.phase),
            "tcpi_snd_cwnd" => (view.window / view.mss) as f64,
            "tcpi_snd_ssthresh" => (view.threshold / view.mss) as f64,
            "tcpi_snd_mss" => view.mss as f64,
            "tcpi_snd_wscale" => f64::from(end.scale.unwrap_or(0)),
            "tcpi_unacked" => view.segments.outstanding as f64,
            "tcpi_sacked" => view.segments.sacked as f64,
            "tcpi_lost" => view.segments.lost as f64,
            "tcpi_retrans" => view.segments.resent as f64,
            "tcpi_rtt" => microseconds(view.smoothed),
            "tcpi_rto" => microseconds(view.timeout),
            "tcpi_backoff" => f64::from(view.backoff),
            "tcpi_last_data_recv" => microseconds(self.now - connection.data_at) / 1_000.0,
            // The count begins at 5 (RFC 9768 section 3.2.1), Linux's at 0.
            "tcpi_delivered_ce" => end.sender().reaction().marked() as f64 - 5.0,
            "tcpi_delivered_ce_bytes" => f64::from(end.sender().reaction().marked_bytes()),
            _ => return Err(name.into()),
        };
        Ok(value)
    }
}

fn state(state: State) -> u32 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

fn options(end: &Endpoint) -> u32 {
    let bit = |holds: bool, bit: u32| if holds { bit } else { 0 };
    bit(end.timestamps.is_some(), 1)
        | bit(end.sender().has_sack, 2)
        | bit(end.scale.is_some(), 4)
        | bit(end.ecn.mode != Mode::Off, 8)
}
