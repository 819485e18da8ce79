//! What a receiver tells, in words.

use phy::block::Class;
use phy::xgmii::{Set, SetCode};
use phy::{Event, Fault, Verdict};

/// Why a frame is not whole, or that it is.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Good => "good",
        Verdict::BadFcs => "bad-fcs",
        Verdict::Broken => "broken",
        Verdict::Short => "short",
        Verdict::Long => "long",
        Verdict::NoSfd => "no-sfd",
    }
}

/// An event's name for programs, and what more there is to say of it.
pub fn event(event: Event) -> (&'static str, String) {
    let none = String::new;
    match event {
        Event::Lock => ("lock", none()),
        Event::Loss => ("loss", none()),
        Event::HighErrorRate(true) => ("hi_ber", none()),
        Event::HighErrorRate(false) => ("hi_ber-over", none()),
        Event::BadHeader => ("bad-header", none()),
        Event::BadBlock { payload } => ("bad-block", bytes(&payload.to_le_bytes())),
        Event::OutOfPlace(class) => ("out-of-place", class_name(class).into()),
        Event::Set(set) => ("ordered-set", self::set(set)),
        Event::Fault(None) => ("fault-over", none()),
        Event::Fault(Some(fault)) => (
            "fault",
            match fault {
                Fault::Local => "local".into(),
                Fault::Remote => "remote".into(),
                Fault::Interruption => "interruption".into(),
            },
        ),
    }
}

/// `Q 00 00 01 (local fault)`.
pub fn set(set: Set) -> String {
    let code = match set.code {
        SetCode::Sequence => "Q",
        SetCode::Signal => "Fsig",
    };
    let meaning = match set {
        Set::LOCAL_FAULT => " (local fault)",
        Set::REMOTE_FAULT => " (remote fault)",
        Set::LINK_INTERRUPTION => " (link interruption)",
        _ => "",
    };
    format!("{code} {}{meaning}", bytes(&set.data))
}

fn class_name(class: Class) -> &'static str {
    match class {
        Class::Control => "control",
        Class::Start => "start",
        Class::Terminate => "terminate",
        Class::Data => "data",
        Class::Error => "error",
    }
}

/// `D5 55 01`.
pub fn bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        use std::fmt::Write;
        let blank = if text.is_empty() { "" } else { " " };
        // Writing to a String does not fail.
        let _ = write!(text, "{blank}{byte:02X}");
    }
    text
}
