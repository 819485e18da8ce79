//! What came of a run in one line, and the figures that it is made of.

use super::Report;
use crate::flows::{rate, short};
use ::report::text::{number, percent, time};
use node::outcome::{Times, Verdict};
use node::{Flow, Time};
use serde_json::{Value, json};

/// From this share of a run on a busy link is what holds others up.
const FULL: f64 = 0.95;

/// The figures that one looks at first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Headline {
    /// Probes that came to where frames end.
    pub arrived: Option<u64>,
    /// Of how many that were sent; `None` where that is not known, or where probes were copied, so that more arrived.
    pub sent: Option<u64>,
    /// Whether frames ended where nothing is measured, too: what did not arrive is not lost for that.
    pub elsewhere: bool,
    /// Probes that were on their way at the end: they have not come, and are not lost.
    pub in_flight: u64,
    /// The least and the greatest mean delay of probes at a place where frames end, picoseconds.
    pub delay_ps: Option<[f64; 2]>,
    /// Pings that were answered, and of how many.
    pub pings: Option<[u64; 2]>,
    /// Round trips: of pings, or of segments where there are none.
    pub round_trip: Times,
    /// Conversations that carried data.
    pub flows: u64,
    /// Their goodput together, bits of users' data a second of each one's own time.
    pub goodput: f64,
    /// Jain's index of their goodputs, where there are several: 1 if all are equal.
    pub fairness: Option<f64>,
    /// The direction of a link that drops most for lack of room, else the busiest.
    pub busiest: Option<Busiest>,
    /// Frames that nodes and links gave up.
    pub drops: u64,
    /// The parts of the first line that instruments give, in their order.
    pub sections: Vec<String>,
    /// The same for programs.
    pub(crate) figures: Vec<(&'static str, Value)>,
    /// What nodes that watch over something say.
    pub verdicts: Vec<Verdict>,
    /// Names of programs that failed, and how many programs there were.
    pub failed: (Vec<String>, u64),
    /// Conversations in which no byte of users' data arrived, of hosts' programs that send some.
    pub fruitless: u64,
    /// Packets of replayed files that were not sent.
    pub unsent: u64,
    /// Questions to DNS servers without an answer, and of how many.
    pub questions: Option<[u64; 2]>,
    /// Whether no frame was given to any link.
    pub silent: bool,
}

/// A direction of a link that was busy.
#[derive(Clone, Debug, PartialEq)]
pub struct Busiest {
    /// `a.0 -> b.0`.
    pub way: String,
    /// The share of the run.
    pub share: f64,
    /// Whether it holds others up.
    pub is_bottleneck: bool,
}

/// Minimum share of time, as a fraction, at which the busiest link is reported although it is no
/// bottleneck.
const MIN_REPORTED_SHARE: f64 = 0.01;

/// Counters below the table of drops that are no drops.
pub(crate) const NO_DROPS: [&str; 3] = ["delivered twice", "held up", "left later than asked"];

impl Headline {
    /// Of a report.
    #[must_use]
    pub fn of(report: &Report) -> Headline {
        let sections = || report.sections.iter();
        let mut headline = Headline {
            busiest: busiest(report),
            drops: report
                .losses()
                .iter()
                .filter(|(_, what, _)| !NO_DROPS.contains(&what.as_str()))
                .map(|(.., count)| count)
                .sum(),
            sections: sections()
                .filter_map(|section| section.headline())
                .collect(),
            figures: sections()
                .flat_map(|section| section.headline_json())
                .collect(),
            verdicts: report.verdicts().cloned().collect(),
            failed: failed(report),
            unsent: report.unsent,
            silent: (report.outcome.links.iter().flatten())
                .all(|link| link.sent + link.queue_full + link.dropped_early == 0),
            ..Headline::default()
        };
        headline.probes(report);
        let flows = || report.outcome.nodes.iter().flat_map(|node| &node.flows);
        headline.pings(flows().filter(|flow| flow.program == "ping"));
        headline.ping_nodes(report);
        let questions = flows().filter(|flow| flow.program == "dns");
        headline.questions = questions.fold(None, |all, flow| {
            let [lost, asked] = all.unwrap_or_default();
            Some([lost + flow.lost, asked + flow.packets])
        });
        headline.fruitless = flows()
            .filter(|flow| is_load(flow) && !is_relayed(flow) && flow.bytes == 0)
            .count() as u64;
        let sending = || flows().filter(|flow| sends(flow));
        let mut senders: Vec<&Flow> = sending().filter(|flow| !is_relayed(flow)).collect();
        if senders.is_empty() {
            senders = sending().collect();
        }
        headline.flows = senders.len() as u64;
        let goodputs: Vec<f64> = senders.iter().map(|flow| flow.goodput()).collect();
        // From 0.0: the sum of no numbers is -0.0.
        headline.goodput = goodputs.iter().fold(0.0, |sum, goodput| sum + goodput);
        headline.fairness = jain(&goodputs);
        if headline.round_trip.count == 0 {
            senders
                .iter()
                .for_each(|flow| add(&mut headline.round_trip, &flow.round_trip));
        }
        headline
    }

