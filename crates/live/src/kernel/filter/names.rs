//! Names in a filter expression, which libpcap asks the system's databases and resolver for.

/// Words of the language that name nothing outside of it: those of most expressions. A word that is
/// missing here is taken for a name, which costs some time, and the link types that are rare.
const WORDS: &str = "
    aarp action addr1 addr2 addr3 addr4 address1 address2 address3 address4 ah and arp atalk
    beacon block broadcast byte carp clnp csnp ctl data decnet dir direction dst dstods es-is
    esis esp ether fddi fromds gateway geneve greater host icmp icmp6 icmp6code icmp6type
    icmpcode icmptype ifindex ifname igmp igrp iih inbound ip ip6 ipx is-is isis iso l1 l2
    lane lat len length less link llc lsp mask metac mgt mopdl moprc mpls multicast net
    netbeui nods not on or outbound pass pim port portrange ppp pppoed pppoes proto protochain
    psnp radio rarp reason rnr rset sca sctp slip snp src stp subtype tcp tcpflags tods tr
    type udp vci vlan vpi vrrp wlan
";

/// Whether an expression may have names of hosts, networks, services or protocols.
pub fn may_have(expression: &str) -> bool {
    // Behind a backslash a word of the language is a name.
    expression.contains('\\') || expression.split(|c: char| !is_part(c)).any(is_name)
}

/// Whether a character can be within a name or a number.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-')
}

fn is_name(word: &str) -> bool {
    // Addresses of IPv6 and MAC addresses have colons. Numbers and IPv4 begin with a digit, and as
    // hexadecimal have no dot.
    let is_number = word.contains(':')
        || word
            .strip_prefix("0x")
            .is_some_and(|rest| rest.bytes().all(|digit| digit.is_ascii_hexdigit()))
        || !word.contains(char::is_alphabetic);
    // Flags and types, such as tcp-syn and icmp-echo.
    let is_constant = ["tcp-", "icmp-", "icmp6-"]
        .iter()
        .any(|begin| word.starts_with(begin));
    !is_number && !is_constant && !WORDS.split_ascii_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_words_and_numbers() {
        for plain in [
            "",
            "ip6 host fd00::1 or (src net 10.0.0.0/8 and not udp dst portrange 50-60)",
            "tcp[tcpflags]&(tcp-syn|tcp-ack)!=0",
            "icmp[icmptype] == icmp-echo && ether[0] & 0x0F = 1",
            "ether host 02:00:00:aa:bb:cc",
            "ether host 02-00-00-00-00-01",
            "vlan 5 and len>100",
        ] {
            assert!(!may_have(plain), "{plain}");
        }
        for named in [
            "host example",
            "host example.org",
            "tcp port http",
            "ip proto ospf",
            r"ip proto \tcp",
            "net loopback",
            "port ftp-data",
            "host a-b",
        ] {
            assert!(may_have(named), "{named}");
        }
    }
}
