//! Lab files: whatever the text, a lab or faults with places inside it, and both can be shown.

pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Err(faults) = lab::parse(text) {
        assert!(!faults.list.is_empty());
        assert!(!faults.to_string().is_empty());
    }
}
