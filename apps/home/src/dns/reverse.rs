//! Names of addresses in the trees `in-addr.arpa` and `ip6.arpa` (RFC 1035 section 3.5, RFC 3596 section 2.5).

use core::fmt::Write;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use domain::base::iana::Rtype;

/// The address of a whole reverse name in lower case, without a dot at its end.
pub(super) fn address_of(name: &str) -> Option<IpAddr> {
    if let Some(reversed) = name.strip_suffix(".in-addr.arpa") {
        let mut octets = [0; 4];
        let mut parts = reversed.rsplit('.');
        for octet in &mut octets {
            *octet = parts.next()?.parse().ok()?;
        }
        let is_whole = parts.next().is_none();
        return is_whole.then(|| Ipv4Addr::from(octets).into());
    }
    let reversed = name.strip_suffix(".ip6.arpa")?;
    let (mut bits, mut count) = (0_u128, 0);
    for part in reversed.rsplit('.') {
        let digit = part.parse::<char>().ok()?.to_digit(16)?;
        bits = bits << 4 | u128::from(digit);
        count += 1;
        if count > 32 {
            return None;
        }
    }
    (count == 32).then(|| Ipv6Addr::from(bits).into())
}

/// Query for the PTR records of an address.
pub(super) fn query(address: IpAddr) -> Vec<u8> {
    let mut query = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let mut label = String::new();
    let mut put = |number: u8, is_hexadecimal: bool| {
        label.clear();
        // Writing to a string does not fail.
        let _ = match is_hexadecimal {
            true => write!(label, "{number:x}"),
            false => write!(label, "{number}"),
        };
        query.push(label.len() as u8);
        query.extend(label.as_bytes());
    };
    match address {
        IpAddr::V4(address) => {
            let octets = address.octets().into_iter().rev();
            octets.for_each(|octet| put(octet, false));
            query.extend(b"\x07in-addr\x04arpa\0");
        }
        IpAddr::V6(address) => {
            for octet in address.octets().into_iter().rev() {
                put(octet & 15, true);
                put(octet >> 4, true);
            }
            query.extend(b"\x03ip6\x04arpa\0");
        }
    }
    query.extend(Rtype::PTR.to_int().to_be_bytes());
    query.extend([0, 1]);
    query
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::text;
    use dns::message::Question;

    #[test]
    fn only_whole_reverse_names_are_addresses() {
        let address = "10.2.0.6".parse::<IpAddr>().ok();
        assert_eq!(address_of("6.0.2.10.in-addr.arpa"), address);
        let nibbles = "7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa";
        assert_eq!(address_of(nibbles), "2001:db8::7".parse().ok());
        for name in [
            "2.10.in-addr.arpa",
            "1.6.0.2.10.in-addr.arpa",
            "x.0.2.10.in-addr.arpa",
            "in-addr.arpa",
            "8.b.d.0.1.0.0.2.ip6.arpa",
            "ip6.arpa",
            &nibbles.replace("7.0", "70.0"),
            &format!("0.{nibbles}"),
        ] {
            assert_eq!(address_of(name), None, "{name}");
        }
    }

    #[test]
    fn the_query_for_the_name_of_an_address_is_read_back() {
        for address in ["203.0.113.7", "2001:db8:53::80"] {
            let address: IpAddr = address.parse().expect("an address");
            let query = query(address);
            let question = Question::read(&query).expect("a question");
            assert_eq!(address_of(&text(&question.name)), Some(address));
            assert_eq!(question.rtype, Rtype::PTR);
        }
    }
}
