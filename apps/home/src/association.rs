//! Text of the control interface of hostapd: events, stations and commands (hostapd 2.10, `hostapd_cli(8)`).

use crate::device::Wifi;
use packet::ethernet::Mac;

/// State `held` of the authenticator's state machine, as the MIB of IEEE 802.1X numbers it.
const HELD: &str = "7";

/// An event of hostapd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The station is authorized.
    Connected(Mac),
    /// The station has left or lost its authorization.
    Disconnected(Mac),
}

impl Event {
    /// Reads an event such as `<3>AP-STA-CONNECTED 02:00:00:00:00:01`. `None` for other events.
    pub fn read(text: &str) -> Option<Event> {
        let text = text.strip_prefix('<')?.split_once('>')?.1;
        let mut words = text.split_ascii_whitespace();
        let name = words.next()?;
        let mac = words.next()?.parse().ok()?;
        match name {
            "AP-STA-CONNECTED" => Some(Event::Connected(mac)),
            "AP-STA-DISCONNECTED" => Some(Event::Disconnected(mac)),
            _ => None,
        }
    }
}

/// A station that hostapd knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Its MAC address.
    pub mac: Mac,
    /// Whether it may send data.
    pub is_authorized: bool,
    /// Whether it may not try again for a time, after a failed attempt.
    pub is_held: bool,
    /// Identity with which it authenticated by EAP.
    pub identity: Option<String>,
    /// Its link, on Wi-Fi.
    pub wifi: Option<Wifi>,
}

impl Station {
    /// Reads the reply to `STA`, `STA-FIRST` or `STA-NEXT`: the address, then a line for each property.
    pub fn read(text: &str) -> Option<Station> {
        let mut lines = text.lines();
        let mac = lines.next()?.trim().parse().ok()?;
        let mut station = Station {
            mac,
            is_authorized: false,
            is_held: false,
            identity: None,
            wifi: None,
        };
        for line in lines {
            let Some((name, value)) = line.split_once('=') else {
                continue;
            };
            match name {
                "flags" => station.is_authorized = value.contains("[AUTHORIZED]"),
                "dot1xAuthPaeState" => station.is_held = value == HELD,
                "dot1xAuthSessionUserName" => station.identity = Some(value.into()),
                // Drivers that do not measure it report 0.
                "signal" => {
                    let signal = value.parse().ok().filter(|signal| *signal < 0);
                    station.wifi = signal.map(|signal| Wifi {
                        signal,
                        retransmitted: None,
                    });
                }
                _ => {}
            }
        }
        Some(station)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_other_kinds_are_skipped() {
        let mac = Mac([2, 0, 0, 0, 0, 1]);
        let read = |text| Event::read(text);
        assert_eq!(
            read("<3>AP-STA-CONNECTED 02:00:00:00:00:01 auth_alg=open"),
            Some(Event::Connected(mac))
        );
        assert_eq!(
            read("<3>AP-STA-DISCONNECTED 02:00:00:00:00:01"),
            Some(Event::Disconnected(mac))
        );
        for other in [
            "",
            "OK",
            "<3>",
            "<3>AP-STA-CONNECTED",
            "<3>AP-STA-CONNECTED me",
            "<3>CTRL-EVENT-EAP-STARTED 02:00:00:00:00:01",
            "AP-STA-CONNECTED 02:00:00:00:00:01",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn a_station_has_its_identity_and_its_signal() {
        let text = "02:00:00:00:00:01\nflags=[AUTH][ASSOC][AUTHORIZED]\naid=0\nsignal=-52\ndot1xAuthPaeState=5\ndot1xAuthSessionUserName=anna\n";
        let station = Station::read(text).expect("a station");
        assert!(station.is_authorized);
        assert_eq!(station.identity.as_deref(), Some("anna"));
        assert_eq!(station.wifi.expect("a link").signal, -52);
        let wired = Station::read("02:00:00:00:00:01\nflags=\nsignal=0\n").expect("a station");
        assert_eq!((wired.is_authorized, wired.wifi), (false, None));
        for not in ["", "FAIL\n", "OK"] {
            assert_eq!(Station::read(not), None);
        }
    }
}
