//! A controller for all switches of a network: `[topology.controller]` is the node `c0`, and `control` says what its links
//! are like.
//!
//! How the two find each other depends on what they are, so that any switch goes with any controller:
//!
//! | switch | controller | control channel |
//! |---|---|---|
//! | `openflow-switch` | `controller` | a link of its own: ideal, with a delay |
//! | `openflow-switch` | `process` | TCP from the switch to port 6653 in the controller's namespace |
//! | `openvswitch` | `controller` | TCP from the switch to a port of the controller in the switch's namespace |
//! | `openvswitch` | `process` | TCP over a line of its own |
//!
//! With `in_band = true` among the keys of `control` the first of these is TCP too, among the frames of the hosts: `t1` stands between
//! the switch `s1` and one more port of it, `t0` between the controller and one more port of `s1`, and entries that are there
//! from the start lead what is for them through the switches.

use super::{Generated, entries, entry, table};
use crate::fault::Fault;
use crate::fields::Fields;
use crate::tree::{Entry, Value, What};
use std::net::Ipv4Addr;
use std::ops::Range;

/// What the node is called.
pub(super) const NAME: &str = "c0";
/// Where a controller listens.
const PORT: u16 = 6653;

/// The network of the ends of channels in band: for tests of network devices (RFC 2544), so that it is nobody's.
const NETWORK: &str = "198.18.0.0/15";
const BASE: u32 = 0xC612_0001;

/// What the links to a controller are like.
pub(super) struct Control {
    keys: Vec<Entry>,
    in_band: bool,
}

/// The node, and what its links are like; nothing when there is to be none.
pub(super) fn read(fields: &mut Fields<'_>, faults: &mut Vec<Fault>) -> Option<(Value, Control)> {
    let mut control = table(fields, "control", faults);
    let in_band = control.as_mut().and_then(|keys| keys.take("in_band"));
    let in_band = in_band.is_some_and(|entry| {
        let read: Result<bool, Fault> = entry.value.read();
        read.unwrap_or_else(|fault| {
            faults.push(fault);
            false
        })
    });
    let mut node = table(fields, "controller", faults)?;
    if node.get("kind").is_none() {
        let span = node.span.clone();
        node.put(entry("kind", What::Text("controller".into()), &span));
    }
    let keys = control.map_or(Vec::new(), entries);
    if in_band && kind(&node) != "controller" {
        let fault = Fault::new(
            node.span.clone(),
            "only controllers of kind `controller` can be in band",
        );
        faults.push(fault.help("take `in_band` out: real programs have TCP in any case"));
    }
    Some((node, Control { keys, in_band }))
}

/// What a node's section says of its kind.
fn kind(section: &Value) -> String {
    let kind = section.get("kind").and_then(|kind| kind.read().ok());
    kind.unwrap_or_default()
}

impl Generated {
    /// Gives switches of OpenFlow numbers of their own, as their names say.
    pub(super) fn name_datapaths(&mut self, switches: usize) {
        let span = self.span.clone();
        for number in 1..=switches {
            let name = format!("s{number}");
            let switch = self.nodes.iter_mut().find(|(known, _)| *known == name);
            let Some((_, switch)) = switch else { continue };
            if kind(switch) == "openflow-switch" && switch.get("datapath_id").is_none() {
                let id = What::Integer(number as i64);
                switch.put(entry("datapath_id", id, &span));
            }
        }
    }

