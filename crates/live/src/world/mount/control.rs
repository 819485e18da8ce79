//! The texts in a port's folder, and the settings that its `ctl` file takes.

use super::served::Served;
use super::tree::Text;
use crate::kernel::clock;
use crate::kernel::thread::lock;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a text file holds at this moment.
pub fn read(served: &Served, text: Text) -> String {
    match text {
        Text::Counters => counters(served),
        Text::GlobalTime => {
            let now = u128::from(clock::now_ns()) * 1000;
            format!("{:016X}\n", served.info.tick.count(now))
        }
        Text::Tick => format!("{}\n", served.info.tick.as_ps()),
        Text::Epoch => format!("{}\n", served.info.epoch_ns),
        Text::Timer(timer) => format!("{:016X}\n", served.watch.timers()[usize::from(timer)]),
        Text::Ctl => {
            let mut out = String::new();
            for (key, flag) in settings(served) {
                let value = if flag.load(Ordering::Relaxed) {
                    "on"
                } else {
                    "off"
                };
                let _ = writeln!(out, "{key}={value}");
            }
            out
        }
        Text::Name => format!("{}\n", served.info.name),
        Text::Error => served
            .faults()
            .iter()
            .map(|fault| format!("{fault}\n"))
            .collect(),
        Text::Readers => readers(served),
    }
}

fn counters(served: &Served) -> String {
    let (rx, gone) = served.received();
    let (lost, readers) = served.streams().iter().fold((0, 0), |sum, stream| {
        (sum.0 + stream.lost(), sum.1 + stream.readers() as u64)
    });
    let mut out = String::new();
    for (key, value) in [
        ("rx_packets", rx.received),
        ("rx_bytes", rx.bytes),
        ("rx_dropped", rx.dropped),
        ("rx_refused", rx.refused),
        ("tx_packets", served.watch.sent()),
        ("tx_refused", served.watch.refused()),
        ("tx_late", served.watch.late()),
        ("tx_past", served.watch.past()),
        ("readers", readers),
        ("lost", lost),
        ("bad", served.bad.load(Ordering::Relaxed)),
        ("torn", served.torn.load(Ordering::Relaxed)),
        ("gone", gone.into()),
    ] {
        let _ = writeln!(out, "{key}={value}");
    }
    out
}

fn readers(served: &Served) -> String {
    let readers = lock(&served.readers);
    let mut out = String::from("pid bytes lost\n");
    for file in readers.values().filter_map(|file| file.upgrade()) {
        if let Some((bytes, lost)) = file.progress() {
            let _ = writeln!(out, "{} {bytes} {lost}", file.pid);
        }
    }
    out
}

fn settings(served: &Served) -> [(&'static str, &AtomicBool); 5] {
    [
        ("time", &served.time),
        ("hash", &served.hash),
        ("strict", &served.strict),
        ("cut", &served.cut),
        ("line_buffered", &served.line_buffered),
    ]
}

/// Why a setting was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "ctl: `{0}` is no setting; write time=, hash=, strict=, cut= or line_buffered=, and on or off"
)]
pub struct BadSetting(String);

/// Takes settings, one or more `key=value` parted by blanks or line ends.
///
/// # Errors
/// The first that is none; those before it hold.
pub fn set(served: &Served, text: &[u8]) -> Result<(), BadSetting> {
    let text = String::from_utf8_lossy(&text[..text.len().min(4096)]);
    for setting in text.split_ascii_whitespace() {
        let bad = || BadSetting(setting.escape_debug().take(80).collect());
        let (key, value) = setting.split_once('=').ok_or_else(bad)?;
        let value = match value {
            "on" => true,
            "off" => false,
            _ => return Err(bad()),
        };
        let (_, flag) = settings(served)
            .into_iter()
            .find(|entry| entry.0 == key)
            .ok_or_else(bad)?;
        flag.store(value, Ordering::Relaxed);
    }
    Ok(())
}
