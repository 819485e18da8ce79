//! Made traces of households: devices that change their MAC addresses as current systems do, visitors with equal names, hidden names,
//! clones, and laptops with two interfaces.

use core::net::Ipv4Addr;
use dhcp::v4::message::{Header, Kind, REQUEST, Writer, option};
use packet::ethernet::Mac;

/// xorshift64*.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    /// Whether something of this probability, in thousandths, happens.
    pub fn happens(&mut self, thousandths: u64) -> bool {
        self.below(1000) < thousandths
    }
}

/// Rates of the grid, in thousandths of devices.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Devices that send no name.
    pub hidden: u64,
    /// Devices whose name is that of the product.
    pub product: u64,
}

/// The grid. It was fixed together with the points of the rule, before the first run.
pub const GRID: [Rates; 6] = [
    Rates {
        hidden: 0,
        product: 200,
    },
    Rates {
        hidden: 0,
        product: 600,
    },
    Rates {
        hidden: 300,
        product: 200,
    },
    Rates {
        hidden: 300,
        product: 600,
    },
    Rates {
        hidden: 600,
        product: 200,
    },
    Rates {
        hidden: 600,
        product: 600,
    },
];

/// Rates outside the grid, in thousandths: of devices, then a day of a device.
const DAILY: u64 = 150;
const UNIVERSAL: u64 = 150;
const TWO_INTERFACES: u64 = 300;
const CLONE: u64 = 50;
const NEW_ADDRESS: u64 = 20;
const REINSTALLED: u64 = 4;
const UPDATED: u64 = 10;
const RENAMED: u64 = 3;
const AT_HOME: u64 = 850;
/// Visitors: a new one on a day of a household, and a day of a known one.
const VISITOR: u64 = 300;
const VISITOR_AGAIN: u64 = 150;
/// Number of first names that people have.
const PEOPLE: u64 = 30;

pub const DAYS: u64 = 60;
const HOUR: u64 = 3600;

#[derive(Clone, Copy, PartialEq)]
enum System {
    Iphone,
    Android,
    Windows,
    Linux,
    Mac,
}

/// One interface of a device. Two interfaces of a laptop are two identities for the rule: neither replaces the other.
pub struct Interface {
    system: System,
    is_daily: bool,
    is_universal: bool,
    is_visitor: bool,
    name: Option<String>,
    duid: Option<Vec<u8>>,
    iaid: u32,
    version: u64,
    pub mac: Mac,
    /// The interface that is present at the same hours.
    partner: Option<usize>,
}

/// A household, and what happens in it.
pub struct Household {
    rates: Rates,
    pub interfaces: Vec<Interface>,
    random: Random,
}

/// A message: time in seconds, and the interface that sends it.
pub type Sent = (u64, usize);

impl Household {
    pub fn new(seed: u64, rates: Rates) -> Household {
        let mut household = Household {
            rates,
            interfaces: Vec::new(),
            random: Random::new(seed),
        };
        for _ in 0..4 + household.random.below(8) {
            household.add(false);
        }
        household
    }

    fn add(&mut self, is_visitor: bool) {
        let random = &mut self.random;
        let system = [
            System::Iphone,
            System::Android,
            System::Windows,
            System::Linux,
            System::Mac,
        ][random.below(5) as usize];
        let duid = match system {
            System::Linux => Some(self.new_duid()),
            _ => None,
        };
        let random = &mut self.random;
        let is_universal = random.happens(UNIVERSAL);
        let interface = Interface {
            system,
            is_daily: !is_universal && random.happens(DAILY),
            is_universal,
            is_visitor,
            name: name(random, system, self.rates),
            duid,
            iaid: random.below(1 << 32) as u32,
            version: random.below(4),
            mac: address(random, is_universal),
            partner: None,
        };
        let is_laptop = matches!(system, System::Windows | System::Linux | System::Mac);
        let own = self.interfaces.len();
        self.interfaces.push(interface);
        if is_laptop && self.random.happens(TWO_INTERFACES) {
            let first = &self.interfaces[own];
            let wired = Interface {
                is_daily: false,
                is_universal: true,
                name: first.name.clone(),
                duid: first.duid.clone(),
                iaid: first.iaid.wrapping_add(1),
                mac: address(&mut self.random, true),
                partner: Some(own),
                ..*first
            };
            self.interfaces.push(wired);
        }
    }

    /// A new DUID (DUID-EN of a machine), or that of another machine of which this one is a clone.
    fn new_duid(&mut self) -> Vec<u8> {
        let other = self.interfaces.iter().find_map(|one| one.duid.clone());
        match other.filter(|_| self.random.happens(CLONE)) {
            Some(duid) => duid,
            None => {
                let mut duid = vec![0, 2, 0, 0, 0xAB, 0x11];
                duid.extend(self.random.below(u64::MAX).to_be_bytes());
                duid
            }
        }
    }

