//! The numbers among a discipline's parameters, by name: what may be varied.

use crate::{
    Config, cake, codel, docsis_pie, drr, dualpi2, fifo, fq_codel, htb, pie, policer, prio, red,
    tbf, varying,
};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use node::{Rate, Size, Time};

/// A number or a switch among the parameters, in place.
#[derive(Debug)]
pub enum Quantity<'a> {
    /// A number of packets, bytes or anything else that is counted.
    Count(&'a mut u32),
    /// A length of time.
    Time(&'a mut Time),
    /// A number of bytes.
    Size(&'a mut Size),
    /// Bits a second.
    Rate(&'a mut Rate),
    /// A factor or a probability, at least 0.
    Factor(&'a mut f64),
    /// On or off.
    Switch(&'a mut bool),
    /// CAKE's ACK filter.
    AckFilter(&'a mut cake::AckFilter),
}

/// Steps of a [`Quantity::Factor`] in 1.
const FACTOR_STEPS: f64 = 1e6;

impl Quantity<'_> {
    /// The value in its smallest steps: 1, 1 ps, 1 byte, 1 b/s, 10^-6; a switch has 0 and 1, a filter its
    /// index among [`cake::AckFilter::ALL`].
    pub fn get(&self) -> u64 {
        match self {
            Quantity::Count(count) => (**count).into(),
            Quantity::Time(time) => time.as_ps(),
            Quantity::Size(size) => size.bytes(),
            Quantity::Rate(rate) => rate.bits_per_second(),
            Quantity::Factor(factor) => (**factor * FACTOR_STEPS + 0.5) as u64,
            Quantity::Switch(is_on) => (**is_on).into(),
            Quantity::AckFilter(filter) => **filter as u64,
        }
    }

    /// Sets the value, in the steps of [`get`](Quantity::get). `false`, and nothing is set, for a value that it cannot have.
    pub fn set(&mut self, value: u64) -> bool {
        match self {
            Quantity::Count(count) => match u32::try_from(value) {
                Ok(value) => **count = value,
                Err(_) => return false,
            },
            Quantity::Time(time) => **time = Time::from_ps(value),
            Quantity::Size(size) => **size = Size::from_bytes(value),
            Quantity::Rate(rate) => match Rate::from_bits_per_second(value) {
                Some(value) => **rate = value,
                None => return false,
            },
            Quantity::Factor(factor) => **factor = value as f64 / FACTOR_STEPS,
            Quantity::Switch(is_on) => **is_on = value != 0,
            Quantity::AckFilter(filter) => {
                let index = usize::try_from(value).unwrap_or(usize::MAX);
                match cake::AckFilter::ALL.get(index) {
                    Some(value) => **filter = *value,
                    None => return false,
                }
            }
        }
        true
    }

    /// Whether it has two values only.
    pub const fn is_switch(&self) -> bool {
        matches!(self, Quantity::Switch(_))
    }

    /// Number of its values, where they have names in place of an order.
    pub const fn choices(&self) -> Option<u64> {
        match self {
            Quantity::Switch(_) => Some(2),
            Quantity::AckFilter(_) => Some(cake::AckFilter::ALL.len() as u64),
            _ => None,
        }
    }
}

impl fmt::Display for Quantity<'_> {
    /// As a file has it: `5 ms`, `1000`, `true`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quantity::Count(count) => write!(f, "{count}"),
            Quantity::Time(time) => write!(f, "{time}"),
            Quantity::Size(size) => write!(f, "{size}"),
            Quantity::Rate(rate) => write!(f, "{rate}"),
            Quantity::Factor(factor) => write!(f, "{factor}"),
            Quantity::Switch(is_on) => write!(f, "{is_on}"),
            Quantity::AckFilter(filter) => f.write_str(filter.name()),
        }
    }
}

/// Quantities with their names.
pub type Parameters<'a> = Vec<(String, Quantity<'a>)>;

/// Collects quantities below a path.
struct Collector<'a, 'l> {
    list: &'l mut Parameters<'a>,
    path: &'l str,
}

impl<'a> Collector<'a, '_> {
    fn add(&mut self, name: &str, quantity: Quantity<'a>) -> &mut Self {
        self.list.push((format!("{}{name}", self.path), quantity));
        self
    }

    fn count(&mut self, name: &str, count: &'a mut u32) -> &mut Self {
        self.add(name, Quantity::Count(count))
    }

    fn time(&mut self, name: &str, time: &'a mut Time) -> &mut Self {
        self.add(name, Quantity::Time(time))
    }

    fn size(&mut self, name: &str, size: &'a mut Size) -> &mut Self {
        self.add(name, Quantity::Size(size))
    }

    fn rate(&mut self, name: &str, rate: &'a mut Rate) -> &mut Self {
        self.add(name, Quantity::Rate(rate))
    }

    fn factor(&mut self, name: &str, factor: &'a mut f64) -> &mut Self {
        self.add(name, Quantity::Factor(factor))
    }

    fn switch(&mut self, name: &str, is_on: &'a mut bool) -> &mut Self {
        self.add(name, Quantity::Switch(is_on))
    }

    /// A parameter that may be absent; without a value there is nothing to vary.
    fn some<T>(
        &mut self,
        name: &str,
        value: &'a mut Option<T>,
        quantity: fn(&'a mut T) -> Quantity<'a>,
    ) -> &mut Self {
        match value {
            Some(value) => self.add(name, quantity(value)),
            None => self,
        }
    }

    fn child(&mut self, name: &str, config: &'a mut Config) {
        let path = format!("{}{name}.", self.path);
        config.collect(&path, self.list);
    }
}

impl Config {
    /// The numbers and switches among its parameters, those of inner disciplines too, under the names that a file has:
    /// `target`, `child.limit`, `classes.0.rate`.
    pub fn parameters(&mut self) -> Parameters<'_> {
        let mut list = Vec::new();
        self.collect("", &mut list);
        list
    }

    fn collect<'a>(&'a mut self, path: &str, list: &mut Parameters<'a>) {
        let mut to = Collector { list, path };
        match self {
            Config::Fifo(config) => fifo(config, &mut to),
            Config::Codel(config) => codel(config, &mut to),
            Config::FqCodel(config) => fq_codel(config, &mut to),
            Config::Pie(config) => pie(config, &mut to),
            Config::DocsisPie(config) => docsis_pie(config, &mut to),
            Config::DualPi2(config) => dualpi2(config, &mut to),
            Config::Cake(config) => cake(config, &mut to),
            Config::Red(config) => red(config, &mut to),
            Config::Tbf(config) => tbf(config, &mut to),
            Config::Htb(config) => classes(&mut config.classes, &mut to),
            Config::Policer(policer::Config { rate, burst, child }) => {
                to.rate("rate", rate).size("burst", burst);
                if let Some(child) = child {
                    to.child("child", child);
                }
            }
            Config::Varying(varying::Config {
                rates,
                repeat: _,
                child,
            }) => {
                for (index, (_, rate)) in rates.iter_mut().enumerate() {
                    to.rate(&format!("rates.{index}.1"), rate);
                }
                if let Some(child) = child {
                    to.child("child", child);
                }
            }
            Config::Drr(drr::Config { classes, .. }) => {
                for (index, class) in classes.iter_mut().enumerate() {
                    to.count(&format!("classes.{index}.quantum"), &mut class.quantum);
                    to.child(&format!("classes.{index}.child"), &mut class.child);
                }
            }
            Config::Prio(prio::Config { bands, .. }) => {
                for (index, band) in bands.iter_mut().enumerate() {
                    to.child(&format!("bands.{index}"), band);
                }
            }
        }
    }
}

