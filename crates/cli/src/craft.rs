//! `wire craft`: packets from header words, as lines; or sent, and their answers.

mod answer;
mod ask;

use crate::Verdict;
use crate::form::FormOptions;
use crate::output::{Buffering, Output};
use crate::ports::spec;
use anyhow::bail;
use confine::Permissions;
use live::port::PortSpec;
use node::Time;
use packet::craft::{CraftError, Defaults, Template};
use packet::{Packet, Stamp, Tick, printable};

/// Make packets from header words; with --ask send them, and tell the answers
///
/// LAYERS are eth, vlan, mpls, arp, ip, ipv6, icmp, icmpv6, tcp, udp, dns, vxlan, gre, and a payload as "text" or x"68 69", the
/// outermost first with / between them, and fields in parentheses; most names are scapy's. What is not stated is filled in:
/// lengths, checksums, types, addresses. Ranges (1-1024, 10.0.0.1-10.0.0.9), prefixes (10.0.0.0/30) and lists ([1,2,64]) give
/// every combination. --ask gives addresses from the interface and finds the receiver's MAC address; exit code 1 if an answer is
/// missing.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wire craft 'ip(dst=10.0.0.2,ttl=3)/udp(dport=1-1024)/\"hello\"' | wire send eth0
  wire craft 'ip(dst=10.0.0.2)/tcp(dport=[22,80,443],flags=S)' --ask eth0 --timeout 500ms
  wire craft 'ip(dst=10.0.0.2)/udp/dns(name=example.org,type=AAAA)' --ask eth0")]
pub struct Craft {
    /// The layers of the packet
    layers: String,
    /// Stop after this many packets; the template begins again behind its last one
    #[arg(long, short, value_name = "N")]
    count: Option<u64>,
    /// Send the packets by this port, and wait for their answers
    #[arg(long, value_name = "PORT", value_parser = spec())]
    ask: Option<PortSpec>,
    /// How long an answer may take
    #[arg(long, value_name = "TIME", default_value = "1s", requires = "ask")]
    timeout: Time,
    /// Between packets that are sent
    #[arg(long, value_name = "TIME", default_value = "0s", requires = "ask")]
    gap: Time,
    #[command(flatten)]
    form: FormOptions,
    #[command(flatten)]
    buffering: Buffering,
}

impl Craft {
    /// Writes the packets, or asks.
    pub fn run(self) -> anyhow::Result<Verdict> {
        let template =
            Template::parse(&self.layers).or_else(|error| bail!(shown(&self.layers, &error)))?;
        ::capture::signal::install();
        let count = self.count.map_or(template.count(), u128::from);
        match &self.ask {
            Some(spec) => ask::ask(&self, spec, &template, count),
            None => self.write(&template, count),
        }
    }

    fn write(&self, template: &Template, count: u128) -> anyhow::Result<Verdict> {
        confine::reader(Permissions::default())?;
        let mut stdout = Output::open(&self.buffering)?;
        let mut form = self.form.form();
        let mut frame = Vec::new();
        for number in 0..count {
            if ::capture::signal::stop_requested() {
                break;
            }
            self.build(template, number, &Defaults::default(), &mut frame)?;
            let packet = Packet {
                stamp: Some(Stamp::Word(0)),
                hash: None,
                bytes: &frame,
            };
            form.append(&packet, Tick::EIGHT_NS, stdout.buffer())?;
            stdout.relieve()?;
        }
        stdout.finish()?;
        Ok(Verdict::if_done(!::capture::signal::stop_requested()))
    }

    fn build(
        &self,
        template: &Template,
        number: u128,
        defaults: &Defaults,
        frame: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        let built = template.build(number, defaults, frame);
        built.or_else(|error| bail!(shown(&self.layers, &error)))
    }
}

/// The text with carets below what is meant, and what is wrong with it.
fn shown(text: &str, error: &CraftError) -> String {
    let width = |text: &str| printable::word(text).chars().count();
    let before = " ".repeat(width(&text[..error.at.start]));
    let carets = "^".repeat(width(&text[error.at.clone()]).max(1));
    format!(
        "{}\n  {}\n  {before}{carets}",
        error.message,
        printable::word(text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_has_carets_below_it() {
        for (text, carets) in [
            ("ip(ttl=300)/udp", "         ^^^"),
            ("ip(dst=10.0.0.1", "                 ^"),
            ("\u{e9}/ip(", "  ^"),
        ] {
            let error = Template::parse(text).unwrap_err();
            let shown = shown(text, &error);
            assert_eq!(shown.lines().last(), Some(carets), "{shown}");
        }
    }
}
