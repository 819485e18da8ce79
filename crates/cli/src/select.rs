//! Which packets of a stream are wanted: by what they are, when they came, and how many.

use crate::time::Moment;
use ::capture::file::Item;
use live::bpf::{BpfError, Target};
use live::filter::FilterError;
use node::Time;
use packet::MAX_FRAME_LEN;
use std::net::Ipv4Addr;

/// Which packets are taken by what they are.
#[derive(clap::Args, Default)]
pub struct Filter {
    /// Only packets that fit an expression as tcpdump has them, such as 'udp port 53'
    #[arg(long, short, value_name = "EXPRESSION")]
    filter: Option<String>,
    #[command(flatten)]
    network: Network,
}

/// Facts about the network that filters depend on.
#[derive(clap::Args, Clone, Copy, Default)]
pub struct Network {
    /// The mask of the network, for `ip broadcast` where an interface does not have it, such as
    /// 255.255.255.0
    #[arg(long, value_name = "MASK", value_parser = netmask)]
    netmask: Option<Ipv4Addr>,
}

/// A mask, or the length of its prefix.
fn netmask(text: &str) -> Result<Ipv4Addr, String> {
    let bits = text.trim_start_matches('/').parse::<u32>().ok();
    let mask = match bits.filter(|bits| *bits <= 32) {
        Some(bits) => Some(Ipv4Addr::from_bits(
            u32::MAX.checked_shl(32 - bits).unwrap_or(0),
        )),
        None => text.parse().ok(),
    };
    mask.filter(|mask: &Ipv4Addr| mask.to_bits().leading_ones() == mask.to_bits().count_ones())
        .ok_or_else(|| "a mask has ones and then zeros, such as 255.255.255.0 or /24".into())
}

/// Which packets are taken.
#[derive(clap::Args, Default)]
pub struct Selection {
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    span: Span,
    /// Stop after this many packets
    #[arg(long, short, value_name = "N")]
    count: Option<u64>,
}

/// Which packets are taken by when they came.
#[derive(clap::Args, Default)]
pub struct Span {
    /// Only packets from then on: 2026-11-22T10:00:00Z, seconds since 1970, +1.5s
    #[arg(long, value_name = "WHEN")]
    since: Option<Moment>,
    /// Only packets before then; +10s is so long behind the first packet
    #[arg(long, value_name = "WHEN")]
    until: Option<Moment>,
    /// Only packets of this long, from the first on; of ports, from the start
    #[arg(long, value_name = "TIME", value_parser = node::time::seconds)]
    duration: Option<Time>,
    /// Pass over the first so many of these packets
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    skip: u64,
}

/// A selection at work.
pub struct Selector {
    filter: Option<live::filter::Filter>,
    since: Option<Moment>,
    until: Option<Moment>,
    /// ps.
    duration: Option<u128>,
    /// When the first packet of all came, ps since 1970.
    first: Option<u128>,
    /// When ports were first asked.
    began: Option<u128>,
    skip: u64,
    left: u64,
    counted: bool,
}

impl Filter {
    /// That of a command whose option has another short flag.
    pub fn of(filter: Option<String>, network: Network) -> Filter {
        Filter { filter, network }
    }

    /// The filter at work, if there is one.
    ///
    /// # Errors
    /// When the expression is none.
    pub fn compiled(&self) -> anyhow::Result<Option<live::filter::Filter>> {
        let compile = |expression| compile(expression, self.network.netmask);
        self.filter.as_deref().map(compile).transpose()
    }
}

impl Selection {
    /// Gets ready.
    ///
    /// # Errors
    /// When the filter is none.
    pub fn selector(&self) -> anyhow::Result<Selector> {
        Ok(Selector {
            left: self.count.unwrap_or(u64::MAX),
            counted: self.count.is_some(),
            ..self.span.selector(&self.filter)?
        })
    }

    /// The filter alone.
    ///
    /// # Errors
    /// When it is none.
    pub fn filter(&self) -> anyhow::Result<Option<live::filter::Filter>> {
        self.filter.compiled()
    }

    /// How long it lasts, if that was said.
    pub fn duration(&self) -> Option<Time> {
        self.span.duration
    }

    /// Whether it has no end of its own.
    pub fn is_endless(&self) -> bool {
        self.count.is_none() && self.span.duration.is_none() && self.span.until.is_none()
    }
}

impl Span {
    /// Gets ready, with a filter beside.
    ///
    /// # Errors
    /// When the filter is none.
    pub fn selector(&self, filter: &Filter) -> anyhow::Result<Selector> {
        Ok(Selector {
            filter: filter.compiled()?,
            since: self.since,
            until: self.until,
            duration: self.duration.map(|time| time.as_ps().into()),
            skip: self.skip,
            ..Selector::default()
        })
    }
}

/// Everything.
impl Default for Selector {
    fn default() -> Selector {
        Selector {
            filter: None,
            since: None,
            until: None,
            duration: None,
            first: None,
            began: None,
            skip: 0,
            left: u64::MAX,
            counted: false,
        }
    }
}

/// Compiles an expression; what is wrong with one has a caret below it. A command does so before it
/// confines itself: libpcap has to be loaded, and names may have to be looked up.
fn compile(expression: &str, netmask: Option<Ipv4Addr>) -> anyhow::Result<live::filter::Filter> {
    live::filter::Filter::new(expression, netmask).map_err(|error| match error {
        FilterError::Expression(BpfError::Expression { .. }) => {
            let at = expression[..mistake(expression)].chars().count();
            let (line, caret) = (expression.replace(['\n', '\t'], " "), " ".repeat(at));
            anyhow::anyhow!("{error}\n    {line}\n    {caret}^")
        }
        error => error.into(),
    })
}

