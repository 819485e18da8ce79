//! What came of a test, its verdict, and what that may not be worth.

use super::intervals::{loss, percent, span};
use super::line::Line;
use super::word;
use ::report::text::bits;
use ::report::text::number;
use node::Histogram;
use nodes::bandwidth::capacity::client::{Client, End};
use nodes::bandwidth::capacity::{Faults, Held, Interval, Settings, Traffic, held_by};
use packet::udpstp::{Direction, IPV4_OVERHEAD, IPV6_MORE};

/// Bursts that leave later than this are a burst more than was asked for, ns.
const LATE_NS: u64 = 1_000_000;

/// What came of a test.
pub struct Outcome {
    pub settings: Settings,
    pub end: End,
    pub intervals: Vec<Interval>,
    pub least_round_trip: Option<u32>,
    traffic: [Traffic; 2],
    pub faults: Faults,
    pub lateness: Histogram,
    /// Datagrams that this machine had no room for, how much it has, and times that it had none to send.
    pub dropped: u64,
    room: usize,
    pub waited: u64,
    mtu: Option<usize>,
    /// Seconds of load that were asked for.
    asked: u16,
    ipv6: bool,
}

impl Outcome {
    pub fn new(client: &Client, line: &Line, end: End, asked: u16, ipv6: bool) -> Outcome {
        Outcome {
            settings: *client.settings(),
            end,
            intervals: client.intervals().to_vec(),
            least_round_trip: client.least_round_trip(),
            traffic: client.traffic(),
            faults: *client.faults(),
            lateness: client.lateness().clone(),
            dropped: line.socket.lost(),
            room: line.socket.room(),
            waited: line.waited,
            mtu: line.socket.mtu(),
            asked,
            ipv6,
        }
    }

    pub fn word(&self) -> &'static str {
        word(self.settings.direction)
    }

    pub fn best(&self) -> Option<&Interval> {
        let best = |a: &&Interval, b: &&Interval| a.rate.total_cmp(&b.rate);
        self.intervals.iter().max_by(best)
    }

    /// Datagrams and bytes at the IP layer that it cost: sent where they were sent from here, else those that came, and those lost.
    pub fn cost(&self) -> (u64, u64) {
        let [sent, received] = self.traffic;
        let overhead = u64::from(IPV4_OVERHEAD + if self.ipv6 { IPV6_MORE } else { 0 });
        let load = match self.settings.direction {
            Direction::Upstream => sent,
            Direction::Downstream => received,
        };
        (load.datagrams, load.bytes + overhead * load.datagrams)
    }

    /// What held the load back in the end.
    pub fn held(&self) -> Held {
        held_by(&self.settings, &self.intervals)
    }

    fn length(&self) -> String {
        match self.settings.sub_interval {
            1000 => "second".into(),
            ms => format!("{ms} ms"),
        }
    }

    pub fn verdict(&self) -> String {
        let what = self.word();
        let early = match self.end {
            End::Complete => String::new(),
            end => format!("; {end} before its time"),
        };
        let Some(best) = self.best() else {
            return format!("capacity {what}: no {} is over{early}", self.length());
        };
        let (datagrams, bytes) = self.cost();
        let end = self.intervals.last().map_or(0.0, |last| last.end);
        let bound = match self.held() {
            Held::Path => "",
            Held::Search | Held::Rate => "at least ",
        };
        let cost = match self.settings.direction {
            Direction::Upstream => "sent",
            Direction::Downstream => "received",
        };
        let trip = self
            .least_round_trip
            .map_or(String::new(), |ms| format!(", round trip {ms} ms at least"));
        format!(
            "capacity {what}: {bound}{} at the IP layer in the best {} of {end:.0} s (loss {}, delay variation {}{trip}); cost {:.1} MB in {} packets {cost}{early}",
            bits(best.rate),
            self.length(),
            percent(loss(&[*best])),
            span(best.sums.variation[0], best.sums.variation[1]),
            bytes as f64 / 1e6,
            number(datagrams),
        )
    }

    /// What the figure may not be worth.
    pub fn warnings(&self) -> Vec<String> {
        let (mut told, what) = (Vec::new(), self.word());
        match self.held() {
            Held::Search => told.push(format!(
                "the rate {what} was still rising when the test ended, and the path showed no congestion: it may carry more. Give it a longer --duration, \
                 --start-rate, or --algorithm c"
            )),
            Held::Rate if !self.intervals.is_empty() => told.push(match self.settings.row {
                Some(_) => format!("the path showed no congestion {what} at the rate of --rate: it may carry more"),
                None => format!(
                    "the path showed no congestion {what}: the server's limit or machine, not the path, held the rate. It may carry more"
                ),
            }),
            Held::Path | Held::Rate => {}
        }
        if self.dropped > 0 {
            told.push(format!(
                "{} datagrams reached this machine and found no room in its {} kB of buffer: they count as lost on the path. Give it more by \
                 sysctl net.core.rmem_max=8388608",
                number(self.dropped),
                self.room / 1000
            ));
        }
        if self.faults.late_bursts > 0 {
            told.push(format!(
                "{} of {} bursts {what} were more than 10 ms late, and what was to follow them was left out: less was sent than asked for, and the \
                 path may carry more. This machine is too busy, or too slow, for this rate",
                number(self.faults.late_bursts),
                number(self.lateness.total())
            ));
        }
        let late = self.lateness.value_at(990, 1_000);
        if self.lateness.total() > 0 && late > LATE_NS {
            let rate = self.best().map_or(0.0, |best| best.rate);
            told.push(format!(
                "pacing is coarse: one burst in a hundred left {:.1} ms late or more, at this rate {:.0} kB at once, which short queues do not hold",
                late as f64 / 1e6,
                rate * late as f64 / 8e12
            ));
        }
        let fast = self.best().is_some_and(|best| best.rate > 1e9);
        if let Some(mtu) = self.mtu
            && fast
            && self.settings.jumbo
            && mtu < 9_000
        {
            told.push(format!(
                "above 1 Gb/s the server has datagrams of 9000 bytes, which go in fragments over this MTU of {mtu} bytes"
            ));
        }
        if self.settings.test_time < self.asked {
            told.push(format!(
                "the server allows {} s of load, not {}",
                self.settings.test_time, self.asked
            ));
        }
        let faults = &self.faults;
        for (count, what) in [
            (faults.unreadable.0, "datagrams were no messages"),
            (
                faults.bad_rates,
                "rates from the server cannot be sent, and were passed over",
            ),
            (
                faults.wrong_lengths,
                "datagrams had another length than they say",
            ),
            (
                faults.implausible,
                "datagrams carried a time or number that cannot be true: something on the path changes them. \
                 Loss, delay variation and round trip leave them out",
            ),
            (
                faults.bad_sums,
                "results from the server cannot be true: more than was sent, or a delay longer than the test. \
                 They are left out",
            ),
        ] {
            if count > 0 {
                told.push(format!("{} {what}", number(count)));
            }
        }
        told
    }
}
