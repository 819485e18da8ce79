//! Packets sent, their answers, and how long these took: scapy's `sr1`.

use super::Craft;
use super::answer::{Question, sender};
use crate::Verdict;
use crate::output::{Buffering, Output};
use crate::ping::route;
use ::capture::clock::now_ns;
use ::capture::signal;
use ::report::text;
use anyhow::{Context, bail, ensure};
use live::interface;
use live::port::{self, Options, Port, PortSpec};
use packet::craft::{Defaults, Template};
use packet::describe::Description;
use packet::ethernet::Mac;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// Maximum number of requests that wait for a reply.
const MAX_PENDING_REQUESTS: usize = 4096;
/// Timeout of one receive call, after which the loop checks its deadlines.
const RECEIVE_TIMEOUT: Duration = Duration::from_millis(20);
/// Number of requests for a receiver's address.
const TRIES: usize = 3;

/// A question on its way.
struct Waiting {
    question: Question,
    told: String,
    at_ns: u64,
}

/// Asks, and what came of it.
struct Asker<'a> {
    command: &'a Craft,
    port: Port,
    waiting: VecDeque<Waiting>,
    stdout: Output,
    /// Round trips, ns.
    trips: Vec<u64>,
    sent: u64,
    unanswered: u64,
    /// Packets that nothing can answer.
    mute: u64,
    stamped: u64,
}

pub fn ask(
    command: &Craft,
    spec: &PortSpec,
    template: &Template,
    count: u128,
) -> anyhow::Result<Verdict> {
    let port = port::open(spec, &Options::default())?;
    let stdout = Output::open(&Buffering::default())?;
    let (own, gateway) = addresses(spec, template)?;
    confine::ports([spec], false)?;
    let mut asker = Asker {
        command,
        port,
        waiting: VecDeque::new(),
        stdout,
        trips: Vec::new(),
        sent: 0,
        unanswered: 0,
        mute: 0,
        stamped: 0,
    };
    let end = format!("{count} packets, or until Ctrl-C");
    crate::report::begin_watched("asking on", &spec.to_string(), &end);
    let defaults = asker.defaults(template, own, gateway)?;
    let asked = asker.all(template, count, &defaults);
    let verdict = asker.tell()?;
    asked?;
    Ok(verdict)
}

/// The interface's own addresses of both versions, and whom packets to the stated destination go through.
fn addresses(
    spec: &PortSpec,
    template: &Template,
) -> anyhow::Result<([Option<IpAddr>; 2], Option<IpAddr>)> {
    let (PortSpec::Interface(name) | PortSpec::Xdp(name, _)) = spec else {
        return Ok(([None; 2], None));
    };
    let own = interface::addresses(name).context("cannot list the addresses")?;
    let (destination, stated) = template.destination();
    let any = |v4: bool| own.iter().map(|own| own.0).find(|own| own.is_ipv4() == v4);
    let source = |v4: bool| match destination.filter(|to| to.is_ipv4() == v4) {
        Some(to) => route::source_for(to, &own).or_else(|| any(v4)),
        None => any(v4),
    };
    let next = destination
        .filter(|_| !stated)
        .map(|to| match route::is_on_link(to, &own) {
            true => to,
            false => interface::gateway(name, to.is_ipv6()).unwrap_or(to),
        });
    Ok(([source(true), source(false)], next))
}

