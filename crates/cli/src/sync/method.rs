//! How a clock is found, and what is to be said of that.

use super::Sync;
use anyhow::Context;
use node::Time;
use node::outcome::NodeOutcome;

/// Between two pairs of probes: so many fit into an interval.
const PAIRS: u64 = 250;

/// By what messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The Precision Time Protocol.
    Ptp,
    /// The Network Time Protocol.
    Ntp,
    /// Coded probes, after Huygens.
    Probes,
}

impl Method {
    /// As it is asked for on the command line.
    pub fn read(word: &str) -> anyhow::Result<Method> {
        let all = [Method::Ptp, Method::Ntp, Method::Probes];
        let known = all.into_iter().find(|method| method.word() == word);
        known.with_context(|| match word {
            "dtp" => "DTP's messages are in idle blocks of 10GBASE-R, which no card under Linux lets a program send or see; it runs in labs: wire sync --lab FILE",
            _ => "ptp, ntp or probes",
        })
    }

    /// The kind of node.
    pub fn kind(self) -> &'static str {
        match self {
            Method::Ptp => "ptp",
            Method::Ntp => "ntp",
            Method::Probes => "huygens",
        }
    }

    /// As it is asked for.
    fn word(self) -> &'static str {
        match self {
            Method::Ptp => "ptp",
            Method::Ntp => "ntp",
            Method::Probes => "probes",
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        name(self.kind())
    }

    /// Why there is no offset.
    pub fn why_none(self, command: &Sync, node: &NodeOutcome) -> String {
        let waited = match command.wait {
            Time::ZERO => String::new(),
            wait => format!(" (--wait {})", wait.to_string().replace(' ', "")),
        };
        match self {
            Method::Ptp => no_ptp(command, node, &waited),
            Method::Ntp => no_ntp(command, node, &waited),
            Method::Probes => no_probes(command, node, &waited),
        }
    }
}

impl Sync {
    /// The keys of the kind for such a role.
    pub(super) fn keys(&self, role: &str) -> anyhow::Result<Vec<String>> {
        let mut keys = match self.method {
            Method::Ptp => self.ptp_keys(role)?,
            Method::Ntp => {
                let log = exponent(self.interval)?;
                vec![format!("min_poll = {log}"), format!("max_poll = {log}")]
            }
            Method::Probes => vec![
                format!("window = \"{} ps\"", self.interval.as_ps()),
                format!("interval = \"{} ps\"", self.interval.as_ps() / PAIRS),
                "gap = \"50 us\"".into(),
                "epsilon = \"5 us\"".into(),
            ],
        };
        match self.method {
            Method::Ptp => {}
            Method::Ntp | Method::Probes => keys.extend(self.addresses(role)?),
        }
        Ok(keys)
    }

    fn ptp_keys(&self, role: &str) -> anyhow::Result<Vec<String>> {
        anyhow::ensure!(
            self.server.is_none(),
            "--server is for ntp and probes: PTP finds its master itself"
        );
        let log = exponent(self.interval)?;
        let mut keys = vec![
            format!("role = {role:?}"),
            format!("domain = {}", self.domain()),
            format!("delay = {:?}", self.delay()),
            format!("log_sync_interval = {log}"),
            format!("log_delay_interval = {}", log.min(5)),
            format!("log_announce_interval = {}", log.clamp(-3, 1)),
        ];
        if let Some(address) = self.udp {
            keys.push(format!("transport = \"udp\"\naddress = \"{address}\""));
        }
        Ok(keys)
    }

    fn addresses(&self, role: &str) -> anyhow::Result<Vec<String>> {
        let method = self.method.word();
        anyhow::ensure!(
            self.domain.is_none() && self.delay.is_none(),
            "--domain and --delay are PTP's, not of --method {method}"
        );
        let own = self.udp.with_context(|| {
            format!("--method {method} needs --udp IP: an address of its own on that network, which nobody else has")
        });
        let server = || {
            let why = format!("--method {method} needs --server IP: whom it asks for the time");
            self.server.context(why)
        };
        Ok(match role {
            "slave" => vec![
                format!("address = \"{}\"", own?),
                format!("server = \"{}\"", server()?),
            ],
            // At the other port it is whom that one asks.
            "master" if self.master_on.is_some() => vec![format!("address = \"{}\"", server()?)],
            "master" => {
                anyhow::ensure!(self.server.is_none(), "a master asks no --server");
                vec![format!("address = \"{}\"", own?)]
            }
            _ => anyhow::bail!(
                "--role auto is PTP's: with --method {method} one is the master, one the slave"
            ),
        })
    }
}

/// The power of two of a second that a time is.
fn exponent(time: Time) -> anyhow::Result<i8> {
    let is = |log: &i8| {
        let second = Time::from_secs(1).as_ps();
        time.as_ps()
            == if *log < 0 {
                second >> -log
            } else {
                second << log
            }
    };
    (-7..=4).find(is).context(
        "--interval is a power of two of a second, from 7.8125ms to 16s, such as 500ms, 250ms, 125ms",
    )
}

