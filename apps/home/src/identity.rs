//! Identity of devices: evidence that a new MAC address is a known device again.
//!
//! Phones and laptops change their MAC addresses, by network or by day. The rule compares a waiting device with each device
//! that has a decision, and suggests at most one of them to a person. Devices can forge all evidence, so a suggestion permits
//! nothing: only the person's answer does.
//!
//! | evidence | points |
//! |---|---|
//! | the same DUID (RFC 9915 section 11, RFC 4361), client identifier (RFC 2132 section 9.14) or EAPOL identity | 8 |
//! | another identifier of the same kind | -3 |
//! | the same distinctive name: host name (RFC 2132 section 3.14, RFC 4702) or name in multicast DNS | 5 |
//! | the same name of a product, such as `iPhone` | 1 |
//! | names, but none in common | -4 |
//! | the same order of requested options and vendor class (RFC 2132 sections 9.8 and 9.13) | 1 |
//! | another order or class | -2 |
//!
//! A suggestion needs [`THRESHOLD`] points, and none of these:
//!
//! - Both devices were present at the same time.
//! - Both MAC addresses are globally administered, so that neither is random. Without a common identifier the new one must
//!   be locally administered.
//! - The DUID is the same and the interface (IAID) is not: two interfaces of one host.
//! - Two candidates with equal points were present at the same time as each other.
//!
//! An identifier that only repeats the MAC address is no evidence.

use dhcp::v4::message::{Message, option};
use dns::message::records;
use domain::base::iana::{Class, Rtype};
use node::Time;
use packet::ethernet::Mac;
use serde::{Deserialize, Serialize};

/// Points that a suggestion needs.
pub const THRESHOLD: i32 = 4;
/// Maximum number of identifiers of a device; the latest ones are kept.
pub const MAX_IDENTIFIERS: usize = 4;
/// Maximum number of names of a device; the latest ones are kept.
pub const MAX_NAMES: usize = 8;
/// Maximum length of an identifier, bytes (RFC 9915 section 11.1).
const MAX_IDENTIFIER_LEN: usize = 130;
/// Maximum length of a name, bytes (a label of RFC 1035 section 2.3.4).
const MAX_NAME_LEN: usize = 63;
/// Maximum number of records that are read of a message.
const MAX_RECORDS: usize = 64;
/// An earlier device that is seen later than this after the arrival of the new one is another device. Counters of traffic are up
/// to two polls old.
pub const OVERLAP: Time = Time::from_secs(5);
/// Number of the DHCP option with the client's full name (RFC 4702).
const FULL_NAME: u8 = 81;
/// Bits of the flags of a full name: in the format of DNS messages (RFC 4702 section 2.1).
const CANONICAL: u8 = 4;

/// Words in names that products have from the factory. Together with numbers they do not distinguish devices.
const PRODUCT_WORDS: [&str; 48] = [
    "air",
    "android",
    "apple",
    "asus",
    "book",
    "chromebook",
    "computer",
    "debian",
    "dell",
    "desktop",
    "device",
    "edge",
    "esp",
    "fedora",
    "fold",
    "galaxy",
    "google",
    "host",
    "huawei",
    "imac",
    "ipad",
    "iphone",
    "laptop",
    "lenovo",
    "linux",
    "lite",
    "localhost",
    "mac",
    "macbook",
    "max",
    "mi",
    "mini",
    "moto",
    "nokia",
    "note",
    "oneplus",
    "pc",
    "phone",
    "pixel",
    "plus",
    "pro",
    "raspberrypi",
    "redmi",
    "se",
    "tablet",
    "ubuntu",
    "ultra",
    "unknown",
];
/// Maximum length of a product's number in a name, such as `s21` or `g991b`.
const MAX_NUMBER_LEN: usize = 5;

