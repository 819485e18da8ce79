//! What the switch tells, as lines of text or of JSON.

mod tables;

use openflow::message::{Answer, FlowStats, GroupKind, Message, PortStats, meter_flags};
use openflow::port::{PortDescription, config, state};
use openflow::text::{Flow, show_band, show_bucket, show_instructions, show_match};
use openflow::version::Version;
use packet::describe::Description;
use serde_json::{Value, json};
use std::fmt::Write;

/// Each thing told: a line for people, and an object.
pub type Reported = (String, Value);

fn ports(port: &PortDescription) -> Reported {
    let mut text = format!(" {}({}): addr:{}", port.number, port.name, port.hardware);
    let bits = |bits: u32, names: &[(u32, &'static str)]| -> Vec<&'static str> {
        names
            .iter()
            .filter(|(bit, _)| bits & bit != 0)
            .map(|(_, name)| *name)
            .collect()
    };
    let configured = bits(
        port.config,
        &[
            (config::PORT_DOWN, "PORT_DOWN"),
            (config::NO_STP, "NO_STP"),
            (config::NO_RECV, "NO_RECV"),
            (config::NO_RECV_STP, "NO_RECV_STP"),
            (config::NO_FLOOD, "NO_FLOOD"),
            (config::NO_FWD, "NO_FWD"),
            (config::NO_PACKET_IN, "NO_PACKET_IN"),
        ],
    );
    let states = bits(
        port.state,
        &[
            (state::LINK_DOWN, "LINK_DOWN"),
            (state::BLOCKED, "BLOCKED"),
            (state::LIVE, "LIVE"),
        ],
    );
    let or_zero = |names: &[&str]| {
        if names.is_empty() {
            "0".into()
        } else {
            names.join(" ")
        }
    };
    let _ = write!(text, "\n     config:     {}", or_zero(&configured));
    let _ = write!(text, "\n     state:      {}", or_zero(&states));
    let mbps = |kbps: u32| kbps / 1000;
    let _ = write!(
        text,
        "\n     speed: {} Mbps now, {} Mbps max",
        mbps(port.current_speed),
        mbps(port.max_speed)
    );
    let object = json_line!("of", "port", {
        "port": port.number.to_string(),
        "name": port.name.to_string(),
        "hardware": port.hardware.to_string(),
        "config": configured,
        "state": states,
        "current": port.current,
        "advertised": port.advertised,
        "supported": port.supported,
        "peer": port.peer,
        "current_kbps": port.current_speed,
        "max_kbps": port.max_speed,
    });
    (text, object)
}

/// An entry.
pub fn flow(stats: &FlowStats<'_>, version: Version) -> Reported {
    let mut text = String::from(" ");
    Flow::show_stats(stats, version, &mut text);
    let (mut matching, mut actions) = (String::new(), String::new());
    show_match(&stats.matching, &mut matching);
    show_instructions(stats.instructions, version, &mut actions);
    let object = json_line!("of", "flow", {
        "table": stats.table,
        "priority": stats.priority,
        "cookie": format!("{:#x}", stats.cookie),
        "duration_s": f64::from(stats.duration_s) + f64::from(stats.duration_ns) / 1e9,
        "idle_timeout_s": stats.idle_timeout,
        "hard_timeout_s": stats.hard_timeout,
        "packets": stats.packets,
        "bytes": stats.bytes,
        "match": matching,
        "actions": actions,
    });
    (text, object)
}

fn port_stats(stats: &PortStats) -> Reported {
    let count = |value: u64| match value {
        u64::MAX => "?".to_owned(),
        value => value.to_string(),
    };
    let mut text = format!(
        "  port {}: rx pkts={}, bytes={}, drop={}, errs={}, frame={}, over={}, crc={}\n",
        stats.port,
        count(stats.rx_packets),
        count(stats.rx_bytes),
        count(stats.rx_dropped),
        count(stats.rx_errors),
        count(stats.rx_frame_errors),
        count(stats.rx_over_errors),
        count(stats.rx_crc_errors),
    );
    let _ = write!(
        text,
        "           tx pkts={}, bytes={}, drop={}, errs={}, coll={}",
        count(stats.tx_packets),
        count(stats.tx_bytes),
        count(stats.tx_dropped),
        count(stats.tx_errors),
        count(stats.collisions),
    );
    let known = |value: u64| (value != u64::MAX).then_some(value);
    let object = json_line!("of", "port-stats", {
        "port": stats.port.to_string(),
        "rx_packets": known(stats.rx_packets), "rx_bytes": known(stats.rx_bytes),
        "rx_dropped": known(stats.rx_dropped), "rx_errors": known(stats.rx_errors),
        "rx_frame_errors": known(stats.rx_frame_errors),
        "rx_over_errors": known(stats.rx_over_errors),
        "rx_crc_errors": known(stats.rx_crc_errors),
        "tx_packets": known(stats.tx_packets), "tx_bytes": known(stats.tx_bytes),
        "tx_dropped": known(stats.tx_dropped), "tx_errors": known(stats.tx_errors),
        "collisions": known(stats.collisions),
    });
    (text, object)
}

fn kind(kind: GroupKind) -> &'static str {
    match kind {
        GroupKind::All => "all",
        GroupKind::Select => "select",
        GroupKind::Indirect => "indirect",
        GroupKind::FastFailover => "ff",
    }
}

/// The parts of an answer.
pub fn answer(answer: &Answer<'_>, version: Version) -> Vec<Reported> {
    match answer {
        Answer::Description(description) => {
            let text = format!(
                "Manufacturer: {}\nHardware: {}\nSoftware: {}\nSerial Num: {}\nDP Description: {}",
                description.manufacturer,
                description.hardware,
                description.software,
                description.serial,
                description.datapath
            );
            let object = json_line!("of", "description", {
                "manufacturer": description.manufacturer.to_string(),
                "hardware": description.hardware.to_string(),
                "software": description.software.to_string(),
                "serial": description.serial.to_string(),
                "datapath": description.datapath.to_string(),
            });
            vec![(text, object)]
        }
        Answer::Flow(flows) => flows.iter().map(|stats| flow(&stats, version)).collect(),
        Answer::Aggregate(sum) => vec![(
            format!(
                "packet_count={} byte_count={} flow_count={}",
                sum.packets, sum.bytes, sum.flows
            ),
            json_line!("of", "aggregate", {
                "packets": sum.packets, "bytes": sum.bytes, "flows": sum.flows,
            }),
        )],
        Answer::Table(tables) => tables
            .iter()
            .map(|table| {
                let name = table.name.to_string();
                let text = format!(
                    "  table {}{}: active={}, lookup={}, matched={}",
                    table.table,
                    if name.is_empty() {
                        String::new()
                    } else {
                        format!(" (\"{name}\")")
                    },
                    table.active,
                    table.lookups,
                    table.matched
                );
                let object = json_line!("of", "table", {
                    "table": table.table, "name": name, "active": table.active,
                    "lookups": table.lookups, "matched": table.matched,
                });
                (text, object)
            })
            .collect(),
        Answer::PortStats(stats) => stats.iter().map(|stats| port_stats(&stats)).collect(),
        Answer::Queue(queues) => queues
            .iter()
            .map(|queue| {
                let text = format!(
                    "  port {} queue {}: bytes={}, pkts={}, errors={}",
                    queue.port, queue.queue, queue.tx_bytes, queue.tx_packets, queue.tx_errors
                );
                let object = json_line!("of", "queue-stats", {
                    "port": queue.port.to_string(), "queue": queue.queue,
                    "bytes": queue.tx_bytes, "packets": queue.tx_packets,
                    "errors": queue.tx_errors,
                });
                (text, object)
            })
            .collect(),
        Answer::Group(groups) => groups
            .iter()
            .map(|group| {
                let mut text = format!(
                    " group_id={},duration={}.{:03}s,ref_count={},packet_count={},byte_count={}",
                    group.group,
                    group.duration_s,
                    group.duration_ns / 1_000_000,
                    group.references,
                    group.counters.packets,
                    group.counters.bytes
                );
                for (index, bucket) in group.buckets.iter().enumerate() {
                    let _ = write!(
                        text,
                        ",bucket{index}:packet_count={},byte_count={}",
                        bucket.packets, bucket.bytes
                    );
                }
                let buckets: Vec<Value> = group
                    .buckets
                    .iter()
                    .map(|bucket| json!({"packets": bucket.packets, "bytes": bucket.bytes}))
                    .collect();
                let object = json_line!("of", "group-stats", {
                    "group": group.group, "references": group.references,
                    "packets": group.counters.packets, "bytes": group.counters.bytes,
                    "buckets": buckets,
                });
                (text, object)
            })
            .collect(),
        Answer::GroupDescription(groups) => groups
            .iter()
            .map(|group| {
                let select = group.kind == GroupKind::Select;
                let buckets: Vec<String> = group
                    .buckets
                    .iter()
                    .map(|bucket| {
                        let mut text = String::new();
                        show_bucket(&bucket, select, &mut text);
                        text
                    })
                    .collect();
                let mut text = format!(" group_id={},type={}", group.group, kind(group.kind));
                buckets
                    .iter()
                    .for_each(|bucket| text += &format!(",{bucket}"));
                let object = json_line!("of", "group", {
                    "group": group.group, "group_type": kind(group.kind), "buckets": buckets,
                });
                (text, object)
            })
            .collect(),
        Answer::GroupFeatures(features) => vec![(
            format!(
                " types={:#x} capabilities={:#x} max_groups={:?} actions={:x?}",
                features.kinds, features.capabilities, features.max_groups, features.actions
            ),
            json_line!("of", "group-features", {
                "types": features.kinds, "capabilities": features.capabilities,
                "max_groups": features.max_groups, "actions": features.actions,
            }),
        )],
        Answer::Meter(meters) => meters
            .iter()
            .map(|meter| {
                let mut text = format!(
                    " meter:{} flow_count:{} packet_in_count:{} byte_in_count:{} bands:",
                    meter.meter, meter.flows, meter.input.packets, meter.input.bytes
                );
                let mut bands = Vec::new();
                for (index, band) in meter.bands.iter().enumerate() {
                    let _ = write!(
                        text,
                        "\n {index}: packet_count:{} byte_count:{}",
                        band.packets, band.bytes
                    );
                    bands.push(json!({"packets": band.packets, "bytes": band.bytes}));
                }
                let object = json_line!("of", "meter-stats", {
                    "meter": meter.meter, "flows": meter.flows,
                    "packets": meter.input.packets, "bytes": meter.input.bytes, "bands": bands,
                });
                (text, object)
            })
            .collect(),
        Answer::MeterConfig(meters) => meters
            .iter()
            .map(|meter| {
                let flags: Vec<&str> = [
                    (meter_flags::KBPS, "kbps"),
                    (meter_flags::PKTPS, "pktps"),
                    (meter_flags::BURST, "burst"),
                    (meter_flags::STATS, "stats"),
                ]
                .iter()
                .filter(|(bit, _)| meter.flags & bit != 0)
                .map(|(_, name)| *name)
                .collect();
                let mut bands = String::new();
                for band in meter.bands {
                    bands.push(' ');
                    show_band(&band, &mut bands);
                }
                let text = format!(
                    " meter={} {} bands={}",
                    meter.meter,
                    flags.join(" "),
                    bands.trim()
                );
                let object = json_line!("of", "meter", {
                    "meter": meter.meter, "flags": flags, "bands": bands.trim(),
                });
                (text, object)
            })
            .collect(),
        Answer::MeterFeatures(features) => vec![(
            format!(
                " max_meter:{} max_bands:{} max_color:{} band_types:{:#x} capabilities:{:#x}",
                features.max_meter,
                features.max_bands,
                features.max_color,
                features.band_types,
                features.capabilities
            ),
            json_line!("of", "meter-features", {
                "max_meter": features.max_meter, "max_bands": features.max_bands,
                "max_color": features.max_color, "band_types": features.band_types,
                "capabilities": features.capabilities,
            }),
        )],
        Answer::TableFeatures(tables) => tables::features(*tables),
        Answer::PortDescription(list) => list.iter().map(|port| ports(&port)).collect(),
        Answer::Experimenter(part) => vec![(
            format!(
                " experimenter {:#x}: {} bytes",
                part.experimenter,
                part.data.len()
            ),
            json_line!("of", "experimenter", {
                "experimenter": part.experimenter, "experimenter_type": part.kind, "bytes": part.data.len(),
            }),
        )],
    }
}

/// Any other message, as a monitor shows it.
pub fn message(message: &Message<'_>, version: Version) -> Reported {
    match message {
        Message::FeaturesReply(features) => {
            let mut text = format!(
                "OFPT_FEATURES_REPLY (OpenFlow {version}): dpid:{:016x}\nn_tables:{}, n_buffers:{}\ncapabilities: {:#x}",
                features.datapath_id, features.n_tables, features.n_buffers, features.capabilities
            );
            let mut list = Vec::new();
            for port in features.ports {
                let (line, object) = ports(&port);
                text += &format!("\n{line}");
                list.push(object);
            }
            let object = json_line!("of", "features", {
                "version": version.to_string(),
                "datapath_id": format!("{:016x}", features.datapath_id),
                "tables": features.n_tables, "buffers": features.n_buffers,
                "auxiliary_id": features.auxiliary_id,
                "capabilities": features.capabilities, "ports": list,
            });
            (text, object)
        }
        Message::GetConfigReply(config) => {
            let frags = ["normal", "drop", "reassemble", "nx-match"];
            let frags = frags[usize::from(config.flags & 3)];
            (
                format!(
                    "OFPT_GET_CONFIG_REPLY: frags={frags} miss_send_len={}",
                    config.miss_send_len
                ),
                json_line!("of", "config", {
                    "fragments": frags, "miss_send_len": config.miss_send_len,
                }),
            )
        }
        Message::PacketIn(packet) => {
            let described = Description(packet.data).to_string();
            let text = format!(
                "OFPT_PACKET_IN: table={} cookie={:#x} total_len={} in_port={} reason={:?} buffer={:?}\n{described}",
                packet.table,
                packet.cookie,
                packet.total_len,
                packet.in_port(),
                packet.reason,
                packet.buffer
            );
            let hex: String = packet
                .data
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let object = json_line!("of", "packet-in", {
                "table": packet.table, "cookie": format!("{:#x}", packet.cookie),
                "in_port": packet.in_port().to_string(), "total_length": packet.total_len,
                "reason": format!("{:?}", packet.reason), "buffer": packet.buffer, "data": hex,
                "described": described,
            });
            (text, object)
        }
        Message::FlowRemoved(removed) => {
            let mut matching = String::new();
            show_match(&removed.matching, &mut matching);
            let text = format!(
                "OFPT_FLOW_REMOVED: table={} priority={} {matching} reason={:?} cookie={:#x} duration={}.{:03}s pkts={} bytes={}",
                removed.table,
                removed.priority,
                removed.reason,
                removed.cookie,
                removed.duration_s,
                removed.duration_ns / 1_000_000,
                removed.packets,
                removed.bytes
            );
            let object = json_line!("of", "flow-removed", {
                "table": removed.table, "priority": removed.priority, "match": matching,
                "reason": format!("{:?}", removed.reason), "cookie": format!("{:#x}", removed.cookie),
                "packets": removed.packets, "bytes": removed.bytes,
            });
            (text, object)
        }
        Message::PortStatus(status) => {
            let (line, object) = ports(&status.port);
            let text = format!("OFPT_PORT_STATUS: {:?}:{line}", status.reason);
            (
                text,
                json_line!("of", "port-status", {
                    "reason": format!("{:?}", status.reason), "port": object,
                }),
            )
        }
        Message::QueueConfigReply(queues) => {
            let mut text = format!("port {}:", queues.port);
            let mut list = Vec::new();
            for queue in queues.queues {
                let _ = write!(text, "\n queue {}: {:?}", queue.queue, queue.properties);
                list.push(json!({
                    "queue": queue.queue, "properties": format!("{:?}", queue.properties),
                }));
            }
            (
                text,
                json_line!("of", "queues", { "port": queues.port.to_string(), "queues": list,
                }),
            )
        }
        other => {
            let text = format!("{other:?}");
            let object = json_line!("of", "message", { "message": text});
            (text, object)
        }
    }
}
