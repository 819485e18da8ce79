//! CAKE in the words of tc-cake(8).

use super::words::{TcError, Words};
use crate::cake;
use node::Time;

/// Bytes of an Ethernet header. With an overhead the kernel counts from the IP header on, the
/// discipline here from the Ethernet header on.
const ETHERNET_HEADER: i32 = 14;

/// Reads the parameters of `cake`.
pub(super) fn home(words: &mut Words<'_>) -> Result<cake::Config, TcError> {
    let mut config = cake::Config::default();
    // None: packets count as they are.
    let mut overhead: Option<i32> = None;
    let mut is_raw = false;
    while let Some(word) = words.take() {
        let (ms, us) = (Time::from_ms, Time::from_us);
        let mut add = |bytes: i32| overhead = Some(overhead.unwrap_or(0) + bytes);
        match word {
            "bandwidth" => config.bandwidth = Some(words.rate()?),
            "unlimited" => config.bandwidth = None,
            "besteffort" => config.diffserv = cake::Diffserv::BestEffort,
            "diffserv3" => config.diffserv = cake::Diffserv::Diffserv3,
            "diffserv4" | "diffserv" => config.diffserv = cake::Diffserv::Diffserv4,
            "flowblind" => config.isolation = cake::Isolation::FlowBlind,
            "srchost" => config.isolation = cake::Isolation::SrcHost,
            "dsthost" => config.isolation = cake::Isolation::DstHost,
            "hosts" => config.isolation = cake::Isolation::Hosts,
            "flows" => config.isolation = cake::Isolation::Flows,
            "dual-srchost" => config.isolation = cake::Isolation::DualSrcHost,
            "dual-dsthost" => config.isolation = cake::Isolation::DualDstHost,
            "triple-isolate" => config.isolation = cake::Isolation::TripleIsolate,
            "rtt" => config.rtt = words.time()?,
            // Round trips by name.
            "datacentre" => config.rtt = us(100),
            "lan" => config.rtt = ms(1),
            "metro" => config.rtt = ms(10),
            "regional" => config.rtt = ms(30),
            "internet" => config.rtt = ms(100),
            "oceanic" => config.rtt = ms(300),
            "satellite" => config.rtt = ms(1_000),
            "interplanetary" => config.rtt = ms(1_000_000),
            "overhead" => overhead = Some(words.overhead()?),
            "raw" => (overhead, is_raw) = (Some(0), true),
            // Lines by name.
            "ethernet" => {
                add(38);
                config.mpu = 84;
            }
            "ether-vlan" => add(4),
            "docsis" => {
                add(18);
                config.mpu = 64;
            }
            "mpu" => config.mpu = words.within(0, 256)?,
            "memlimit" => config.memlimit = Some(words.size()?),
            "ack-filter" => config.ack_filter = cake::AckFilter::On,
            "ack-filter-aggressive" => config.ack_filter = cake::AckFilter::Aggressive,
            "no-ack-filter" => config.ack_filter = cake::AckFilter::Off,
            // Not done here anyway; packets that wait are segments already.
            "noatm" | "nonat" | "nowash" | "egress" | "via-ethernet" | "split-gso"
            | "no-split-gso" => {}
            _ => {
                let known = [
                    "bandwidth",
                    "unlimited",
                    "besteffort",
                    "diffserv3",
                    "diffserv4",
                    "flowblind",
                    "srchost",
                    "dsthost",
                    "hosts",
                    "flows",
                    "dual-srchost",
                    "dual-dsthost",
                    "triple-isolate",
                    "rtt",
                    "overhead",
                    "ethernet",
                    "docsis",
                    "mpu",
                    "memlimit",
                    "ack-filter",
                    "ack-filter-aggressive",
                    "no-ack-filter",
                ];
                return Err(words.unknown(&known, &LACKING));
            }
        }
    }
    if let Some(bytes) = overhead {
        config.overhead = bytes - if is_raw { 0 } else { ETHERNET_HEADER };
    }
    Ok(config)
}

/// Words of tc's without an equal here; the names of lines over ATM and PTM among them.
const LACKING: [&str; 20] = [
    "autorate-ingress",
    "diffserv8",
    "precedence",
    "nat",
    "wash",
    "ingress",
    "atm",
    "ptm",
    "conservative",
    "fwmark",
    "ipoa-vcmux",
    "ipoa-llcsnap",
    "bridged-vcmux",
    "bridged-llcsnap",
    "pppoa-vcmux",
    "pppoa-llc",
    "pppoe-vcmux",
    "pppoe-llcsnap",
    "pppoe-ptm",
    "bridged-ptm",
];
