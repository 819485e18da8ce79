//! JSON for the page: the network once, and samples of links and frames.

use crate::pace::{Pace, Speed};
use lab::{Flight, Lab, LinkState, Session};
use node::outcome::Direction;
use packet::ethernet::EthernetView;
use serde_json::{Value, json};
use std::time::Duration;

/// Maximum number of frames in a sample. With more frames, the sample has only their number.
const MAX_FRAMES: usize = 300;
/// Maximum numbers of links for the shortest sample interval, and for the next longer one.
const MAX_SMOOTH_LINKS: usize = 64;
const MAX_SAMPLED_LINKS: usize = 1_000;

/// Interval of samples. It is longer for large networks, because a sample contains all links.
pub fn interval(lab: &Lab) -> Duration {
    let links = lab.link_overviews().count();
    Duration::from_millis(if links <= MAX_SMOOTH_LINKS {
        50
    } else if links <= MAX_SAMPLED_LINKS {
        250
    } else {
        1_000
    })
}

/// The network as JSON.
pub fn overview(lab: &Lab) -> String {
    let nodes = lab.node_overviews().into_iter().map(|node| {
        json!({
            "name": node.name, "kind": node.kind, "ports": node.ports, "addresses": node.addresses,
            "pings": node.pings, "x": node.place.0, "y": node.place.1,
        })
    });
    let links = lab.link_overviews().map(|link| {
        json!({
            "nodes": link.nodes, "names": link.names,
            "rate": link.rate.map(|rate| rate.map(node::Rate::bits_per_second)),
            "delay_ns": link.delay.map(|delay| delay.as_ps() as f64 / 1e3),
            "queue": link.queue,
        })
    });
    json!({
        "name": lab.name, "about": lab.about, "nodes": nodes.collect::<Vec<_>>(), "links": links.collect::<Vec<_>>(),
        "interval_ms": interval(lab).as_millis() as u64,
    })
    .to_string()
}

/// State of a run, except for its links.
pub struct Run<'a> {
    /// Its pace.
    pub pace: &'a Pace,
    /// Achieved speed: simulated seconds per second of the clock.
    pub achieved: f64,
    /// Whether the lab has ended.
    pub has_ended: bool,
    /// Lines of the log with their numbers, the newest last.
    pub log: &'a [(u64, String)],
}

/// A sample as JSON. Times of frames are in nanoseconds, relative to the time of the sample.
pub fn figures(session: &Session<'_>, links: &[[LinkState; 2]], run: &Run<'_>) -> String {
    let now = session.now();
    let state = |state: &LinkState| {
        let counters = &state.counters;
        json!([
            counters.sent,
            counters.bytes,
            dropped(state),
            counters.marked,
            state.waiting.packets,
            state.waiting.bytes,
            u8::from(state.up),
        ])
    };
    let links: Vec<Value> = links
        .iter()
        .map(|[forth, back]| json!([state(forth), state(back)]))
        .collect();
    let from_now = |time: node::Time| (time.as_ps() as f64 - now.as_ps() as f64) / 1e3;
    let frame = |flight: Flight<'_>| {
        json!([
            flight.link,
            flight.direction.index(),
            from_now(flight.departs),
            from_now(flight.arrives),
            flight.frame.len(),
            kind(flight.frame),
        ])
    };
    let mut count = 0_u64;
    let mut frames: Vec<Value> = Vec::new();
    for flight in session.flights() {
        count += 1;
        if count <= MAX_FRAMES as u64 {
            frames.push(frame(flight));
        }
    }
    if count > MAX_FRAMES as u64 {
        frames.clear();
    }
    let speed = match run.pace.speed() {
        Speed::Times(times) => json!(times),
        Speed::Max => json!("max"),
    };
    json!({
        "now_ns": now.as_ps() as f64 / 1e3, "ends_ns": session.duration().map(|end| end.as_ps() as f64 / 1e3),
        "speed": speed, "runs": run.pace.is_running(), "ended": run.has_ended, "achieved": run.achieved,
        "links": links, "frames": frames, "flying": count, "log": run.log,
    })
    .to_string()
}

/// Number of frames that a direction has dropped in its queue or lost on the way.
pub fn dropped(state: &LinkState) -> u64 {
    let counters = &state.counters;
    counters.queue_full + counters.dropped_early + counters.lost + counters.bit_errors
}

/// Kind of a frame, which selects its colour.
fn kind(frame: &[u8]) -> &'static str {
    const ICMP: u8 = 1;
    const TCP: u8 = 6;
    const UDP: u8 = 17;
    const ICMPV6: u8 = 58;
    let Ok(view) = EthernetView::new(frame) else {
        return "other";
    };
    let payload = view.payload();
    let protocol = match view.ethertype() {
        0x0800 => payload.get(9),
        0x86dd => payload.get(6),
        0x0806 => return "arp",
        _ => return "other",
    };
    match protocol {
        Some(&(ICMP | ICMPV6)) => "icmp",
        Some(&TCP) => "tcp",
        Some(&UDP) => "udp",
        _ => "ip",
    }
}

/// Name of a direction: `h1.0 -> h2.0`.
pub fn direction(names: [&str; 2], way: Direction) -> String {
    format!("{} -> {}", names[way.index()], names[1 - way.index()])
}