// Each takes its configuration apart without `..`, so that a new parameter cannot be forgotten here.

fn fifo<'a>(config: &'a mut fifo::Config, to: &mut Collector<'a, '_>) {
    let fifo::Config {
        limit,
        bytes,
        time,
        head_drop,
        mark,
        ce_threshold,
    } = config;
    to.count("limit", limit)
        .some("bytes", bytes, Quantity::Size)
        .some("time", time, Quantity::Time)
        .switch("head_drop", head_drop)
        .some("mark", mark, Quantity::Count)
        .some("ce_threshold", ce_threshold, Quantity::Time);
}

fn codel<'a>(config: &'a mut codel::Config, to: &mut Collector<'a, '_>) {
    let codel::Config {
        limit,
        target,
        interval,
        ecn,
        ce_threshold,
        mtu,
        count_reuse: _,
    } = config;
    to.count("limit", limit)
        .time("target", target)
        .time("interval", interval)
        .switch("ecn", ecn)
        .some("ce_threshold", ce_threshold, Quantity::Time)
        .count("mtu", mtu);
}

fn fq_codel<'a>(config: &'a mut fq_codel::Config, to: &mut Collector<'a, '_>) {
    let fq_codel::Config {
        limit,
        memory_limit,
        flows,
        quantum,
        target,
        interval,
        ecn,
        ce_threshold,
        mtu,
        drop_batch,
        count_reuse: _,
    } = config;
    to.count("limit", limit)
        .size("memory_limit", memory_limit)
        .count("flows", flows)
        .count("quantum", quantum)
        .time("target", target)
        .time("interval", interval)
        .switch("ecn", ecn)
        .some("ce_threshold", ce_threshold, Quantity::Time)
        .count("mtu", mtu)
        .count("drop_batch", drop_batch);
}

