//! Which packets of a stream are wanted: by what they are, when they came, and how many.

use crate::cat::compile;
use crate::time::Moment;
use nodes::filter::Program;

/// Which packets are taken.
#[derive(clap::Args)]
pub struct Selection {
    /// Only packets that fit a BPF expression, such as 'udp port 53'
    #[arg(long, short, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// Only packets from then on: 2026-11-22T10:00:00Z, seconds since 1970, +1.5s
    #[arg(long, value_name = "WHEN")]
    since: Option<Moment>,
    /// Only packets before then; +10s is so long behind the first packet
    #[arg(long, value_name = "WHEN")]
    until: Option<Moment>,
    /// Pass over the first so many of these packets
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    skip: u64,
    /// Stop after this many packets
    #[arg(long, short, value_name = "N")]
    count: Option<u64>,
}

/// A selection at work.
pub struct Selector {
    filter: Option<Program>,
    since: Option<Moment>,
    until: Option<Moment>,
    /// When the first packet of all came, ps since 1970.
    first: Option<u128>,
    skip: u64,
    left: u64,
    counted: bool,
}

impl Selection {
    /// Gets ready.
    ///
    /// # Errors
    /// When the filter is none.
    pub fn selector(&self) -> anyhow::Result<Selector> {
        Ok(Selector {
            filter: self.filter.as_deref().map(compile).transpose()?,
            since: self.since,
            until: self.until,
            first: None,
            skip: self.skip,
            left: self.count.unwrap_or(u64::MAX),
            counted: self.count.is_some(),
        })
    }
}

impl Selector {
    /// Whether a packet is wanted. `at_ps` tells when it came, in ps since 1970, and is asked only where that matters.
    #[inline]
    pub fn takes(&mut self, bytes: &[u8], at_ps: impl FnOnce() -> u128) -> bool {
        if (self.since.is_some() || self.until.is_some()) && !self.in_time(at_ps()) {
            return false;
        }
        if let Some(filter) = &self.filter
            && filter.run(bytes) == 0
        {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        let takes = self.left > 0;
        self.left -= u64::from(takes);
        takes
    }

    /// Whether packets are looked into, which has to be Ethernet.
    pub fn filters(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether what comes from now on, ps since 1970, comes too late: for ports, which give packets in the order of time.
    pub fn is_over(&self, now_ps: u128) -> bool {
        match (self.until, self.first) {
            (Some(Moment::At(until)), _) => now_ps >= until,
            (Some(until), Some(first)) => now_ps >= until.ps(first),
            _ => false,
        }
    }

    /// Whether more packets are wanted.
    #[inline]
    pub fn wants_more(&self) -> bool {
        self.left > 0
    }

    /// Whether there were as many as were asked for.
    pub fn is_done(&self) -> bool {
        !self.counted || self.left == 0
    }

    fn in_time(&mut self, at_ps: u128) -> bool {
        let first = *self.first.get_or_insert(at_ps);
        let since = self.since.is_none_or(|since| at_ps >= since.ps(first));
        since && self.until.is_none_or(|until| at_ps < until.ps(first))
    }
}