impl Asker<'_> {
    /// What packets have that is not stated, the receiver's address by ARP or neighbour discovery.
    fn defaults(
        &mut self,
        template: &Template,
        own: [Option<IpAddr>; 2],
        next: Option<IpAddr>,
    ) -> anyhow::Result<Defaults> {
        let mut defaults = Defaults::default();
        if let Some(mac) = self.port.info.mac {
            defaults.source = Mac(mac);
        }
        if let Some(IpAddr::V4(address)) = own[0] {
            defaults.ipv4 = address;
        }
        if let Some(IpAddr::V6(address)) = own[1] {
            defaults.ipv6 = address;
        }
        let group = |to: IpAddr| to.is_multicast() || to == IpAddr::from([255; 4]);
        let (_, stated) = template.destination();
        if let Some(next) = next.filter(|next| !stated && !group(*next)) {
            defaults.destination = self.find(next, &defaults)?;
        }
        Ok(defaults)
    }

    fn find(&mut self, address: IpAddr, defaults: &Defaults) -> anyhow::Result<Mac> {
        let text = match address {
            IpAddr::V4(address) => format!("arp(pdst={address})"),
            IpAddr::V6(address) => {
                let [.., b, c, d] = address.octets();
                let group = format!("ff02::1:ff{b:02x}:{c:02x}{d:02x}");
                let own = defaults.source.to_string();
                format!(
                    "ipv6(dst={group},hlim=255)/icmpv6(type=neighbour-solicitation,target={address})/x\"01 01 {own}\""
                )
            }
        };
        let template =
            Template::parse(&text).context("the question for an address is a template")?;
        let mut frame = Vec::new();
        template.build(0, defaults, &mut frame)?;
        let question = Question::of(&frame).context("it is a question")?;
        for _ in 0..TRIES {
            self.send(&frame)?;
            let end = now_ns() + self.command.timeout.as_ns();
            while now_ns() < end && !signal::stop_requested() {
                let mut found = None;
                self.port.rx.receive(RECEIVE_TIMEOUT, &mut |packet| {
                    if question.is_answered_by(packet.bytes) {
                        found = found.or(sender(packet.bytes));
                    }
                })?;
                if let Some(found) = found {
                    return Ok(found);
                }
            }
        }
        bail!(
            "nobody on {} answers for {address}; state eth(dst=...) to send all the same",
            self.port.info.name
        )
    }

    /// Sends a frame; when it left, ns, as well as is known.
    fn send(&mut self, frame: &[u8]) -> anyhow::Result<u64> {
        let asked = self.port.tx.ask_for_stamp();
        let before = now_ns();
        let sent = self.port.tx.send(&[frame])?;
        ensure!(sent == 1, "{} takes no packets", self.port.info.name);
        let stamp = asked.then(|| self.port.tx.take_stamp()).flatten();
        // One of a packet before would be no help.
        let stamp = stamp.filter(|stamp| *stamp >= before);
        self.stamped += u64::from(stamp.is_some());
        Ok(stamp.unwrap_or(before))
    }

    fn all(&mut self, template: &Template, count: u128, defaults: &Defaults) -> anyhow::Result<()> {
        let mut frame = Vec::new();
        let mut due = now_ns();
        for number in 0..count {
            self.command.build(template, number, defaults, &mut frame)?;
            while (self.waiting.len() == MAX_PENDING_REQUESTS || now_ns() < due)
                && !signal::stop_requested()
            {
                self.listen(due.saturating_sub(now_ns()))?;
            }
            if signal::stop_requested() {
                break;
            }
            let question = Question::of(&frame);
            let at_ns = self.send(&frame)?;
            self.sent += 1;
            due = at_ns + self.command.gap.as_ns();
            match question {
                Some(question) => self.waiting.push_back(Waiting {
                    question,
                    told: Description(&frame).to_string(),
                    at_ns,
                }),
                None => self.mute += 1,
            }
            self.listen(0)?;
        }
        while !self.waiting.is_empty() && !signal::stop_requested() {
            self.listen(self.command.timeout.as_ns())?;
        }
        Ok(())
    }

    /// Takes what comes, for so many ns at most, and gives up what has waited too long.
    fn listen(&mut self, wait_ns: u64) -> anyhow::Result<()> {
        let (waiting, trips, stdout, json) = (
            &mut self.waiting,
            &mut self.trips,
            &mut self.stdout,
            self.command.form.json(),
        );
        let mut trouble = Ok(());
        self.port.rx.receive(
            RECEIVE_TIMEOUT.min(Duration::from_nanos(wait_ns)),
            &mut |packet| {
                let asked = waiting
                    .iter()
                    .position(|asked| asked.question.is_answered_by(packet.bytes));
                let Some(asked) = asked.and_then(|index| waiting.remove(index)) else {
                    return;
                };
                let trip = packet.at_ns.saturating_sub(asked.at_ns);
                trips.push(trip);
                let line = answered(&asked.told, packet.bytes, trip, json);
                if trouble.is_ok() {
                    trouble = stdout.tell(&line);
                }
            },
        )?;
        trouble?;
        let late = now_ns().saturating_sub(self.command.timeout.as_ns());
        while let Some(asked) = self.waiting.pop_front_if(|asked| asked.at_ns < late) {
            self.give_up(&asked)?;
        }
        self.stdout.flush()
    }

    fn give_up(&mut self, asked: &Waiting) -> anyhow::Result<()> {
        self.unanswered += 1;
        let line = match self.command.form.json() {
            true => format!(
                "{}\n",
                json_line!("craft", "unanswered", { "question": asked.told })
            ),
            false => format!("no answer to {}\n", asked.told),
        };
        self.stdout.tell(&line)
    }

    /// The verdict.
    fn tell(mut self) -> anyhow::Result<Verdict> {
        let stopped = signal::stop_requested();
        while let Some(asked) = self.waiting.pop_front() {
            self.give_up(&asked)?;
        }
        self.trips.sort_unstable();
        let departures = match self.stamped {
            0 => "this program's clock",
            _ => "the kernel's stamps",
        };
        let (answered, arrivals) = (self.trips.len(), self.port.info.stamps.name());
        let (least, median) = (
            self.trips.first(),
            self.trips.get(answered.saturating_sub(1) / 2),
        );
        let line = match self.command.form.json() {
            true => {
                let summary = json_line!("craft", "summary", {
                    "port": self.port.info.name,
                    "sent": self.sent,
                    "answered": answered,
                    "unanswered": self.unanswered,
                    "without_question": self.mute,
                    "rtt_min_ns": least,
                    "rtt_median_ns": median,
                    "departures": departures,
                    "arrivals": arrivals,
                });
                format!("{summary}\n")
            }
            false => {
                let mut line = format!("{answered} of {} answered", self.sent);
                if let (Some(least), Some(median)) = (least, median) {
                    let time = |ns: u64| text::time(ns as f64 * 1e3);
                    line += &format!(
                        "; round trip {} at least, {} at the median, departures by {departures}, arrivals by {arrivals} stamps",
                        time(*least),
                        time(*median)
                    );
                }
                if self.mute > 0 {
                    line += &format!(
                        "; {} packets are no question that anybody answers",
                        self.mute
                    );
                }
                line + "\n"
            }
        };
        self.stdout.tell(&line)?;
        self.stdout.finish()?;
        let good = Verdict::if_good(self.unanswered == 0 && self.mute == 0);
        Ok(good.max(Verdict::if_done(!stopped)))
    }
}

fn answered(question: &str, answer: &[u8], trip_ns: u64, json: bool) -> String {
    let told = Description(answer);
    match json {
        true => {
            let bytes: String = answer.iter().map(|byte| format!("{byte:02X}")).collect();
            let line = json_line!("craft", "answer", {
                "question": question,
                "answer": told.to_string(),
                "rtt_ns": trip_ns,
                "bytes": bytes,
            });
            format!("{line}\n")
        }
        false => format!(
            "{told} after {}, to {question}\n",
            text::time(trip_ns as f64 * 1e3)
        ),
    }
}
