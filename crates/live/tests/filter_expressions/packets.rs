//! Packets of every protocol that the expressions ask for, in the headers of each link type.

/// A link type by its number in files, and the byte order of a file of it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub number: u16,
    pub big_endian: bool,
}

/// The link types that are compared.
pub const LINKS: [Link; 14] = [
    little(1),
    little(0),
    Link {
        number: 0,
        big_endian: true,
    },
    little(108),
    little(101),
    little(12),
    little(228),
    little(229),
    little(113),
    little(276),
    little(9),
    little(104),
    little(105),
    little(127),
];

const fn little(number: u16) -> Link {
    Link {
        number,
        big_endian: false,
    }
}

/// Payload of a link: an EtherType and its payload, sent by the station of this number.
pub struct Payload {
    pub sender: u8,
    pub ethertype: u16,
    pub bytes: Vec<u8>,
}

impl Link {
    /// Writes a number as files of this link have it.
    pub fn number(self, number: u32) -> [u8; 4] {
        match self.big_endian {
            true => number.to_be_bytes(),
            false => number.to_le_bytes(),
        }
    }

    /// A packet of this link, the `nth` of all.
    pub fn packet(self, nth: usize, payload: &Payload) -> Vec<u8> {
        let Payload {
            sender,
            ethertype,
            ref bytes,
        } = *payload;
        let kind = ethertype.to_be_bytes();
        let mut to = [2, 0, 0, 0, 0, 9];
        match nth % 7 {
            0 => to.fill(0xFF),
            1 => to[0] = 1,
            _ => {}
        }
        let from = [2, 0, 0, 0, 0, sender];
        let snap = [&[0xAA, 0xAA, 3, 0, 0, 0][..], &kind].concat();
        let wireless = || {
            // Data to and from the access point, and one that is not data.
            let control = [[0x08, 0x01], [0x08, 0x02], [0x80, 0x00]][nth % 3];
            [&control[..], &[0, 0], &to, &from, &to, &[0, 0], &snap].concat()
        };
        let family = match ethertype {
            0x0800 => 2,
            // IPv6 has one number on Linux, and another on macOS.
            0x86DD if nth.is_multiple_of(3) => 30,
            0x86DD => 10,
            _ => 7,
        };
        let direction = (nth % 5) as u8;
        let header = match self.number {
            1 => [&to[..], &from, &kind].concat(),
            0 => self.number(family).to_vec(),
            108 => family.to_be_bytes().to_vec(),
            113 => [&[0, direction, 0, 1, 0, 6][..], &from, &[0, 0], &kind].concat(),
            276 => [
                &kind[..],
                &[0, 0, 0, 0, 0, sender, 0, 1, direction, 6],
                &from,
                &[0, 0],
            ]
            .concat(),
            9 => {
                let protocol = match ethertype {
                    0x0800 => [0, 0x21],
                    0x86DD => [0, 0x57],
                    0x8847 => [2, 0x81],
                    _ => [0xC0, 0x21],
                };
                [&[0xFF, 3][..], &protocol].concat()
            }
            104 => [&[0x0F, 0][..], &kind].concat(),
            105 => wireless(),
            127 => [&[0, 0, 8, 0, 0, 0, 0, 0][..], &wireless()].concat(),
            // These begin with the header of IP.
            _ => Vec::new(),
        };
        [header, bytes.clone()].concat()
    }
}

/// Every protocol that the expressions ask for, tagged and not.
pub fn payloads() -> Vec<Payload> {
    let mut plain = Vec::new();
    for last in 1..4 {
        let mut put = |ethertype, bytes| {
            plain.push(Payload {
                sender: last,
                ethertype,
                bytes,
            });
        };
        for (source, destination) in [(53, 1024), (1024, 53), (443, 80), (80, 55)] {
            for (flags, len) in [(0x02, 24), (0x12, 200)] {
                let payload = transport(source, destination, flags, len);
                for protocol in [1, 6, 17, 47, 58, 132] {
                    put(0x0800, ipv4(protocol, last, 0, &payload));
                    put(0x86DD, ipv6(protocol, last, &payload));
                }
                put(0x0800, ipv4(17, last, 0x00B9, &payload));
                // Hop-by-hop and destination options before the transport header, and a fragment.
                let options = [
                    &[60, 0, 1, 4, 0, 0, 0, 0, 6, 1, 1, 12][..],
                    &[0; 12],
                    &payload,
                ];
                put(0x86DD, ipv6(0, last, &options.concat()));
                let fragment = [&[17, 0, 0, 1, 0, 0, 0, last][..], &payload].concat();
                put(0x86DD, ipv6(44, last, &fragment));
                // Behind an authentication header.
                let authentic = [&[6, 4, 0, 0][..], &[0; 20], &payload].concat();
                put(0x0800, ipv4(51, last, 0, &authentic));
            }
        }
        put(0x0806, arp(last));
        put(
            0x8847,
            [&[0, 1, 0x11, 64][..], &ipv4(17, last, 0, &[0; 8])].concat(),
        );
        put(
            0x8864,
            [
                &[0x11, 0, 0, last, 0, 22, 0, 0x21][..],
                &ipv4(1, last, 0, &[0; 8]),
            ]
            .concat(),
        );
        let broadcast = [[10, 0, 0, 255], [255; 4], [0; 4]][usize::from(last) - 1];
        let mut to_all = ipv4(17, last, 0, &transport(68, 67, 0, 24));
        to_all[16..20].copy_from_slice(&broadcast);
        put(0x0800, to_all);
    }
    let mut payloads = Vec::new();
    for (index, payload) in plain.into_iter().enumerate() {
        let tag: &[(u16, &[u8])] = match index % 4 {
            0 => &[(0x8100, &[0, 10])],
            1 => &[(0x8100, &[0, 11])],
            2 => &[(0x88A8, &[0, 9, 0x81, 0, 0, 10])],
            _ => &[],
        };
        for (outer, rest) in tag {
            let kind = payload.ethertype.to_be_bytes();
            payloads.push(Payload {
                sender: payload.sender,
                ethertype: *outer,
                bytes: [rest, &kind[..], &payload.bytes].concat(),
            });
        }
        payloads.push(payload);
    }
    payloads
}

fn arp(last: u8) -> Vec<u8> {
    let mut bytes = vec![0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, last, 10, 0, 0, last];
    bytes.extend([0, 0, 0, 0, 0, 0, 10, 0, 0, last ^ 3]);
    bytes
}

fn ipv4(protocol: u8, last: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let len = (20 + payload.len()) as u16;
    let mut header = vec![0x45, 0];
    header.extend(len.to_be_bytes());
    header.extend([0, 0]);
    header.extend(fragment.to_be_bytes());
    header.extend([last * 4, protocol, 0, 0, 10, 0, 0, last, 10, 0, 0, last ^ 3]);
    [header, payload.to_vec()].concat()
}

fn ipv6(next: u8, last: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x60, 0, 0, 0, 0, payload.len() as u8, next, 64];
    for last in [last, last ^ 3] {
        header.extend([0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    [header, payload.to_vec()].concat()
}

fn transport(source: u16, destination: u16, flags: u8, len: usize) -> Vec<u8> {
    let mut header = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    // Read as UDP, bytes 4 and 5 are the length; read as TCP, byte 12 is the header's length.
    header.extend((len as u16).to_be_bytes());
    header.extend([0, 0, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
    header.extend(b"GET ");
    header.resize(len.max(24), 0x55);
    header
}