/// An identifier that a device keeps when its MAC address changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Identifier {
    /// Client identifier of DHCP, without a DUID.
    Client(Vec<u8>),
    /// DUID, and the IAID of the interface if it is known.
    Duid(Vec<u8>, Option<u32>),
    /// Identity in EAP (RFC 3748 section 5.1).
    Eapol(String),
}

impl Identifier {
    /// Whether both are the same, of the same kind and different, or not comparable.
    fn compare(&self, other: &Identifier) -> Option<bool> {
        match (self, other) {
            (Identifier::Client(own), Identifier::Client(other)) => Some(own == other),
            (Identifier::Duid(own, _), Identifier::Duid(other, _)) => Some(own == other),
            (Identifier::Eapol(own), Identifier::Eapol(other)) => Some(own == other),
            _ => None,
        }
    }

    /// Whether both are of the same host, and of different interfaces.
    fn is_other_interface(&self, other: &Identifier) -> bool {
        matches!((self, other), (Identifier::Duid(own, Some(a)), Identifier::Duid(other, Some(b))) if own == other && a != b)
    }

    /// Its kind, in words.
    fn kind(&self) -> &'static str {
        match self {
            Identifier::Client(_) => "DHCP client identifier",
            Identifier::Duid(..) => "DUID",
            Identifier::Eapol(_) => "EAPOL identity",
        }
    }
}

/// Evidence about a device, from its messages. It takes at most 1.5 kB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    identifiers: Vec<Identifier>,
    /// Host names and names in multicast DNS in a common form, the latest first.
    names: Vec<String>,
    /// Hash of the requested options of DHCP and the vendor class.
    fingerprint: Option<u64>,
}

impl Evidence {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Evidence::default()
    }

    /// Adds evidence of a DHCP message. Returns whether any of it is new.
    pub fn note_dhcp(&mut self, mac: Mac, message: &Message<'_>) -> bool {
        let mut is_new = false;
        if let Some(client) = message.option(option::CLIENT_ID) {
            is_new |= match &*client {
                // RFC 4361 section 6.1.
                [255, a, b, c, d, duid @ ..] => {
                    self.note_duid(mac, duid, Some(u32::from_be_bytes([*a, *b, *c, *d])))
                }
                [1, address @ ..] if *address == mac.0 => false,
                [] | [_] => false,
                other => self.note_identifier(Identifier::Client(other.into())),
            };
        }
        if let Some(name) = message.option(option::HOST_NAME) {
            is_new |= self.note_name(&String::from_utf8_lossy(&name));
        }
        if let Some([flags, _, _, name @ ..]) = message.option(FULL_NAME).as_deref() {
            let first = match (flags & CANONICAL != 0, name) {
                (true, [length, rest @ ..]) => rest.get(..usize::from(*length)).unwrap_or_default(),
                _ => name.split(|byte| *byte == b'.').next().unwrap_or_default(),
            };
            is_new |= self.note_name(&String::from_utf8_lossy(first));
        }
        if let Some(wanted) = message.option(option::PARAMETERS) {
            let class = message.option(option::VENDOR_CLASS).unwrap_or_default();
            let bytes = wanted.iter().chain(&[0]).chain(class.iter());
            // FNV-1a: the hash is stored, and must be the same in later versions.
            let hash = bytes.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
            });
            is_new |= self.fingerprint.replace(hash) != Some(hash);
        }
        is_new
    }

    /// Adds the DUID of a device, and the IAID of its interface. Returns whether it is new.
    pub fn note_duid(&mut self, mac: Mac, duid: &[u8], iaid: Option<u32>) -> bool {
        let is_mac = matches!(duid, [0, 3, _, _, address @ ..] if *address == mac.0);
        duid.len() > 2 && !is_mac && self.note_identifier(Identifier::Duid(duid.into(), iaid))
    }

    /// Adds the identity of a device in EAP. Returns whether it is new.
    pub fn note_eapol(&mut self, identity: &str) -> bool {
        // An anonymous identity (RFC 7542 section 2.4) is the same for all.
        let user = identity.split('@').next().unwrap_or_default();
        !matches!(user, "" | "anonymous")
            && self.note_identifier(Identifier::Eapol(identity.into()))
    }

    /// Adds the names that a message of multicast DNS announces: hosts (A, AAAA) and instances of services (SRV). Returns
    /// whether any of them is new.
    pub fn note_mdns(&mut self, payload: &[u8]) -> bool {
        let is_response = payload.get(2).is_some_and(|flags| flags & 0x80 != 0);
        if !is_response {
            return false;
        }
        let mut is_new = false;
        for place in records(payload).take(MAX_RECORDS).map_while(Result::ok) {
            // The highest bit of the class flushes caches (RFC 6762 section 10.2).
            let is_internet = place.class.to_int() & 0x7FFF == Class::IN.to_int();
            if !is_internet || !matches!(place.rtype, Rtype::A | Rtype::AAAA | Rtype::SRV) {
                continue;
            }
            let owner = place.owner(payload);
            let first = owner.as_ref().and_then(|owner| owner.iter().next());
            let name = first.map(|label| String::from_utf8_lossy(label.as_slice()).into_owned());
            is_new |= name.is_some_and(|name| self.note_name(&name));
        }
        is_new
    }

    fn note_identifier(&mut self, identifier: Identifier) -> bool {
        let length = match &identifier {
            Identifier::Client(bytes) | Identifier::Duid(bytes, _) => bytes.len(),
            Identifier::Eapol(text) => text.len(),
        };
        if length > MAX_IDENTIFIER_LEN {
            return false;
        }
        note(&mut self.identifiers, identifier, MAX_IDENTIFIERS)
    }

    /// Adds a name. Returns whether it is new.
    pub fn note_name(&mut self, name: &str) -> bool {
        let name = common_form(name);
        !name.is_empty() && note(&mut self.names, name, MAX_NAMES)
    }

    /// Adds all evidence of a device that is this one.
    pub fn merge(&mut self, other: Evidence) {
        for identifier in other.identifiers.into_iter().rev() {
            self.note_identifier(identifier);
        }
        for name in other.names.into_iter().rev() {
            note(&mut self.names, name, MAX_NAMES);
        }
        self.fingerprint = other.fingerprint.or(self.fingerprint);
    }
}