/// A counter, or how many frames were dropped for this reason.
pub(super) fn count(node: &NodeOutcome, name: &str) -> u64 {
    let mut all = node.counters.iter().chain(&node.drops);
    all.find(|(known, _)| known == name)
        .map_or(0, |&(_, count)| count)
}

fn no_ptp(command: &Sync, node: &NodeOutcome, waited: &str) -> String {
    let count = |name| count(node, name);
    let others = count("of another domain");
    if others > 0 {
        return format!(
            "{others} messages came, all of other domains than {}; --domain chooses",
            command.domain()
        );
    }
    let (announces, syncs) = (count("announce_received"), count("sync_received"));
    if announces == 0 && syncs == 0 {
        let other = match command.udp {
            Some(_) => "is it on Ethernet, without --udp?",
            None => "does it use UDP (--udp IP)?",
        };
        return format!("no master was heard{waited}; is one there, and {other}");
    }
    if announces < 2 {
        return format!(
            "{syncs} Syncs came, but not two Announces: nobody says that he is a master"
        );
    }
    if syncs == 0 {
        return format!("a master announces itself, but sends no Sync{waited}");
    }
    let asked = count("delay_req_sent") + count("pdelay_req_sent");
    let other = match command.delay() {
        "peer" => "end-to-end",
        _ => "peer",
    };
    match (count("delays"), asked) {
        (0, 0) => format!("{syncs} Syncs came, too few or without Follow_Ups"),
        (0, asked) => format!(
            "the delay was asked {asked} times, and nobody has answered; try --delay {other}"
        ),
        _ => format!("{syncs} Syncs came, but none after the delay was known"),
    }
}

/// Nobody at the server's address, or nobody who speaks the method.
fn unheard(command: &Sync, sent: u64, what: &str, waited: &str) -> String {
    let server = command
        .server
        .map_or("the server".into(), |it| it.to_string());
    match sent {
        0 => format!("nobody answers for {server} (ARP){waited}; is it on this network?"),
        _ => format!("{sent} {what} were sent to {server}, and none was answered{waited}"),
    }
}

fn no_ntp(command: &Sync, node: &NodeOutcome, waited: &str) -> String {
    let (sent, came) = (
        count(node, "requests_sent"),
        count(node, "replies_received"),
    );
    let (unusable, kisses) = (count(node, "unusable"), count(node, "kisses"));
    if came == 0 {
        return unheard(command, sent, "requests", waited);
    }
    match (kisses, unusable) {
        (0, 0) => format!("{came} answers came, none to a request that was waited for"),
        (0, _) => format!(
            "{unusable} of {came} answers were of no use: the server is not synchronised, or is itself a client of this clock"
        ),
        _ => format!(
            "the server wants to be asked less often, or not at all (a kiss of death, {kisses} times)"
        ),
    }
}

fn no_probes(command: &Sync, node: &NodeOutcome, waited: &str) -> String {
    let (sent, heard) = (count(node, "pairs_sent"), count(node, "pairs_heard"));
    let (kept, dropped) = (count(node, "pairs_kept"), count(node, "pairs_dropped"));
    if heard == 0 {
        return unheard(command, sent, "pairs", waited);
    }
    match kept {
        0 => format!(
            "{heard} pairs came back, and all {dropped} had another gap than they left with: --set 'epsilon=\"10 us\"' allows more"
        ),
        _ => format!(
            "{kept} pairs kept their gap, {dropped} did not: too few for a line; a longer --interval has more of them"
        ),
    }
}

/// A protocol, for people.
pub(super) fn name(protocol: &str) -> &'static str {
    match protocol {
        "ptp" => "PTP",
        "ntp" => "NTP",
        "huygens" => "coded probes",
        _ => "DTP",
    }
}

/// What holds the bound of a protocol, and what it leaves open.
pub(super) fn about_bound(protocol: &str) -> &'static str {
    match protocol {
        "dtp" => {
            "the bound is the paper's 4 ticks a hop to the farthest counter, which some intervals and cables break. That a cable takes longer one way cannot be seen"
        }
        "huygens" => {
            "the bound is what pairs that kept their gap allow, while rates change by no more than clock.wander, 0.1 ppm a second unless it is set. What the two ways differ by cannot be seen, and half of it is offset"
        }
        _ => {
            "the bound is what messages both ways allow, while rates change by no more than clock.wander, 0.1 ppm a second unless it is set. What the two ways differ by cannot be seen, and half of it is offset"
        }
    }
}

/// What the world says of the stamps.
pub(super) fn about_stamps(arrivals: &str) -> String {
    match arrivals {
        "exact" => "stamps: exact, in steps of the clock's tick".into(),
        arrivals => format!(
            "stamps: of the {arrivals} on arrival, of this program on departure, none of a network card"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_power_of_two() {
        for (time, log) in [("1s", 0), ("16s", 4), ("500ms", -1), ("7.8125ms", -7)] {
            assert_eq!(exponent(time.parse().unwrap()).unwrap(), log);
        }
        for time in ["0", "3s", "32s", "100ms", "1ms"] {
            assert!(exponent(time.parse().unwrap()).is_err(), "{time}");
        }
    }
}