    /// Links the switches to their controller, once the file itself has said all it has to say of them.
    pub fn connect(&mut self) {
        let Some(control) = self.control.take() else {
            return;
        };
        let span = self.span.clone();
        let mut nodes = self.nodes.iter();
        let Some((_, controller)) = nodes.find(|(name, _)| name == NAME) else {
            return;
        };
        let real = kind(controller) == "process";
        // The controller's own ports, and the links to them.
        let mut used = 0;
        let (mut links, mut stations) = (Vec::new(), Vec::new());
        let mut put = |ends: [String; 2], keys: &[Entry]| links.push(link(ends, keys, &span));
        for (name, switch) in &mut self.nodes {
            let text = |text: String| What::Text(text);
            let own = match kind(switch).as_str() {
                "openflow-switch" => {
                    let ports: Option<i64> = switch.get("ports").and_then(|p| p.read().ok());
                    let ports = ports.unwrap_or_default();
                    if control.in_band {
                        let number = stations.len() + 1;
                        let more = 1 + i64::from(number == 1);
                        switch.put(entry("ports", What::Integer(ports + more), &span));
                        add_entries(switch, &span);
                        put(
                            [format!("{name}.{}", ports + more), format!("t{number}.0")],
                            &[],
                        );
                        put(
                            [format!("t{number}.1"), format!("{name}.{ports}")],
                            &control.keys,
                        );
                        if number == 1 {
                            put([format!("{NAME}.0"), "t0.0".into()], &[]);
                            put(
                                ["t0.1".into(), format!("{name}.{}", ports + 1)],
                                &control.keys,
                            );
                            used = 1;
                        }
                        stations.push((format!("t{number}"), station(number, &span)));
                        continue;
                    }
                    format!("{name}.{ports}")
                }
                "openvswitch" if real => {
                    put_missing(switch, "controller", text(NAME.into()), &span);
                    continue;
                }
                "openvswitch" => {
                    let here = format!("tcp:127.0.0.1:{PORT}");
                    put_missing(switch, "controller", text(here), &span);
                    format!("port:ptcp:{PORT}:127.0.0.1@{name}")
                }
                _ => continue,
            };
            let far = match real {
                true => format!("port:tcp:127.0.0.1:{PORT}@{NAME}"),
                false => format!("{NAME}.{used}"),
            };
            used += 1;
            put([own, far], &control.keys);
        }
        self.links.extend(links);
        if !stations.is_empty() {
            stations.push(("t0".into(), station(0, &span)));
        }
        self.nodes.extend(stations);
        let ports = if real { 0 } else { used.max(1) };
        if let Some((_, controller)) = self.nodes.iter_mut().find(|(name, _)| name == NAME) {
            put_missing(controller, "ports", What::Integer(ports), &span);
        }
    }
}

/// The end of a channel in band: the controller's, 0, or that of a switch.
fn station(number: usize, span: &Range<usize>) -> Value {
    let address = |number: usize| Ipv4Addr::from(BASE + number as u32);
    let own = format!("{}/15", address(number));
    let mut keys = vec![
        entry("kind", What::Text("tcp".into()), span),
        entry("address", What::Text(own), span),
    ];
    keys.push(match number {
        0 => entry("listen", What::Integer(PORT.into()), span),
        _ => entry("to", What::Text(format!("{}:{PORT}", address(0))), span),
    });
    Value {
        span: span.clone(),
        what: What::Table(keys),
    }
}

/// Entries that a switch has from the start: what is for the ends of channels goes where these were seen.
fn add_entries(switch: &mut Value, span: &Range<usize>) {
    let own = switch.take("entries").map(|entry| entry.value.what);
    let mut all = match own {
        Some(What::List(list)) => list,
        _ => Vec::new(),
    };
    for matched in ["arp,arp_spa", "ip,nw_src"] {
        all.push(Value {
            span: span.clone(),
            what: What::Text(format!("priority=65535,{matched}={NETWORK},actions=NORMAL")),
        });
    }
    switch.put(entry("entries", What::List(all), span));
}

/// A control channel: as fast as it may be, unless the file says otherwise.
fn link(ends: [String; 2], keys: &[Entry], span: &Range<usize>) -> Value {
    let text = |text: String| Value {
        span: span.clone(),
        what: What::Text(text),
    };
    let ends = What::List(ends.map(text).into());
    let rate = What::Text("unlimited".into());
    let mut link = Value {
        span: span.clone(),
        what: What::Table(vec![entry("ends", ends, span), entry("rate", rate, span)]),
    };
    keys.iter().for_each(|key| link.put(key.clone()));
    link
}

fn put_missing(section: &mut Value, key: &str, what: What, span: &Range<usize>) {
    if section.get(key).is_none() {
        section.put(entry(key, what, span));
    }
}