/// Why a packet cannot be judged, and the option that helps.
pub fn unjudged(error: FilterError) -> anyhow::Error {
    match error {
        FilterError::Expression(BpfError::Netmask { .. }) => {
            anyhow::anyhow!("{error}; give it, as in --netmask 255.255.255.0")
        }
        error => error.into(),
    }
}

/// Where the mistake is in an expression that is none: at the first word behind which nothing makes one. libpcap does not tell.
fn mistake(expression: &str) -> usize {
    /// What an unfinished expression may go on with.
    const MORE: [&str; 8] = [
        "",
        " ip",
        " 1",
        " 1.2.3.4",
        " host 1.2.3.4",
        " port 1",
        " 1 ]=0",
        " ]=0",
    ];
    let sound = |text: &str| {
        let open = text
            .matches('(')
            .count()
            .saturating_sub(text.matches(')').count());
        let close = ")".repeat(open);
        MORE.iter().any(|more| {
            let whole = format!("{text}{more}{close}");
            let compiled = live::bpf::compile(&whole, &Target::ETHERNET, MAX_FRAME_LEN as u32);
            // A mask that is not known is no mistake of the text.
            matches!(compiled, Ok(_) | Err(BpfError::Netmask { .. }))
        })
    };
    let breaks = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']');
    let mut at = 0;
    for (index, _) in expression
        .match_indices(breaks)
        .chain([(expression.len(), "")])
    {
        if !sound(&expression[..index]) {
            let word = &expression[at..];
            return at + word.len() - word.trim_start().len();
        }
        at = index;
    }
    expression.len()
}

impl Selector {
    /// By a filter alone.
    ///
    /// # Errors
    /// When that is none.
    pub fn by(filter: &Filter) -> anyhow::Result<Selector> {
        Ok(Selector {
            filter: filter.compiled()?,
            ..Selector::default()
        })
    }

    /// Whether a packet is wanted. `at_ps` tells when it came, in ps since 1970, and is asked only where that matters.
    ///
    /// # Errors
    /// When the filter asks for what packets of this link type do not have.
    #[inline]
    pub fn takes(&mut self, item: &Item<'_>, at_ps: impl FnOnce() -> u128) -> anyhow::Result<bool> {
        let timed = self.since.is_some() || self.until.is_some() || self.duration.is_some();
        if timed && !self.in_time(at_ps()) {
            return Ok(false);
        }
        if let Some(filter) = &mut self.filter
            && !filter.takes(item).map_err(unjudged)?
        {
            return Ok(false);
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(false);
        }
        let takes = self.left > 0;
        self.left -= u64::from(takes);
        Ok(takes)
    }

    /// Whether it leaves out any packet.
    pub fn selects(&self) -> bool {
        let timed = self.since.is_some() || self.until.is_some() || self.duration.is_some();
        timed || self.filter.is_some() || self.counted || self.skip > 0
    }

    /// Whether what comes from now on, ps since 1970, comes too late: for ports, which give packets in the order of time.
    pub fn is_over(&mut self, now_ps: u128) -> bool {
        let began = *self.began.get_or_insert(now_ps);
        if !self.wants_more() {
            return true;
        }
        if self
            .duration
            .is_some_and(|long| now_ps.saturating_sub(began) >= long)
        {
            return true;
        }
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
        let until = self.until.is_none_or(|until| at_ps < until.ps(first));
        let long = at_ps.saturating_sub(self.began.unwrap_or(first));
        since && until && self.duration.is_none_or(|duration| long < duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_in_an_expression_has_a_caret_below_it() {
        if let Err(error) = compile("ip", None) {
            return println!("skipped: {error:#}");
        }
        for (expression, place) in [
            ("udp prt 53", 4),
            ("udp port 53 and and", 16),
            ("host", 4),
            ("(udp or tcp) nad ip", 13),
        ] {
            let Err(error) = compile(expression, None) else {
                panic!("{expression} is one")
            };
            let told = error.to_string();
            let caret = told.lines().last().unwrap().find('^').unwrap();
            assert_eq!(caret, 4 + place, "{told}");
        }
        assert!(compile("udp port 53", None).is_ok());
    }

    #[test]
    fn a_mask_is_written_as_addresses_or_as_the_length_of_a_prefix() {
        for (text, mask) in [
            ("255.255.255.0", Some([255, 255, 255, 0])),
            ("/20", Some([255, 255, 240, 0])),
            ("0", Some([0; 4])),
            ("32", Some([255; 4])),
            ("/33", None),
            ("255.0.255.0", None),
            ("mask", None),
        ] {
            assert_eq!(netmask(text).ok(), mask.map(Ipv4Addr::from), "{text}");
        }
    }

    #[test]
    fn a_duration_counts_from_the_first_packet_of_a_file_and_from_the_start_of_a_port() {
        let selection = Selection {
            span: Span {
                duration: Some(Time::from_ps(10)),
                ..Span::default()
            },
            ..Selection::default()
        };
        let mut file = selection.selector().unwrap();
        let taken = [100, 105, 110, 95].map(|at| file.takes(&Item::of(&[]), || at).unwrap());
        assert_eq!(taken, [true, true, false, true]);
        let mut port = selection.selector().unwrap();
        assert!(!port.is_over(90));
        assert!(port.takes(&Item::of(&[]), || 99).unwrap());
        assert!(!port.takes(&Item::of(&[]), || 100).unwrap());
        assert!(port.is_over(100));
    }
}
