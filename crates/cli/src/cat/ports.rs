//! Packets from live ports.

use super::Writer;
use crate::complaints::Complaints;
use crate::report::put_link;
use live::clock;
use live::port::{self, Options, Port, PortError, PortSpec};
use packet::{Packet, Stamp, Tick};
use std::time::Duration;

/// How long to wait for a packet before looking whether to stop.
const WAIT: Duration = Duration::from_millis(100);
/// The same where several ports are asked in turn; the kernel keeps what comes to the others.
const TURN: Duration = Duration::from_millis(1);
/// How often quiet ports are looked at: whether there is a link, ns.
const LOOK: u64 = 100_000_000;
/// The longest that a packet stays in the buffer while others keep coming, ns.
const DELAY: u64 = 10_000_000;

/// Opens the ports.
///
/// # Errors
/// When one of them cannot be opened.
pub fn open(specs: &[PortSpec], tick: Option<Tick>) -> Result<Vec<Port>, PortError> {
    let options = Options {
        tick: tick.unwrap_or(Tick::EIGHT_NS),
        ..Options::default()
    };
    specs
        .iter()
        .map(|spec| port::open(spec, &options))
        .collect()
}

/// Writes what the ports receive, until Ctrl-C, or until each has ended or enough has come.
///
/// # Errors
/// Those of standard output; and of a port that has gone, once what it gave has been written.
pub fn copy(mut ports: Vec<Port>, out: &mut Writer, complaints: &Complaints) -> anyhow::Result<()> {
    let wait = if ports.len() > 1 { TURN } else { WAIT };
    let mut failed = None;
    let mut open: Vec<bool> = vec![true; ports.len()];
    let mut up: Vec<bool> = vec![true; ports.len()];
    let (mut flushed, mut looked) = (clock::now_ns(), 0);
    let mut turn = 0;
    while open.contains(&true)
        && out.selector.wants_more()
        && !out
            .selector
            .is_over(out.epoch_ps + u128::from(clock::now_ns()) * 1_000)
        && !live::signal::stop_requested()
    {
        let mut came = 0;
        let waiting = !out.stdout.buffer().is_empty();
        for (index, port) in ports.iter_mut().enumerate() {
            if !open[index] {
                continue;
            }
            // One port at most is waited for, and that only when everything has been written.
            let wait = if waiting || index != turn {
                Duration::ZERO
            } else {
                wait
            };
            match receive(port, wait, out)? {
                Ok(n) => came += n,
                Err(error) => {
                    open[index] = false;
                    if !matches!(error, PortError::Ended { .. }) {
                        failed = failed.or(Some(error));
                    }
                }
            }
        }
        turn = next_open(&open, turn);
        if came == 0 && clock::now_ns() - looked > LOOK {
            looked = clock::now_ns();
            for (index, port) in ports.iter_mut().enumerate() {
                up[index] = tell_link(port, up[index]);
            }
        }
        if came == 0 || clock::now_ns() - flushed > DELAY {
            out.stdout.flush()?;
            flushed = clock::now_ns();
        }
    }
    out.stdout.flush()?;
    for port in &mut ports {
        report(port, complaints);
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// The next port that is open.
fn next_open(open: &[bool], turn: usize) -> usize {
    let after = (1..=open.len()).map(|step| (turn + step) % open.len());
    after.into_iter().find(|index| open[*index]).unwrap_or(turn)
}

/// Receives once; the outer error is that of the output.
fn receive(
    port: &mut Port,
    wait: Duration,
    out: &mut Writer,
) -> anyhow::Result<Result<usize, PortError>> {
    let tick = port.info.tick;
    let mut written = Ok(true);
    let received = port.rx.receive(wait, &mut |frame| {
        if matches!(written, Ok(true)) {
            let packet = Packet {
                stamp: Some(Stamp::Word(tick.count(u128::from(frame.at_ns) * 1_000))),
                hash: None,
                bytes: frame.bytes,
            };
            written = out.packet(&packet, tick);
        }
    });
    written?;
    Ok(received)
}

/// Says when a link goes down or comes up, which was `before`; whether it is up.
fn tell_link(port: &mut Port, before: bool) -> bool {
    let up = port.rx.link().is_none_or(|link| link.up);
    match (before, up) {
        (true, false) => eprintln!("wire: {}: link down", port.info.name),
        (false, true) => eprintln!("wire: {}: link up again", port.info.name),
        _ => {}
    }
    up
}

/// Says what was lost, if anything was.
fn report(port: &mut Port, complaints: &Complaints) {
    let mut text = String::new();
    put_link(&mut text, &port.info.name, port.rx.link());
    eprint!("{text}");
    let (name, counters) = (&port.info.name, port.rx.counters());
    let what = format_args!(
        "{name}: {} packets received, {} lost because they were not read in time, \
         {} refused because of their length",
        counters.received, counters.dropped, counters.refused
    );
    complaints.lost(counters.dropped + counters.refused, what);
}