fn pie<'a>(config: &'a mut pie::Config, to: &mut Collector<'a, '_>) {
    let pie::Config {
        limit,
        target,
        tupdate,
        alpha,
        beta,
        max_burst,
        ecn,
        bytemode,
        mean_packet,
        rate,
    } = config;
    to.count("limit", limit)
        .time("target", target)
        .time("tupdate", tupdate)
        .count("alpha", alpha)
        .count("beta", beta)
        .time("max_burst", max_burst)
        .switch("ecn", ecn)
        .switch("bytemode", bytemode)
        .count("mean_packet", mean_packet)
        .some("rate", rate, Quantity::Rate);
}

fn docsis_pie<'a>(config: &'a mut docsis_pie::Config, to: &mut Collector<'a, '_>) {
    let docsis_pie::Config {
        rate,
        limit,
        target,
        tupdate,
        alpha,
        beta,
        max_burst,
        burst_reset,
        latency_low,
        latency_high,
        mean_packet,
        burst,
        peakrate,
    } = config;
    to.rate("rate", rate)
        .some("limit", limit, Quantity::Size)
        .time("target", target)
        .time("tupdate", tupdate)
        .count("alpha", alpha)
        .count("beta", beta)
        .time("max_burst", max_burst)
        .time("burst_reset", burst_reset)
        .time("latency_low", latency_low)
        .time("latency_high", latency_high)
        .count("mean_packet", mean_packet)
        .some("burst", burst, Quantity::Size)
        .some("peakrate", peakrate, Quantity::Rate);
}

fn dualpi2<'a>(config: &'a mut dualpi2::Config, to: &mut Collector<'a, '_>) {
    let dualpi2::Config {
        limit,
        target,
        tupdate,
        alpha,
        beta,
        coupling,
        step_thresh,
        range,
        min_qlen_step,
        min_backlog,
        classic_protection,
    } = config;
    to.count("limit", limit)
        .time("target", target)
        .time("tupdate", tupdate)
        .factor("alpha", alpha)
        .factor("beta", beta)
        .count("coupling", coupling)
        .time("step_thresh", step_thresh)
        .time("range", range)
        .count("min_qlen_step", min_qlen_step)
        .size("min_backlog", min_backlog)
        .count("classic_protection", classic_protection);
}

fn cake<'a>(config: &'a mut cake::Config, to: &mut Collector<'a, '_>) {
    let cake::Config {
        bandwidth,
        diffserv: _,
        isolation: _,
        rtt,
        overhead: _,
        mpu,
        memlimit,
        ack_filter,
    } = config;
    to.some("bandwidth", bandwidth, Quantity::Rate)
        .time("rtt", rtt)
        .count("mpu", mpu)
        .some("memlimit", memlimit, Quantity::Size);
    // Segments are kept for replays only where a filter reads them.
    if *ack_filter != cake::AckFilter::Off {
        to.add("ack_filter", Quantity::AckFilter(ack_filter));
    }
}

fn red<'a>(config: &'a mut red::Config, to: &mut Collector<'a, '_>) {
    let red::Config {
        limit,
        min,
        max,
        probability,
        wlog,
        avpkt,
        bandwidth,
        gentle,
        wait,
        adaptive,
        interval,
        ecn,
        harddrop,
    } = config;
    to.size("limit", limit)
        .size("min", min)
        .size("max", max)
        .factor("probability", probability)
        .count("wlog", wlog)
        .count("avpkt", avpkt)
        .rate("bandwidth", bandwidth)
        .switch("gentle", gentle)
        .switch("wait", wait)
        .switch("adaptive", adaptive)
        .time("interval", interval)
        .switch("ecn", ecn)
        .switch("harddrop", harddrop);
}

fn tbf<'a>(config: &'a mut tbf::Config, to: &mut Collector<'a, '_>) {
    let tbf::Config {
        rate,
        burst,
        limit,
        peakrate,
        mtu,
        child,
    } = config;
    to.rate("rate", rate).size("burst", burst);
    // Each belongs to one that may be absent.
    if child.is_none() {
        to.size("limit", limit);
    }
    if peakrate.is_some() {
        to.size("mtu", mtu);
    }
    to.some("peakrate", peakrate, Quantity::Rate);
    if let Some(child) = child {
        to.child("child", child);
    }
}

fn classes<'a>(classes: &'a mut [htb::Class], to: &mut Collector<'a, '_>) {
    for (index, class) in classes.iter_mut().enumerate() {
        let htb::Class {
            rate,
            ceil,
            burst,
            cburst,
            prio,
            quantum,
            classes: inner,
            child,
        } = class;
        let path = format!("{}classes.{index}.", to.path);
        let mut to = Collector {
            list: to.list,
            path: &path,
        };
        to.rate("rate", rate)
            .some("ceil", ceil, Quantity::Rate)
            .size("burst", burst)
            .size("cburst", cburst)
            .count("prio", prio)
            .count("quantum", quantum);
        self::classes(inner, &mut to);
        if let Some(child) = child {
            to.child("child", child);
        }
    }
}