    fn probes(&mut self, report: &Report) {
        let ends = report.rows.iter().filter(|row| row.is_end);
        let ends: Vec<_> = ends.filter(|row| row.statistics.probes() > 0).collect();
        if ends.is_empty() {
            return;
        }
        let arrivals = ends.iter().map(|row| &row.statistics);
        let arrived = arrivals
            .map(|seen| match report.shares_streams {
                true => seen.probes(),
                false => seen.probes() - seen.order().duplicates,
            })
            .sum();
        self.arrived = Some(arrived);
        // The sequence of what came does not tell what is missing behind its end, nor what took another way.
        self.sent = report.sent.filter(|sent| arrived <= *sent);
        self.elsewhere = report.elsewhere;
        let missing = report.sent.map_or(0, |sent| sent.saturating_sub(arrived));
        self.in_flight = report.probes_in_flight.unwrap_or(0).min(missing);
        let means = ends.iter().map(|row| row.statistics.delays());
        let means = means
            .filter(|delays| delays.count > 0)
            .map(|delays| delays.mean);
        self.delay_ps = means.fold(None, |range, mean| match range {
            None => Some([mean, mean]),
            Some([least, most]) => Some([least.min(mean), most.max(mean)]),
        });
    }

    fn pings<'a>(&mut self, flows: impl Iterator<Item = &'a Flow>) {
        for flow in flows {
            let [answered, asked] = self.pings.unwrap_or_default();
            let own = flow.packets.saturating_sub(flow.lost);
            self.pings = Some([answered + own, asked + flow.packets]);
            add(&mut self.round_trip, &flow.round_trip);
        }
    }

    /// Nodes that ping, and are no hosts with programs, have counters and no flows.
    fn ping_nodes(&mut self, report: &Report) {
        for node in &report.outcome.nodes {
            let counter = |wanted: &str| {
                let mut counters = node.counters.iter();
                counters.find_map(|(name, count)| (name == wanted).then_some(*count))
            };
            let (Some(asked), Some(answered), Some(_)) =
                (counter("sent"), counter("answered"), counter("rtt_mean_ps"))
            else {
                continue;
            };
            let [before, all] = self.pings.unwrap_or_default();
            self.pings = Some([before + answered, all + asked]);
            let [mean, min, max] =
                ["rtt_mean_ps", "rtt_min_ps", "rtt_max_ps"].map(|name| counter(name).unwrap_or(0));
            let times = Times {
                count: answered,
                sum_ps: u128::from(mean) * u128::from(answered),
                min: Time::from_ps(min),
                max: Time::from_ps(max),
            };
            add(&mut self.round_trip, &times);
        }
    }

    /// Failures, the most important first.
    fn wrong(&self) -> Vec<String> {
        let mut parts = Vec::new();
        match &self.failed.0[..] {
            [] => {}
            [name] => parts.push(format!("program {name} failed")),
            names => parts.push(format!(
                "{} of {} programs failed",
                number(names.len() as u64),
                number(self.failed.1)
            )),
        }
        match self.unsent {
            0 => {}
            1 => parts.push("1 replayed packet was not sent".into()),
            many => parts.push(format!("{} replayed packets were not sent", number(many))),
        }
        if let Some([answered, asked]) = self.pings.filter(|[answered, asked]| answered < asked) {
            let (answered, asked) = (number(answered), number(asked));
            parts.push(format!("{answered} of {asked} pings answered"));
        }
        if let Some([lost, asked]) = self.questions.filter(|[lost, _]| *lost > 0) {
            let (answered, asked) = (number(asked.saturating_sub(lost)), number(asked));
            parts.push(format!("{answered} of {asked} questions answered"));
        }
        match self.fruitless {
            0 => {}
            1 => parts.push("1 flow carried nothing".into()),
            many => parts.push(format!("{} flows carried nothing", number(many))),
        }
        parts
    }

    /// The line: first what went wrong, then what is known.
    #[must_use]
    pub fn text(&self) -> String {
        let mut parts = self.wrong();
        parts.extend(self.verdicts.iter().map(|one| one.told.clone()));
        parts.extend(self.sections.iter().cloned());
        match (self.arrived, self.sent) {
            (Some(arrived), Some(sent)) => {
                let place = match self.elsewhere && arrived < sent {
                    true => " where it is measured",
                    false => "",
                };
                parts.push(format!(
                    "{} of {} probes arrived{place}",
                    number(arrived),
                    number(sent)
                ));
                if self.in_flight > 0 {
                    parts.push(format!("{} still on their way", number(self.in_flight)));
                }
            }
            (Some(arrived), None) => parts.push(format!("{} probes arrived", number(arrived))),
            (None, _) => {}
        }
        match self.delay_ps {
            Some([least, most]) if most - least > least / 100.0 => {
                let (least, most) = (shortly(least), shortly(most));
                parts.push(format!("mean delays {least} to {most}"));
            }
            Some([_, mean]) => parts.push(format!("mean delay {}", shortly(mean))),
            None => {}
        }
        if let Some([answered, asked]) = self.pings.filter(|[answered, asked]| answered == asked) {
            parts.push(format!(
                "{} of {} pings answered",
                number(answered),
                number(asked)
            ));
        }
        if self.pings.is_some() && self.round_trip.count > 0 {
            parts.push(format!("mean round trip {}", short(self.round_trip.mean())));
        }
        match self.flows {
            0 => {}
            1 => parts.push(format!("1 flow with {}", rate(self.goodput))),
            many => parts.push(format!(
                "{} flows with {} together",
                number(many),
                rate(self.goodput)
            )),
        }
        if let Some(fairness) = self.fairness {
            parts.push(format!("fairness {fairness:.3}"));
        }
        let busiest = self.busiest.as_ref();
        if let Some(busiest) =
            busiest.filter(|link| link.is_bottleneck || link.share >= MIN_REPORTED_SHARE)
        {
            let share = percent(busiest.share);
            parts.push(match busiest.is_bottleneck {
                true => format!("bottleneck {} {share} busy", busiest.way),
                false => format!("busiest link {}, {share}", busiest.way),
            });
        }
        parts.push(match self.drops {
            0 if self.silent => "nothing was sent".into(),
            0 => "no drops".into(),
            1 => "1 drop".into(),
            drops => format!("{} drops", number(drops)),
        });
        parts.join(", ")
    }

    /// The same for programs.
    pub(crate) fn json(&self) -> Value {
        let busiest = self.busiest.as_ref();
        let mut object = json!({
            "arrived": self.arrived, "sent": self.sent, "in_flight": self.in_flight,
            "delay_min_mean_ps": self.delay_ps.map(|ps| ps[0]),
            "delay_max_mean_ps": self.delay_ps.map(|ps| ps[1]),
            "pings_answered": self.pings.map(|pings| pings[0]), "pings": self.pings.map(|pings| pings[1]),
            "flows": self.flows, "goodput": self.goodput, "fairness": self.fairness,
            "busiest": busiest.map(|link| json!({
                "link": link.way, "busy": link.share, "bottleneck": link.is_bottleneck,
            })),
            "drops": self.drops, "nothing_sent": self.silent, "failed_programs": self.failed.0,
            "flows_without_data": self.fruitless, "replayed_packets_not_sent": self.unsent,
            "questions_unanswered": self.questions.map(|questions| questions[0]),
            "verdicts": self.verdicts.iter().map(|one| json!({ "holds": one.holds, "told": one.told })).collect::<Vec<_>>(),
        });
        for (key, value) in &self.figures {
            object[*key] = value.clone();
        }
        object
    }
}

