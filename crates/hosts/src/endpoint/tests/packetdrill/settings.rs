//! Settings that scripts make by lines of the shell, as far as an endpoint has them as keys.

use super::super::super::{Congestion, Ecn, SocketOptions};
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Settings of Linux that change nothing here: with `Some` value only that one.
const WITHOUT_EFFECT: [(&str, Option<&str>); 26] = [
    // As here.
    ("tcp_sack", Some("1")),
    ("tcp_dsack", Some("1")),
    ("tcp_fack", Some("0")),
    ("tcp_frto", Some("2")),
    ("tcp_recovery", Some("1")),
    ("tcp_reordering", Some("3")),
    ("tcp_early_retrans", Some("4")),
    ("tcp_early_retrans", Some("3")),
    ("tcp_pacing_ss_ratio", Some("200")),
    ("tcp_pacing_ca_ratio", Some("120")),
    ("tcp_window_scaling", Some("1")),
    ("tcp_slow_start_after_idle", Some("1")),
    // The default of the suites; an endpoint always restarts after an idle time (RFC 5681 section 4.1).
    ("tcp_slow_start_after_idle", Some("0")),
    // Of what has no equal here: segments are made one by one, and nothing limits their number.
    ("tcp_tso_win_divisor", None),
    ("tcp_min_tso_segs", None),
    ("tcp_notsent_lowat", Some("4294967295")),
    ("tcp_wmem", None),
    ("tcp_syn_retries", Some("5")),
    ("tcp_synack_retries", Some("5")),
    ("tcp_syncookies", Some("1")),
    ("tcp_syncookies", Some("0")),
    // Without fast open, as when no segment has its option.
    ("tcp_fastopen", None),
    ("tcp_fastopen_key", None),
    ("tcp_ecn_fallback", Some("1")),
    ("tcp_no_metrics_save", None),
    ("tcp_mtu_probing", Some("0")),
];

/// See the [module](self).
#[derive(Clone)]
pub struct Settings {
    pub options: SocketOptions,
    /// Use of ECN by ends that open a connection; that of the others is in `options`.
    pub opens: Ecn,
    pub has_timestamps: bool,
    /// Whether the option of accurate ECN is expected.
    pub has_counts: bool,
    pub mtu: usize,
}

impl Settings {
    /// Those of a Linux that nothing has been set in, with an MTU.
    pub fn new(mtu: usize) -> Settings {
        Settings {
            options: SocketOptions {
                ecn: Ecn::Off,
                buffer: 15 << 20,
                ..SocketOptions::default()
            },
            opens: Ecn::Off,
            has_timestamps: true,
            has_counts: true,
            mtu,
        }
    }

    /// Runs lines of the shell.
    ///
    /// # Errors
    /// The first that is not in the subset.
    pub fn shell(&mut self, lines: &str) -> Result<(), String> {
        let lines = lines.replace("\\\n", " ");
        for line in lines.lines() {
            let line = line.split('#').next().unwrap_or_default();
            self.command(line.trim())?;
        }
        Ok(())
    }

    fn command(&mut self, line: &str) -> Result<(), String> {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let refused = || Err(format!("not in the subset: `{line}`"));
        match *words.as_slice() {
            [] => Ok(()),
            [script] if script.ends_with("/defaults.sh") => {
                *self = Settings::new(self.mtu);
                Ok(())
            }
            [script] if script.starts_with("/tmp/sysctl_restore_") => Ok(()),
            ["ethtool", ..] | ["nstat", "-n"] | ["ip", "tcp_metrics", "flush", ..] => Ok(()),
            ["sysctl", ref settings @ ..] => {
                let mut settings = settings.iter().filter(|word| !word.starts_with('-'));
                settings.try_for_each(|setting| self.set(setting))
            }
            [script, ref settings @ ..] if script.ends_with("/set_sysctls.py") => {
                settings.iter().try_for_each(|setting| self.set(setting))
            }
            ["ip", "link", "set", "dev", _, "mtu", mtu] => match mtu.parse() {
                Ok(mtu) if (576..=65_000).contains(&mtu) => {
                    self.mtu = mtu;
                    Ok(())
                }
                _ => refused(),
            },
            ["ip", "route", .., "initcwnd", segments] => match segments.parse() {
                Ok(segments) if segments > 0 => {
                    self.options.initial_window = segments;
                    Ok(())
                }
                _ => refused(),
            },
            ["tc", "qdisc", "replace" | "add", "dev", _, "root", "fq"] => {
                self.options.pacing = true;
                Ok(())
            }
            ["tc", "qdisc", "replace" | "add", "dev", _, "root", "pfifo"] => {
                self.options.pacing = false;
                Ok(())
            }
            ["nstat", ..] => Err("not in the subset: the kernel's counters".to_string()),
            _ => refused(),
        }
    }

    fn set(&mut self, setting: &str) -> Result<(), String> {
        let setting = setting.trim_start_matches("/proc/sys/").replace('/', ".");
        let setting = setting.trim_start_matches("net.ipv4.");
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let refused = || {
            Err(format!(
                "not in the subset: {name}={value}, which has no key"
            ))
        };
        match (name, value) {
            ("tcp_ecn", _) => {
                // Accepting, and opening.
                (self.options.ecn, self.opens) = match value {
                    "0" => (Ecn::Off, Ecn::Off),
                    "1" => (Ecn::On, Ecn::On),
                    "2" | "5" => (Ecn::Passive, Ecn::Passive),
                    "3" => (Ecn::Accurate, Ecn::Accurate),
                    "4" => (Ecn::Accurate, Ecn::On),
                    _ => return refused(),
                };
            }
            ("tcp_ecn_option", "0" | "1" | "2") => self.has_counts = value != "0",
            ("tcp_timestamps", "0" | "1") => self.has_timestamps = value == "1",
            ("tcp_congestion_control", _) => self.options.congestion = congestion(value)?,
            ("tcp_rmem", _) => {
                let most = value.split_whitespace().nth(2).and_then(product);
                let Some(most) = most.filter(|most| (4096..=1 << 30).contains(most)) else {
                    return refused();
                };
                self.options.buffer = most;
            }
            _ => {
                let has_none = |(other, only): &(&str, Option<&str>)| {
                    *other == name && only.is_none_or(|only| only == value)
                };
                if !WITHOUT_EFFECT.iter().any(has_none) {
                    return refused();
                }
            }
        }
        Ok(())
    }
}

/// Congestion control by Linux's name.
pub fn congestion(name: &str) -> Result<Congestion, String> {
    match name {
        "cubic" => Ok(Congestion::Cubic),
        "reno" => Ok(Congestion::Reno),
        "dctcp" => Ok(Congestion::Dctcp),
        "bbr" => Ok(Congestion::Bbr),
        _ => Err(format!("not in the subset: congestion control {name}")),
    }
}

/// Words of a line; what is in quotes or `$((...))` is one.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut is_quoted) = (String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ' ' | '\t' if !is_quoted => {
                if !word.is_empty() {
                    words.push(core::mem::take(&mut word));
                }
            }
            _ => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// A number, or `$((a*b))`.
fn product(text: &str) -> Option<usize> {
    let text = text.trim_start_matches("$((").trim_end_matches("))");
    let mut product = 1usize;
    for factor in text.split('*') {
        product = product.checked_mul(factor.trim().parse().ok()?)?;
    }
    Some(product)
}
