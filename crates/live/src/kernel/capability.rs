//! How a user comes by the rights that a call lacks.

/// How to come by capabilities: those that nearly all ports need, and the others that are named.
pub fn grant(capability: &str) -> String {
    let words = capability.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let named = words.filter(|word| word.starts_with("CAP_"));
    let mut all = vec!["cap_net_raw".to_owned(), "cap_net_admin".to_owned()];
    for name in named.map(str::to_ascii_lowercase) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    match capability.contains("CAP_") {
        true => format!(
            "run as root, or let a group have it: w=$(command -v wire); sudo groupadd -f --system wireline; \
             sudo chgrp wireline $w && sudo chmod 0750 $w && sudo setcap {}+ep $w (more in the book, security.md)",
            all.join(",")
        ),
        false => "run as a user who has them".into(),
    }
}