/// Whether a conversation is one that carried data, as its sender tells it.
fn sends(flow: &Flow) -> bool {
    flow.bytes > 0 && is_load(flow)
}

/// Whether it is one for data, as its sender tells it.
fn is_load(flow: &Flow) -> bool {
    let receives = flow.program.starts_with("sink") || flow.program.ends_with("server");
    // `tcp` is a control channel, which is no load.
    !receives && !["ping", "dns", "tcp"].contains(&flow.program)
}

/// Whether it is a half of a connection that a relay has split: the lab's hosts, if it is theirs,
/// count the same data.
fn is_relayed(flow: &Flow) -> bool {
    flow.program == "split"
}

/// Programs that failed, and how many there were: those that the lab itself started count if they failed.
fn failed(report: &Report) -> (Vec<String>, u64) {
    let jobs = report.jobs.iter();
    let jobs = jobs.filter(|job| !job.hidden || job.failed());
    let (mut names, mut all) = (Vec::new(), 0);
    for job in jobs {
        all += 1;
        if job.failed() {
            names.push(job.name.clone());
        }
    }
    (names, all)
}

fn add(all: &mut Times, more: &Times) {
    if more.count == 0 {
        return;
    }
    all.min = if all.count == 0 {
        more.min
    } else {
        all.min.min(more.min)
    };
    all.max = all.max.max(more.max);
    all.count += more.count;
    all.sum_ps += more.sum_ps;
}

