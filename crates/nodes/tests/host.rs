use crate::hand::{Hand, mac};
use nodes::host::{Config, Host};
use packet::ethernet::Mac;

fn host() -> Hand<Host> {
    Hand::new(Host::new(Config {
        mac: Mac(mac(2)),
        ipv4: Some([10, 0, 0, 2].into()),
        ipv6: Some("fe80::2".parse().unwrap()),
        ..Config::default()
    }))
}

/// Bytes from hexadecimal text.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

/// What comes back by the port, if anything does.
fn answer(host: &mut Hand<Host>, request: &[u8]) -> Option<Vec<u8>> {
    host.frame(0, request).into_iter().next().map(|sent| sent.2)
}

const ARP: &str = "FFFFFFFFFFFF 020000000001 0806 0001 0800 06 04 0001 \
                   020000000001 0A000001 000000000000 0A000002";

/// One ping as Linux sends it, with its checksums.
const PING: &str = "020000000002 020000000001 0800 \
                    4500 0024 1234 4000 3F01 15A3 0A000001 0A000002 \
                    0800 6668 0001 0001 6162636465666768";

#[test]
fn who_has_is_answered_by_the_one_who_has() {
    let mut host = host();
    let reply = "020000000001 020000000002 0806 0001 0800 06 04 0002 \
                 020000000002 0A000002 020000000001 0A000001";
    assert_eq!(answer(&mut host, &hex(ARP)).unwrap(), hex(reply));
    let for_another = hex(&ARP.replace("0A000002", "0A000003"));
    assert_eq!(answer(&mut host, &for_another), None);
    assert_eq!((host.counter("arp"), host.counter("ignored")), (1, 1));
}

#[test]
fn a_ping_comes_back_with_right_checksums() {
    let mut host = host();
    let reply = "020000000001 020000000002 0800 \
                 4500 0024 1234 0000 4001 54A3 0A000002 0A000001 \
                 0000 6E68 0001 0001 6162636465666768";
    assert_eq!(answer(&mut host, &hex(PING)).unwrap(), hex(reply));
    assert_eq!(host.counter("pings"), 1);
}

#[test]
fn what_is_broken_or_for_others_is_ignored() {
    let ping = hex(PING);
    for at in [0, 5, 14, 15, 17, 21, 24, 30, 33, 34, 35, 36, 41] {
        let mut broken = ping.clone();
        broken[at] ^= 0x02;
        assert_eq!(answer(&mut host(), &broken), None, "byte {at}");
    }
    for len in 0..ping.len() {
        assert_eq!(answer(&mut host(), &ping[..len]), None, "{len} bytes");
    }
}

#[test]
fn a_neighbour_solicitation_gets_an_advertisement() {
    let mut host = host();
    let solicitation = hex("3333FF000002 020000000001 86DD 60000000 0020 3A FF \
         FE800000000000000000000000000001 FF0200000000000000000001FF000002 \
         8700 7A97 00000000 FE800000000000000000000000000002 0101 020000000001");
    let advertisement = hex("020000000001 020000000002 86DD 60000000 0020 3A FF \
         FE800000000000000000000000000002 FE800000000000000000000000000001 \
         8800 181A 60000000 FE800000000000000000000000000002 0201 020000000002");
    assert_eq!(answer(&mut host, &solicitation).unwrap(), advertisement);
    assert_eq!(host.counter("neighbours"), 1);
}

#[test]
fn the_echo_service_does_not_echo_an_echo() {
    let mut host = host();
    let datagram = |source: &str| {
        hex(&format!(
            "020000000002 020000000001 0800 4500 001E 0000 4000 4011 26CD 0A000001 0A000002 \
             {source} 0007 000A 0000 6869"
        ))
    };
    let back = answer(&mut host, &datagram("C000")).unwrap();
    assert_eq!(back[34..38], [0, 7, 0xC0, 0]);
    assert_eq!(answer(&mut host, &datagram("0007")), None);
}
