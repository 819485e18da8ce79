//! Strings of the controller for values of types with `@p4runtime_translation("URI", string)`
//! (specification, section 18.5).
//!
//! The server gives each string a value of the type and keeps both ways for as long as the program
//! runs. Types with the same URI share
//! their strings. A string that is a number as it is written in decimal stands for it,
//! `@p4runtime_translation_mappings` fixes others, and
//! the rest take the lowest values from 1 on that nothing has yet.

use p4::info::{Field, Info, NewType};
use p4::value::{Bits, mask};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tonic::{Code, Status};

/// How many strings a type has at most, and how many bytes one of them.
const MAX_STRINGS: usize = 1 << 18;
const MAX_LENGTH: usize = 256;

/// The strings of a program's types.
#[derive(Default)]
pub(crate) struct Translations {
    types: BTreeMap<Arc<str>, Arc<Mutex<Names>>>,
}

/// The strings of a type, both ways.
#[derive(Default)]
struct Names {
    values: BTreeMap<String, Bits>,
    strings: BTreeMap<Bits, String>,
    /// No lower value is free, but for 0.
    next: u64,
}

impl Translations {
    /// With what the program fixes.
    pub(crate) fn new(info: &Info) -> Self {
        let mut by_uri: BTreeMap<Arc<str>, Arc<Mutex<Names>>> = BTreeMap::new();
        let mut types = BTreeMap::new();
        for (name, (new, notes)) in &info.types.new_types {
            let NewType::Translated(uri, None) = new else {
                continue;
            };
            let names = match uri.is_empty() {
                true => Arc::default(),
                false => Arc::clone(by_uri.entry(uri.clone()).or_default()),
            };
            for annotation in &notes.annotations {
                if let Some(pairs) = annotation.strip_prefix("@p4runtime_translation_mappings") {
                    let mut names = names.lock();
                    for (text, value) in mappings(pairs) {
                        names.insert(text, Bits::new(64, value));
                    }
                }
            }
            types.insert(name.clone(), names);
        }
        Translations { types }
    }

    /// The type's name, if the controller has strings for a field's values.
    pub(crate) fn of<'a>(&self, field: &'a Field) -> Option<&'a str> {
        let name = field.type_name.as_deref().filter(|_| field.width == 0)?;
        self.types.contains_key(name).then_some(name)
    }

    /// Whether the controller has strings for a type.
    pub(crate) fn knows(&self, ty: &str) -> bool {
        self.types.contains_key(ty)
    }

    /// The type of ports, if there is just one with strings whose name says that it is one.
    pub(crate) fn port(&self) -> Option<&str> {
        let mut ports = self.types.keys();
        let is_port = |name: &&Arc<str>| name.to_ascii_lowercase().contains("port");
        let first = ports.find(is_port)?;
        ports.find(is_port).is_none().then_some(&**first)
    }

    /// The value that a string stands for, which it is given now if it has none.
    pub(crate) fn value(
        &self,
        ty: &str,
        text: &[u8],
        width: u32,
        what: &str,
    ) -> Result<Bits, Status> {
        let Some(names) = self.types.get(ty) else {
            return Err(Status::new(
                Code::Internal,
                format!("{what}: no strings for `{ty}`"),
            ));
        };
        let text = std::str::from_utf8(text).map_err(|_| {
            Status::new(
                Code::InvalidArgument,
                format!("{what}: the string is not UTF-8"),
            )
        })?;
        if text.len() > MAX_LENGTH {
            return Err(Status::new(
                Code::InvalidArgument,
                format!("{what}: the string has more than {MAX_LENGTH} bytes"),
            ));
        }
        let mut names = names.lock();
        let value = names.find(text, width);
        let value = value.filter(|value| value.unsigned().bits() <= u64::from(width));
        value.map(|value| value.resize(width)).ok_or_else(|| {
            Status::new(
                Code::ResourceExhausted,
                format!("{what}: no value of {width} bits is left for the string `{text}`"),
            )
        })
    }

    /// The string that stands for a value.
    pub(crate) fn string(&self, ty: &str, value: &Bits) -> Vec<u8> {
        let Some(names) = self.types.get(ty) else {
            return crate::bytes::write(value);
        };
        let mut names = names.lock();
        names.name(value).into_bytes()
    }
}

impl Names {
    fn insert(&mut self, text: String, value: Bits) {
        let value = value.resize(64);
        self.strings.insert(value.clone(), text.clone());
        self.values.insert(text, value);
    }

    fn find(&mut self, text: &str, width: u32) -> Option<Bits> {
        if let Some(value) = self.values.get(text) {
            return Some(value.clone());
        }
        if self.values.len() >= MAX_STRINGS {
            return None;
        }
        let number = text.parse::<u64>().ok();
        let number = number.filter(|number| number.to_string() == text);
        let number = number.map(|number| Bits::new(64, number));
        let fits = |value: &Bits| *value.unsigned() <= mask(width.min(64));
        let own = number.filter(|value| fits(value) && !self.strings.contains_key(value));
        let value = own.or_else(|| {
            self.next = self.next.max(1);
            while self.strings.contains_key(&Bits::new(64, self.next)) {
                self.next += 1;
            }
            let next = Bits::new(64, self.next);
            let zero = Bits::zero(64);
            match fits(&next) {
                true => Some(next),
                false => Some(zero).filter(|zero| !self.strings.contains_key(zero)),
            }
        })?;
        self.insert(text.to_owned(), value.clone());
        Some(value)
    }