    /// The messages of a day in their order; changes of devices happen before the day.
    pub fn day(&mut self, day: u64) -> Vec<Sent> {
        if self.random.happens(VISITOR) {
            self.add(true);
        }
        let mut sent = Vec::new();
        let mut hours: Vec<Option<(u64, u64)>> = Vec::new();
        for index in 0..self.interfaces.len() {
            self.change(index);
            let is_visitor = self.interfaces[index].is_visitor;
            let partner = self.interfaces[index].partner;
            let own = match partner.and_then(|partner| hours[partner]) {
                // The cable is plugged in for a part of the time.
                Some((from, to)) if self.random.happens(500) => Some((from + 600, to)),
                _ if partner.is_some() => None,
                _ => {
                    let share = if is_visitor { VISITOR_AGAIN } else { AT_HOME };
                    let from = day * 24 * HOUR + self.random.below(14 * HOUR);
                    let to = from + HOUR + self.random.below(9 * HOUR);
                    self.random.happens(share).then_some((from, to))
                }
            };
            hours.push(own);
            if let Some((from, to)) = own {
                let step = HOUR as usize / 2;
                sent.extend((from..to).step_by(step).map(|at| (at, index)));
            }
        }
        sent.sort_unstable();
        sent
    }

    /// Changes of a device: its address by its policy, a new system, an update, a new name.
    fn change(&mut self, index: usize) {
        let random = &mut self.random;
        let (is_new_system, is_renamed) = (random.happens(REINSTALLED), random.happens(RENAMED));
        let is_updated = random.happens(UPDATED);
        let is_new_address = random.happens(NEW_ADDRESS);
        let rates = self.rates;
        let one = &mut self.interfaces[index];
        if one.partner.is_some() {
            return;
        }
        if is_new_system || is_renamed {
            one.name = name(random, one.system, rates);
        }
        if is_new_system && one.duid.is_some() {
            let mut duid = vec![0, 2, 0, 0, 0xAB, 0x11];
            duid.extend(random.below(u64::MAX).to_be_bytes());
            one.duid = Some(duid);
        }
        if is_updated {
            one.version += 1;
        }
        if !one.is_universal && (one.is_daily || is_new_address || is_new_system) {
            one.mac = address(random, false);
        }
        let (name, duid) = (one.name.clone(), one.duid.clone());
        let wired = self.interfaces.get_mut(index + 1);
        if let Some(wired) = wired.filter(|wired| wired.partner == Some(index)) {
            (wired.name, wired.duid) = (name, duid);
        }
    }
}

fn address(random: &mut Random, is_universal: bool) -> Mac {
    let [_, _, a, b, c, d, e, f] = random.below(1 << 40).to_be_bytes();
    let first = if is_universal { a & !3 } else { a & !3 | 2 };
    Mac([first, random.below(256) as u8, c, d, e, f ^ b])
}

fn name(random: &mut Random, system: System, rates: Rates) -> Option<String> {
    if random.happens(rates.hidden) {
        return None;
    }
    let person = format!("Person{}s", letters(random.below(PEOPLE)));
    let is_product = random.happens(rates.product);
    Some(match (system, is_product) {
        (System::Iphone, true) => "iPhone".into(),
        (System::Iphone, false) => format!("{person}-iPhone"),
        (System::Android, true) => ["Pixel-7", "Galaxy-S21"][random.below(2) as usize].into(),
        (System::Android, false) => format!("{person}-Pixel"),
        (System::Windows, true) => "laptop".into(),
        (System::Windows, false) => format!("DESKTOP-{:07X}", random.below(1 << 28)),
        (System::Linux, true) => "ubuntu".into(),
        (System::Linux, false) => format!("{person}-thinkpad"),
        (System::Mac, true) => "MacBook-Pro".into(),
        (System::Mac, false) => format!("{person}-MacBook-Pro"),
    })
}

fn letters(number: u64) -> String {
    let letter = |digit: u64| char::from(b'a' + digit as u8);
    [letter(number / 26), letter(number % 26)].iter().collect()
}

impl Interface {
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Its DHCP message.
    pub fn message(&self) -> Vec<u8> {
        let header = Header {
            op: REQUEST,
            xid: 7,
            secs: 0,
            broadcast: false,
            ciaddr: Ipv4Addr::UNSPECIFIED,
            yiaddr: Ipv4Addr::UNSPECIFIED,
            siaddr: Ipv4Addr::UNSPECIFIED,
            giaddr: Ipv4Addr::UNSPECIFIED,
            chaddr: self.mac,
        };
        let mut message = Vec::new();
        let mut writer = Writer::new(&mut message, &header, Kind::Discover, 1472);
        let client = match &self.duid {
            Some(duid) => [&[255][..], &self.iaid.to_be_bytes(), duid].concat(),
            None => [&[1][..], &self.mac.0].concat(),
        };
        writer.option(option::CLIENT_ID, &client);
        if let Some(name) = &self.name {
            writer.option(option::HOST_NAME, name.as_bytes());
        }
        let (wanted, class): (&[u8], &str) = match self.system {
            System::Iphone => (&[1, 121, 3, 6, 15, 108, 114, 119, 252], ""),
            System::Android => (
                &[1, 3, 6, 15, 26, 28, 51, 58, 59, 43, 114, 108],
                "android-dhcp-1",
            ),
            System::Windows => (
                &[1, 3, 6, 15, 31, 33, 43, 44, 46, 47, 119, 121, 249, 252],
                "MSFT 5.0",
            ),
            System::Linux => (&[1, 3, 12, 15, 6, 26, 33, 121, 119, 42], ""),
            System::Mac => (&[1, 121, 3, 6, 15, 108, 114, 119, 252, 95, 44, 46], ""),
        };
        // Versions of a system differ in the last option.
        let wanted = [wanted, &[200 + (self.version % 8) as u8]].concat();
        writer.option(option::PARAMETERS, &wanted);
        if !class.is_empty() {
            writer.option(option::VENDOR_CLASS, class.as_bytes());
        }
        writer.end();
        message
    }
}
