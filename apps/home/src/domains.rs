//! Rules for the domains of a device: permitted and denied (paper 003, table 4.1: `permit-dns`, `deny-dns`).

use std::collections::BTreeMap;

/// Maximum number of rules of a device.
pub const MAX_RULES: usize = 1024;

/// Domain rules of a device. The longest matching domain suffix decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Domains {
    /// Whether a name without a rule is denied.
    pub others_denied: bool,
    rules: BTreeMap<String, bool>,
}

/// A text that is not a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a domain is labels of letters, digits, `-` and `_` of at most 63 characters with dots between, such as example.com"
)]
pub struct BadDomain;

/// A domain in lower case, without a dot at its end. International names are in ASCII (`xn--`).
///
/// # Errors
/// When the text is not a domain (RFC 1035, section 2.3.1, with underscores).
pub fn domain(text: &str) -> Result<String, BadDomain> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    match text.len() <= 253 && text.split('.').all(is_label) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err(BadDomain),
    }
}

impl Domains {
    /// Whether the device may look up a name, written in lower case without a dot at its end.
    pub fn permits(&self, name: &str) -> bool {
        let mut rest = name;
        loop {
            if let Some(permitted) = self.rules.get(rest) {
                return *permitted;
            }
            match rest.split_once('.') {
                Some((_, parent)) => rest = parent,
                None => return !self.others_denied,
            }
        }
    }

    /// Whether any name is denied, so that flows must be judged by name.
    pub fn restrict(&self) -> bool {
        self.others_denied || self.rules.values().any(|permitted| !permitted)
    }

    /// The rules: domain, and whether it is permitted.
    pub fn rules(&self) -> impl Iterator<Item = (&str, bool)> {
        self.rules
            .iter()
            .map(|(domain, permitted)| (domain.as_str(), *permitted))
    }

    /// Sets the rule of a [domain()]; `None` removes it. Returns `false` if the device has [`MAX_RULES`] already.
    pub fn set(&mut self, domain: &str, permitted: Option<bool>) -> bool {
        match permitted {
            None => {
                self.rules.remove(domain);
            }
            Some(_) if self.rules.len() >= MAX_RULES && !self.rules.contains_key(domain) => {
                return false;
            }
            Some(permitted) => {
                self.rules.insert(domain.into(), permitted);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_domain_decides() {
        let mut domains = Domains::default();
        domains.set("example.com", Some(false));
        domains.set("good.example.com", Some(true));
        assert!(!domains.permits("example.com"));
        assert!(!domains.permits("a.b.example.com"));
        assert!(domains.permits("x.good.example.com"));
        assert!(domains.permits("notexample.com"));
        domains.others_denied = true;
        assert!(!domains.permits("notexample.com"));
        domains.set("example.com", None);
        assert!(!domains.permits("example.com"));
    }

    #[test]
    fn texts_that_are_no_domains_are_refused() {
        assert_eq!(domain("Example.COM."), Ok("example.com".into()));
        for text in [
            "",
            ".",
            "a..b",
            "a b",
            "<script>",
            "é.example",
            &"a".repeat(64),
        ] {
            assert_eq!(domain(text), Err(BadDomain), "{text}");
        }
    }
}