    /// A value that no controller named, such as one in the program, is named by its number.
    fn name(&mut self, value: &Bits) -> String {
        let key = value.resize(64);
        if let Some(text) = self.strings.get(&key) {
            return text.clone();
        }
        let mut text = value.unsigned().to_string();
        while self.values.contains_key(&text) {
            text.insert(0, '#');
        }
        if self.values.len() < MAX_STRINGS {
            self.insert(text.clone(), key);
        }
        text
    }
}

/// The pairs of `({ {"text", 3}, ... })`.
fn mappings(body: &str) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let mut rest = body;
    while let Some((_, behind)) = rest.split_once('"') {
        let Some((text, behind)) = behind.split_once('"') else {
            break;
        };
        let number = behind.trim_start_matches([' ', ',', '\n', '\t']);
        let end = number.find(|c: char| !c.is_ascii_alphanumeric());
        let digits = &number[..end.unwrap_or(number.len())];
        let value = match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => digits.parse().ok(),
        };
        if let Some(value) = value {
            found.push((text.to_owned(), value));
        }
        rest = behind;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4::info::Notes;

    fn translations() -> Translations {
        let mut info = Info::default();
        let translated = |uri: &str| NewType::Translated(uri.into(), None);
        let mappings = "@p4runtime_translation_mappings ( { { \"\" , 0 } , { \"blue\" , 0x7 } } )";
        let fixed = Notes {
            annotations: vec![mappings.into()],
            ..Notes::default()
        };
        for (name, new, notes) in [
            ("port_id_t", translated("ports"), Notes::default()),
            ("other_port_t", translated("ports"), Notes::default()),
            ("vrf_id_t", translated(""), fixed),
            (
                "plain_t",
                NewType::Translated("x".into(), Some(32)),
                Notes::default(),
            ),
        ] {
            info.types.new_types.insert(name.into(), (new, notes));
        }
        Translations::new(&info)
    }

    fn value(all: &Translations, ty: &str, text: &str, width: u32) -> Result<u64, Code> {
        let value = all.value(ty, text.as_bytes(), width, "x");
        value
            .map(|value| value.to_u64().unwrap())
            .map_err(|status| status.code())
    }

    #[test]
    fn strings_have_values_and_values_have_their_strings_again() {
        let all = translations();
        assert!(!all.knows("plain_t"));
        // A number stands for itself, also behind a string that was there before.
        assert_eq!(value(&all, "port_id_t", "2", 9), Ok(2));
        assert_eq!(value(&all, "port_id_t", "eth0", 9), Ok(1));
        assert_eq!(value(&all, "port_id_t", "eth1", 9), Ok(3));
        assert_eq!(value(&all, "port_id_t", "eth0", 9), Ok(1));
        // Its number is taken.
        assert_eq!(value(&all, "port_id_t", "3", 9), Ok(4));
        assert_eq!(value(&all, "port_id_t", "03", 9), Ok(5));
        // The same URI has the same strings; another width of it must do.
        assert_eq!(value(&all, "other_port_t", "eth1", 16), Ok(3));
        assert_eq!(
            value(&all, "other_port_t", "eth1", 1),
            Err(Code::ResourceExhausted)
        );
        for (number, text) in [(1, "eth0"), (2, "2"), (3, "eth1"), (4, "3"), (9, "9")] {
            let string = all.string("port_id_t", &Bits::new(9, number as u64));
            assert_eq!(string, text.as_bytes());
        }
        assert_eq!(value(&all, "port_id_t", "9", 9), Ok(9));
        assert_eq!(
            value(&all, "port_id_t", &"x".repeat(257), 9),
            Err(Code::InvalidArgument)
        );
    }

    #[test]
    fn the_program_may_fix_what_strings_mean() {
        let all = translations();
        assert_eq!(value(&all, "vrf_id_t", "", 10), Ok(0));
        assert_eq!(value(&all, "vrf_id_t", "blue", 10), Ok(7));
        assert_eq!(value(&all, "vrf_id_t", "7", 10), Ok(1));
        assert_eq!(all.string("vrf_id_t", &Bits::new(10, 7u8)), b"blue");
        assert_eq!(all.string("vrf_id_t", &Bits::new(10, 0u8)), b"");
    }

    #[test]
    fn no_value_is_given_twice_and_none_beyond_the_width() {
        let all = translations();
        let mut given: Vec<u64> = (0..16)
            .map(|n| value(&all, "port_id_t", &format!("p{n}"), 4).unwrap())
            .collect();
        given.sort_unstable();
        assert_eq!(given, (0..16).collect::<Vec<u64>>());
        assert_eq!(
            value(&all, "port_id_t", "more", 4),
            Err(Code::ResourceExhausted)
        );
        for n in 0..16u64 {
            let text = all.string("port_id_t", &Bits::new(4, n));
            let text = String::from_utf8(text).unwrap();
            assert_eq!(value(&all, "port_id_t", &text, 4), Ok(n), "{text}");
        }
    }
}
