//! One function for each decoder: arbitrary bytes must not make it panic, hang or grow without bound.
//!
//! A target asserts what holds for every input (what is read writes back the same), not only that nothing panics.
//! libFuzzer calls them (`make fuzz`), and so do the tests, on the corpus and what is near it.
//! Add a target: a module with `pub fn target(data: &[u8])`, and a line in [`TARGETS`].

#![forbid(unsafe_code)]

mod bandwidth_messages;
mod bpf;
mod capture;
mod channel;
mod checker;
mod covert;
mod craft;
mod delay_spec;
mod dhcp_messages;
mod dissect;
mod dns;
mod dns_stream;
mod dtp;
mod facts;
mod firewall;
mod flow;
mod headers;
mod hexdump;
mod hook;
mod host;
mod huygens_probe;
mod interface;
mod lab_file;
mod layers;
mod line;
mod membership;
mod middlebox;
mod mount;
mod nat;
mod nat64;
mod nodes_alone;
mod ntp_header;
mod openflow_messages;
mod openflow_switch;
mod p4_parse;
mod p4_preprocess;
mod p4runtime_messages;
mod pause;
mod paxos_messages;
mod phy_decode;
mod phy_file;
mod phy_lock;
mod pipelines;
mod port_mapping;
mod probe;
mod profile;
mod programs;
mod ptp_messages;
mod record;
mod relay_compress;
mod relay_encapsulation;
mod relays;
mod repair;
mod router;
mod siit;
mod snmp;
mod stf;
mod stream;
mod switch;
mod trace_answers;
mod udpstp_messages;
mod warts;
mod word;

/// A fuzz target: one input.
pub type Target = fn(&[u8]);

/// Every target, by the name of its corpus folder.
pub const TARGETS: &[(&str, Target)] = &[
    ("bandwidth", bandwidth_messages::target),
    ("bpf", bpf::target),
    ("capture", capture::target),
    ("channel", channel::target),
    ("checker", checker::target),
    ("covert", covert::target),
    ("craft", craft::target),
    ("delay", delay_spec::target),
    ("dhcp", dhcp_messages::v4),
    ("dhcpv6", dhcp_messages::v6),
    ("dissect", dissect::target),
    ("dns_forwarder", dns::forwarder),
    ("dns_mdns", dns::multicast),
    ("dns_query", dns::query),
    ("dns_resolver", dns::resolver),
    ("dns_ssdp", dns::discovery),
    ("dns_stream", dns_stream::target),
    ("dns_zone", dns::zone),
    ("dtp", dtp::target),
    ("facts", facts::target),
    ("firewall", firewall::target),
    ("flow", flow::target),
    ("headers", headers::target),
    ("hexdump", hexdump::target),
    ("hook", hook::target),
    ("host", host::target),
    ("huygens", huygens_probe::target),
    ("interface", interface::target),
    ("lab", lab_file::target),
    ("layers", layers::target),
    ("line", line::target),
    ("membership", membership::target),
    ("middlebox", middlebox::target),
    ("mount", mount::target),
    ("nat", nat::target),
    ("nat64", nat64::target),
    ("nodes", nodes_alone::target),
    ("ntp", ntp_header::target),
    ("openflow", openflow_messages::target),
    ("openflow_switch", openflow_switch::target),
    ("p4_parse", p4_parse::target),
    ("p4_preprocess", p4_preprocess::target),
    ("p4runtime", p4runtime_messages::target),
    ("pause", pause::target),
    ("paxos", paxos_messages::target),
    ("phy_decode", phy_decode::target),
    ("phy_file", phy_file::target),
    ("phy_lock", phy_lock::target),
    ("pipelines", pipelines::target),
    ("port_mapping", port_mapping::target),
    ("probe", probe::target),
    ("profile", profile::target),
    ("programs", programs::target),
    ("ptp", ptp_messages::target),
    ("record", record::target),
    ("relay_compress", relay_compress::target),
    ("relay_encapsulation", relay_encapsulation::target),
    ("relays", relays::target),
    ("repair", repair::target),
    ("router", router::target),
    ("router_solicitation", dhcp_messages::solicitation),
    ("routes", router::words),
    ("siit", siit::target),
    ("snmp", snmp::target),
    ("stf", stf::target),
    ("stream_calls", stream::calls),
    ("stream_texts", stream::texts),
    ("switch", switch::target),
    ("trace_answers", trace_answers::target),
    ("udpstp", udpstp_messages::target),
    ("warts", warts::target),
    ("word", word::target),
];
