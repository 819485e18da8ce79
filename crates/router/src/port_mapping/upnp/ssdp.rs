//! Discovery: answers to searches, and notifications (UPnP Device Architecture 1.1 section 1).

use super::PORT as HTTP_PORT;
use super::pages::{DEVICE_PATH, uuid};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use node::Time;

/// Group and UDP port of searches.
pub const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 255, 250);
/// UDP port of searches.
pub const PORT: u16 = 1900;
/// Maximum length of a search, bytes.
const MAX_LEN: usize = 1_024;
/// Seconds for which an answer is good, and the time between notifications.
const MAX_AGE: u64 = 1_800;
pub(super) const INTERVAL: Time = Time::from_secs(MAX_AGE / 2);
/// Searches that are answered in a second.
const MAX_RATE: u32 = 20;
pub(super) const SERVER: &str = "Wireline/1 UPnP/1.1 IGD/2";

/// Search targets besides the name of the device: types without their versions, of which the highest is 2.
const TYPES: [&str; 4] = [
    "urn:schemas-upnp-org:device:InternetGatewayDevice",
    "urn:schemas-upnp-org:device:WANDevice",
    "urn:schemas-upnp-org:device:WANConnectionDevice",
    "urn:schemas-upnp-org:service:WANIPConnection",
];
const ROOT: &str = "upnp:rootdevice";

/// Searches that were answered in the current second: an answer is longer than a search.
#[derive(Debug, Default)]
pub(super) struct Rate {
    since: Time,
    count: u32,
}

impl Rate {
    pub fn allows(&mut self, now: Time) -> bool {
        if now >= self.since + Time::from_secs(1) {
            (self.since, self.count) = (now, 0);
        }
        self.count += 1;
        self.count <= MAX_RATE
    }
}

/// Unique name of a target.
fn usn(id: u64, target: &str) -> String {
    let uuid = uuid(id);
    match target == uuid {
        true => uuid,
        false => format!("{uuid}::{target}"),
    }
}

fn location(own: Ipv4Addr) -> String {
    format!("http://{own}:{HTTP_PORT}{DEVICE_PATH}")
}

/// Value of a field.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.split("\r\n").skip(1);
    lines.find_map(|line| {
        let (own, value) = line.split_once(':')?;
        own.trim().eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Answers to a datagram; none if it is no search, or not for this device.
pub(super) fn answers(id: u64, own: Ipv4Addr, request: &[u8]) -> Vec<Vec<u8>> {
    let text = core::str::from_utf8(request).unwrap_or_default();
    let is_search = request.len() <= MAX_LEN
        && text.starts_with("M-SEARCH * HTTP/1.1\r\n")
        && field(text, "MAN") == Some("\"ssdp:discover\"");
    let Some(target) = field(text, "ST").filter(|_| is_search) else {
        return Vec::new();
    };
    let is_type = |target: &str| {
        let parts = target.rsplit_once(':');
        parts.is_some_and(|(kind, version)| TYPES.contains(&kind) && matches!(version, "1" | "2"))
    };
    let mut targets = Vec::new();
    match target {
        // Three of all: each is as long as several searches.
        "ssdp:all" => {
            targets.push(String::from(ROOT));
            targets.extend([TYPES[0], TYPES[3]].map(|kind| format!("{kind}:2")));
        }
        target if target == ROOT || target == uuid(id) || is_type(target) => {
            targets.push(String::from(target));
        }
        _ => {}
    }
    let answers = targets.iter().map(|target| {
        let text = format!(
            "HTTP/1.1 200 OK\r\nCACHE-CONTROL: max-age={MAX_AGE}\r\nEXT:\r\nLOCATION: {}\r\nSERVER: {SERVER}\r\n\
             ST: {target}\r\nUSN: {}\r\nBOOTID.UPNP.ORG: 1\r\nCONFIGID.UPNP.ORG: 1\r\n\r\n",
            location(own),
            usn(id, target)
        );
        text.into_bytes()
    });
    answers.collect()
}

/// Notifications that the device is there.
pub(super) fn notifications(id: u64, own: Ipv4Addr) -> Vec<Vec<u8>> {
    let types = TYPES.iter().map(|kind| format!("{kind}:2"));
    let all = [String::from(ROOT), uuid(id)].into_iter().chain(types);
    let payloads = all.map(|target| {
        let text = format!(
            "NOTIFY * HTTP/1.1\r\nHOST: {GROUP}:{PORT}\r\nCACHE-CONTROL: max-age={MAX_AGE}\r\nLOCATION: {}\r\n\
             SERVER: {SERVER}\r\nNT: {target}\r\nNTS: ssdp:alive\r\nUSN: {}\r\nBOOTID.UPNP.ORG: 1\r\nCONFIGID.UPNP.ORG: 1\r\n\r\n",
            location(own),
            usn(id, &target)
        );
        text.into_bytes()
    });
    payloads.collect()
}