/// Adds an item to the front of a list, unless it is there.
fn note<T: PartialEq>(list: &mut Vec<T>, item: T, limit: usize) -> bool {
    if list.contains(&item) {
        return false;
    }
    list.insert(0, item);
    list.truncate(limit);
    true
}

/// The form in which names are compared: `Anna's iPhone` and `Annas-iPhone` are the same.
fn common_form(name: &str) -> String {
    let mut form = String::new();
    for letter in name.chars() {
        if form.len() >= MAX_NAME_LEN {
            break;
        }
        match letter {
            '\'' | '’' | '\0' => {}
            _ if letter.is_alphanumeric() => form.extend(letter.to_lowercase()),
            _ if form.is_empty() || form.ends_with('-') => {}
            _ => form.push('-'),
        }
    }
    form.truncate(form.trim_end_matches('-').len());
    form
}

/// Whether a name in its common form distinguishes a device from others of its product.
fn is_distinctive(name: &str) -> bool {
    let is_number =
        |word: &str| word.len() <= MAX_NUMBER_LEN && word.bytes().any(|byte| byte.is_ascii_digit());
    name.split('-')
        .any(|word| word.len() > 1 && !is_number(word) && !PRODUCT_WORDS.contains(&word))
}

/// A question to people: is this device an earlier one again?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The earlier device.
    pub earlier: Mac,
    /// Evidence in favour, which a device can forge.
    pub reasons: Vec<Reason>,
}

