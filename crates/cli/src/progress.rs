//! How far a command has come, as a bar on the terminal: none is silent for long.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of a file that takes long enough to be shown.
const LARGE: u64 = 32 << 20;
/// Delay before the progress bar appears, ns.
const PROGRESS_DELAY_NS: u64 = 1_000_000_000;

/// All files that are being read have one bar.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);
/// When the bar is due, in ns since the machine started; 0 when there is none.
static DUE_NS: AtomicU64 = AtomicU64::new(0);

/// A bar of this form, in the words of `indicatif`.
pub fn bar(length: u64, form: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    match ProgressStyle::with_template(form) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// How much of a file has been read.
pub struct Reading {
    left: u64,
}

impl Reading {
    /// Of a file that is large, where somebody sees it.
    pub fn of(path: &Path) -> Option<Reading> {
        let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        if file.len() < LARGE || !std::io::stderr().is_terminal() {
            return None;
        }
        // It fits into 80 columns.
        let form = "{bar:24} {decimal_bytes} of {decimal_total_bytes} read, {decimal_bytes_per_sec}, {eta} to go";
        let mut shown = BAR.lock();
        let all = shown.get_or_insert_with(|| {
            DUE_NS.store(
                ::capture::clock::now_ns() + PROGRESS_DELAY_NS,
                Ordering::Relaxed,
            );
            let all = bar(0, form);
            all.set_draw_target(ProgressDrawTarget::hidden());
            all
        });
        all.inc_length(file.len());
        Some(Reading { left: file.len() })
    }

    /// So many bytes more.
    pub fn advance(&mut self, bytes: u64) {
        let bytes = bytes.min(self.left);
        self.left -= bytes;
        if let Some(bar) = &*BAR.lock() {
            let due = DUE_NS.load(Ordering::Relaxed);
            if due != 0 && ::capture::clock::now_ns() >= due {
                DUE_NS.store(0, Ordering::Relaxed);
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            bar.inc(bytes);
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        // What is not read, since nobody wants more of it, is done with.
        self.advance(self.left);
        let mut shown = BAR.lock();
        if shown
            .as_ref()
            .is_some_and(|bar| Some(bar.position()) >= bar.length())
        {
            clear(&mut shown);
        }
    }
}

/// From now on something else is on the terminal.
pub fn end() {
    clear(&mut BAR.lock());
}

/// Tells something on the terminal, beside the bar.
pub fn beside(tell: impl FnOnce()) {
    match &*BAR.lock() {
        Some(bar) => bar.suspend(tell),
        None => tell(),
    }
}

fn clear(shown: &mut Option<ProgressBar>) {
    if let Some(bar) = shown.take() {
        bar.finish_and_clear();
    }
}