/// Jain's fairness index: the square of the sum over so many times the sum of squares; `None` of fewer than two, or of nothing.
fn jain(values: &[f64]) -> Option<f64> {
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), value| {
        (sum + value, squares + value * value)
    });
    (values.len() > 1 && squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

fn busiest(report: &Report) -> Option<Busiest> {
    let all = report
        .links
        .iter()
        .zip(&report.outcome.links)
        .zip(&report.busy);
    let mut found: Option<(u64, Busiest)> = None;
    for ((ends, counters), busy) in all {
        for direction in [0, 1] {
            let (full, Some(share)) = (
                counters[direction].queue_full + counters[direction].dropped_early,
                busy[direction],
            ) else {
                continue;
            };
            let before = found
                .as_ref()
                .map_or((0, 0.0), |(full, one)| (*full, one.share));
            if (full, share) > before {
                let way = format!("{} -> {}", ends[direction], ends[1 - direction]);
                let is_bottleneck = full > 0 || share >= FULL;
                let busiest = Busiest {
                    way,
                    share,
                    is_bottleneck,
                };
                found = Some((full, busiest));
            }
        }
    }
    found.map(|(_, busiest)| busiest)
}

/// A time to four digits.
fn shortly(ps: f64) -> String {
    match ps < 1.0 {
        true => time(ps),
        false => short(Time::from_ps(ps.round() as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_what_is_known_and_nothing_else() {
        let mut headline = Headline::default();
        assert_eq!(headline.text(), "no drops");
        headline.silent = true;
        assert_eq!(headline.text(), "nothing was sent");
        headline.silent = false;
        (headline.arrived, headline.sent) = (Some(9_988), Some(10_000));
        headline.delay_ps = Some([5e6, 5e6]);
        headline.drops = 12;
        headline.busiest = Some(Busiest {
            way: "s1.0 -> s2.0".into(),
            share: 0.98,
            is_bottleneck: true,
        });
        assert_eq!(
            headline.text(),
            "9,988 of 10,000 probes arrived, mean delay 5 us, bottleneck s1.0 -> s2.0 98.0 % busy, 12 drops"
        );
    }

    #[test]
    fn what_failed_comes_first() {
        let headline = Headline {
            failed: (vec!["h1".into()], 3),
            pings: Some([3, 10]),
            flows: 1,
            goodput: 2e6,
            fruitless: 2,
            unsent: 1_000,
            questions: Some([1, 4]),
            ..Headline::default()
        };
        assert_eq!(
            headline.text(),
            "program h1 failed, 1,000 replayed packets were not sent, 3 of 10 pings answered, 3 of 4 questions answered, 2 flows carried nothing, 1 flow with 2.00 Mb/s, no drops"
        );
        let headline = Headline {
            failed: (vec!["h1".into(), "h2".into()], 3),
            pings: Some([10, 10]),
            ..Headline::default()
        };
        assert_eq!(
            headline.text(),
            "2 of 3 programs failed, 10 of 10 pings answered, no drops"
        );
    }

    #[test]
    fn fairness_is_one_for_equals_and_a_share_of_them_for_one_that_has_all() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[4.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[4.0]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }
}
