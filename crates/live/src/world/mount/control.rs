//! The texts in a port's folder, and the settings that its `ctl` file takes.

use super::served::Served;
use super::tree::Text;
use crate::kernel::thread::lock;
use ::capture::clock;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum length of one write of settings, bytes.
const MAX_SETTINGS_LEN: usize = 4096;

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

/// Takes settings, one or more `key=value` separated by spaces or line ends. A setting may come in several writes, as a shell whose
/// output has a small buffer sends it: `partial` has its beginning.
///
/// # Errors
/// The first that is none, or cannot become one; those before it hold.
pub fn set(served: &Served, partial: &mut Vec<u8>, data: &[u8]) -> Result<(), BadSetting> {
    partial.extend_from_slice(&data[..data.len().min(MAX_SETTINGS_LEN)]);
    let text = std::mem::take(partial);
    let end = text.iter().rposition(u8::is_ascii_whitespace);
    let (whole, rest) = text.split_at(end.map_or(0, |at| at + 1));
    for setting in String::from_utf8_lossy(whole).split_ascii_whitespace() {
        one(served, setting)?;
    }
    let rest_text = String::from_utf8_lossy(rest);
    let mut texts = settings(served)
        .into_iter()
        .flat_map(|(key, _)| [format!("{key}=on"), format!("{key}=off")]);
    if !texts.any(|text| text.starts_with(&*rest_text)) {
        return one(served, &rest_text);
    }
    // A setting without an end holds at once; what follows may make another one of it.
    let _ = one(served, &rest_text);
    partial.extend_from_slice(rest);
    Ok(())
}

/// The file was closed with the beginning of a setting in it.
///
/// # Errors
/// It is none.
pub fn finish(served: &Served, rest: &[u8]) -> Result<(), BadSetting> {
    match rest {
        [] => Ok(()),
        _ => one(served, &String::from_utf8_lossy(rest)),
    }
}

fn one(served: &Served, setting: &str) -> Result<(), BadSetting> {
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
    Ok(())
}