/// A device for the rule.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// Its MAC address.
    pub mac: Mac,
    /// Its evidence.
    pub evidence: &'a Evidence,
    /// First and last time that it was present; `None`: not since the start.
    pub seen: Option<(Time, Time)>,
}

impl Sighting<'_> {
    /// Whether its MAC address is locally administered, as random ones are (IEEE 802-2014 section 8.2).
    fn is_local(&self) -> bool {
        self.mac.0[0] & 2 != 0
    }

    /// Whether an earlier device was present after the first time that this one was.
    pub fn overlaps(&self, earlier: &Sighting<'_>) -> bool {
        match (self.seen, earlier.seen) {
            (Some((first, _)), Some((_, last))) => last > first + OVERLAP,
            _ => false,
        }
    }
}

/// A reason for a suggestion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The same identifier, of this kind.
    Identifier(&'static str),
    /// The same name.
    Name(String),
    /// The same options of DHCP in the same order.
    Options,
}

/// Comparison of a new device with an earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Points by the table of the [module](self).
    pub points: i32,
    /// Evidence in favour.
    pub reasons: Vec<Reason>,
}

/// Compares a new device with an earlier one. `None`: they are two devices.
pub fn weigh(new: &Sighting<'_>, earlier: &Sighting<'_>) -> Option<Weight> {
    if new.mac == earlier.mac || new.overlaps(earlier) {
        return None;
    }
    if !new.is_local() && !earlier.is_local() {
        return None;
    }
    let mut weight = Weight::default();
    let (own, other) = (new.evidence, earlier.evidence);
    let pairs = own
        .identifiers
        .iter()
        .flat_map(|one| other.identifiers.iter().map(move |two| (one, two)));
    if pairs.clone().any(|(one, two)| one.is_other_interface(two)) {
        return None;
    }
    let same = pairs
        .clone()
        .find(|(one, two)| one.compare(two) == Some(true));
    if let Some((one, _)) = same {
        weight.points += 8;
        weight.reasons.push(Reason::Identifier(one.kind()));
    } else if !new.is_local() {
        return None;
    } else if pairs
        .clone()
        .any(|(one, two)| one.compare(two) == Some(false))
    {
        weight.points -= 3;
    }
    let mut names = own.names.iter().filter(|name| other.names.contains(name));
    let best = names.clone().find(|name| is_distinctive(name));
    if let Some(name) = best.or_else(|| names.next()) {
        weight.points += if is_distinctive(name) { 5 } else { 1 };
        weight.reasons.push(Reason::Name(name.clone()));
    } else if !own.names.is_empty() && !other.names.is_empty() {
        weight.points -= 4;
    }
    if let (Some(one), Some(two)) = (own.fingerprint, other.fingerprint) {
        weight.points += if one == two { 1 } else { -2 };
        if one == two {
            weight.reasons.push(Reason::Options);
        }
    }
    Some(weight)
}

/// The earlier device that a new one probably is: the one with most points, and of several the one that was present last.
pub fn suggest<'a>(
    new: &Sighting<'_>,
    earlier: impl Iterator<Item = Sighting<'a>>,
) -> Option<(Mac, Weight)> {
    let mut best: Option<(Sighting<'a>, Weight)> = None;
    let mut is_ambiguous = false;
    for one in earlier {
        let weight = weigh(new, &one).filter(|weight| weight.points >= THRESHOLD);
        let Some(weight) = weight else { continue };
        match &best {
            Some((known, other)) if other.points == weight.points => {
                is_ambiguous |= known.overlaps(&one) && one.overlaps(known);
                let last = |sighting: &Sighting<'_>| sighting.seen.map(|(_, last)| last);
                if last(&one) > last(known) {
                    best = Some((one, weight));
                }
            }
            Some((_, other)) if other.points > weight.points => {}
            _ => {
                is_ambiguous = false;
                best = Some((one, weight));
            }
        }
    }
    best.filter(|_| !is_ambiguous)
        .map(|(one, weight)| (one.mac, weight))
}
