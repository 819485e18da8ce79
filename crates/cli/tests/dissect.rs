//! Fields of packets by name are those of tshark, of captures that stand here and of one that real programs make.

use crate::shell::{Place, can_unshare, has, is_root};
use std::path::Path;

/// What tshark is told, so that it looks at each packet by itself.
const ALONE: &str = "-o tcp.desegment_tcp_streams:FALSE -o tcp.relative_sequence_numbers:FALSE -o ip.defragment:FALSE \
    -o ipv6.defragment:FALSE -o tcp.analyze_sequence_numbers:FALSE";
/// Fields of our own, which tshark does not have.
const OWN: [&str; 7] = [
    "ttl",
    "dscp",
    "ecn",
    "flags",
    "tcp.sack_permitted",
    "dns.answers",
    "tls.records",
];

/// DNS, HTTP, TLS, DHCP, pings and a connection that is refused.
const PROGRAMS: &str = r#"
ip link set lo up
ip link add va type veth peer name vb
ip addr add 10.9.0.1/24 dev va
ip link set va up
ip link set vb up
tcpdump -i lo -U --immediate-mode -w lo.pcap 2>lo.log & lo=$!
tcpdump -i va -U --immediate-mode -w va.pcap 2>va.log & va=$!
dnsmasq --no-daemon --conf-file=/dev/null --no-resolv --no-hosts --pid-file= --interface=va --interface=lo --bind-interfaces \
    --no-ping --dhcp-leasefile=leases --dhcp-range=10.9.0.50,10.9.0.60,1h --address=/www.example.test/10.1.2.3 \
    --address=/www.example.test/fd00::3 --cname=alias.example.test,host.example.test --host-record=host.example.test,10.0.0.7 \
    --txt-record=txt.example.test,"some text" --mx-host=example.test,mail.example.test,5 \
    --srv-host=_x._tcp.example.test,host.example.test,99 2>dnsmasq.log & dns=$!
openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 2 -subj /CN=a.test 2>/dev/null
openssl s_server -accept 4433 -key k.pem -cert c.pem -alpn h2,http/1.1 -quiet -www >/dev/null 2>&1 & tls=$!
mkdir www; echo hello >www/index.html
busybox httpd -f -p 8080 -h www & http=$!
until grep -q listening lo.log && grep -q listening va.log && ss -lnt | grep -q :4433 && ss -lnt | grep -q :8080 && ss -lnu | grep -q ':53 '
do sleep 0.1; done
ask() { dig @127.0.0.1 +tries=1 +time=20 "$@" >/dev/null; }
ask www.example.test A; ask www.example.test AAAA; ask alias.example.test A; ask txt.example.test TXT; ask example.test MX
ask _x._tcp.example.test SRV; ask none.example.test A; ask -x 10.0.0.7; ask +tcp www.example.test
fetch() { timeout 30 curl -sk --noproxy '*' "$@" >/dev/null; }
fetch http://127.0.0.1:8080/ -H 'Host: the.host' -A 'agent/1 (x y)'
fetch 'http://127.0.0.1:8080/none?a=b'
fetch --resolve sni.example.test:4433:127.0.0.1 https://sni.example.test:4433/
echo | timeout 30 openssl s_client -connect 127.0.0.1:4433 -servername other.test -tls1_2 -alpn h2 >/dev/null 2>&1
ping -c2 127.0.0.1 >/dev/null; ping -c1 ::1 >/dev/null
fetch http://127.0.0.1:9/
timeout 30 udhcpc -i vb -n -q -t 3 -T 1 -x hostname:aclient -s /bin/true >/dev/null 2>&1
sleep 0.3
kill $lo $va $dns $http $tls
wait
"#;

fn testdata(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/captures");
    Path::new(folder).join(name).display().to_string()
}

/// All fields that both have, but those that `not` begins.
fn names(place: &Place, not: &[&str]) -> Vec<String> {
    let listed = place.run("wire cut --fields").good();
    let names = listed
        .lines()
        .map(|line| line.split([',', ' ']).next().unwrap());
    names
        .skip_while(|name| *name != "frame.len")
        .filter(|name| !OWN.contains(name) && !not.iter().any(|not| name.starts_with(not)))
        .map(String::from)
        .collect()
}

/// Compares each field of each packet; `keep` says which packets.
fn compare(place: &Place, file: &str, not: &[&str], keep: &str) {
    let names = names(place, not);
    let wanted: String = names.iter().map(|name| format!(" -e {name}")).collect();
    let theirs = place
        .run(&format!(
            "tshark -r {file} {ALONE} -T fields {wanted} -Y '{keep}' 2>/dev/null"
        ))
        .good();
    let kept = format!(
        "tshark -r {file} {ALONE} -Y '{keep}' -w kept.pcapng 2>/dev/null && wire cut {} kept.pcapng",
        names.join(",")
    );
    let ours = place.run(&kept);
    // Of packets that the capture cut short there is less than was sent, which is reported.
    let is_well = match ours.err.contains("had been cut short") {
        true => ours.code == Some(1) && ours.err.lines().count() == 1,
        false => ours.code == Some(0) && ours.err.is_empty(),
    };
    assert!(is_well, "{file}: {}", ours.err);
    let ours = ours.out;
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{file}");
    assert!(!ours.is_empty(), "{file}: nothing was compared");
    for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        for ((name, ours), theirs) in names.iter().zip(ours.split(' ')).zip(theirs.split('\t')) {
            let ours = if ours == "-" { "" } else { ours }.replace("\\u0020", " ");
            // As Wireshark 4.2 and later have flags.
            let theirs = theirs.replace("True", "1").replace("False", "0");
            assert_eq!(
                ours,
                theirs,
                "{file}: {name} of packet {} of those with {keep}",
                number + 1
            );
        }
    }
}

#[test]
fn fields_of_captures_are_those_of_tshark() {
    if !has("tshark", "fields are compared with it") {
        return;
    }
    let place = Place::new("dissect-captures");
    // tshark looks into the packet that an error of ICMP quotes too, and calls its fields the same.
    for name in [
        "nano.pcap",
        "two-interfaces.pcapng",
        "micro-big-endian.pcap",
    ] {
        compare(&place, &testdata(name), &[], "!(icmp.type == 3)");
    }
    // What goes to port 53 there is no message; and service tags have names of their own there.
    compare(
        &place,
        &testdata("tunnels.pcapng"),
        &["dns."],
        "!ieee8021ad",
    );
    let tags = place
        .run(&format!(
            "wire cut vlan.id,vlan.etype,gre.key,vxlan.vni,mpls.label,ip.ttl {}",
            testdata("tunnels.pcapng")
        ))
        .good();
    assert_eq!(
        tags.lines().nth(1),
        Some("100,5 0x8100,0x0800 - - - 64"),
        "{tags}"
    );
}

#[test]
fn fields_inside_pppoe_and_geneve_are_those_of_tshark() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/corpora/tcpdump/tests"
    );
    if !has("tshark", "fields are compared with it") || !Path::new(folder).is_dir() {
        return println!("skipped: tshark or the captures of tcpdump are not here");
    }
    let place = Place::new("dissect-tunnels");
    for name in [
        "pppoe",
        "pppoes",
        "geneve",
        "geneve-gcp",
        "gso-ipv4-geneve-ipv6",
        "gso-ipv6-geneve-ipv4",
    ] {
        let file = format!("{folder}/{name}.pcap");
        compare(&place, &file, &["dns.", "dhcp."], "frame");
    }
}

/// An IPv4 packet: its protocol and payload, another total length if one is given, how many bytes
/// the capture cuts off, and how many more the frame had behind them.
type Odd = (u8, Vec<u8>, Option<u16>, usize, usize);

/// A capture of such packets.
fn odd(packets: &[Odd]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xA1B2_C3D4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend([65_535_u32, 1].map(u32::to_le_bytes).concat());
    for (protocol, payload, total, cut, missing) in packets {
        let mut packet = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
        packet.extend(total.unwrap_or(20 + payload.len() as u16).to_be_bytes());
        packet.extend([0, 1, 0, 0, 64, *protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend(payload);
        let length = (packet.len() + missing) as u32;
        packet.truncate(packet.len() - cut);
        for field in [1, 0, packet.len() as u32, length] {
            file.extend(field.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

#[test]
fn lengths_that_make_no_sense_are_read_as_tshark_reads_them() {
    if !has("tshark", "fields are compared with it") {
        return;
    }
    let tcp = |words: u8| {
        let mut header = vec![4, 0xD2, 0, 99, 0, 0, 0, 7, 0, 0, 0, 9];
        header.extend([words << 4, 0x18, 3, 0xE8, 0, 0, 0, 0]);
        [header, b"abcd".to_vec()].concat()
    };
    let udp = |length: u8| [&[0, 5, 0, 6, 0, length, 0, 0][..], b"abcd"].concat();
    let mut packets: Vec<_> = (0..16).map(|words| (6, tcp(words), None, 0, 0)).collect();
    for total in [0, 20, 30, 40, 44, 1_000] {
        packets.push((6, tcp(5), Some(total), 0, 0));
        // Cut by the capture, and the frame was longer than that.
        packets.push((6, tcp(5), Some(total), 2, 0));
        packets.push((6, tcp(5), Some(total), 0, 500));
    }
    for cut in [14, 19] {
        packets.push((6, tcp(5), None, cut, 0));
    }
    for length in [0, 4, 7, 8, 10, 12, 200] {
        packets.push((17, udp(length), None, 0, 0));
    }
    packets.push((17, udp(12), Some(0), 0, 0));
    packets.push((17, udp(12), Some(0), 0, 1_000));
    packets.push((1, vec![8, 0, 0, 0, 0, 1, 0, 2, 9, 9], Some(0), 0, 0));
    let place = Place::new("dissect-odd");
    place.write("odd.pcap", odd(&packets));
    compare(&place, "odd.pcap", &[], "frame");
}

#[test]
fn strings_are_those_of_tshark() {
    if !has("tshark", "fields are compared with it") {
        return;
    }
    let strings: [&[u8]; 9] = [
        b"plain",
        b"a b c",
        b"quote\"s and 'these'",
        b"back\\slash",
        b"comma,semicolon;",
        b"caf\xC3\xA9",
        b"\xC3\xFF\xFE\x80",
        b"zero\0behind",
        b"",
    ];
    let mut packets: Vec<Odd> = Vec::new();
    for text in strings {
        let request = [
            b"GET /",
            text,
            b" HTTP/1.1\r\nHost: ",
            text,
            b"\r\nServer: ",
            text,
            b"\r\n\r\n",
        ];
        let mut header = vec![4, 0xD2, 0, 80, 0, 0, 0, 7, 0, 0, 0, 9];
        header.extend([0x50, 0x18, 3, 0xE8, 0, 0, 0, 0]);
        packets.push((6, [header, request.concat()].concat(), None, 0, 0));
        let length = text.len() as u8;
        let mut answer = vec![0, 1, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
        answer.extend([
            1, b'a', 0, 0, 16, 0, 1, 0xC0, 12, 0, 16, 0, 1, 0, 0, 0, 1, 0,
        ]);
        answer.extend([&[length + 1, length][..], text].concat());
        let mut datagram = vec![0, 53, 4, 0, 0, 8 + answer.len() as u8, 0, 0];
        datagram.extend(answer);
        packets.push((17, datagram, None, 0, 0));
        if !text.is_empty() && !text.contains(&0) {
            let mut question = vec![0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, length];
            question.extend([text, &[3, b'o', b'r', b'g', 0, 0, 1, 0, 1]].concat());
            let mut datagram = vec![4, 0, 0, 53, 0, 8 + question.len() as u8, 0, 0];
            datagram.extend(question);
            packets.push((17, datagram, None, 0, 0));
        }
    }
    let place = Place::new("dissect-strings");
    place.write("strings.pcap", odd(&packets));
    compare(&place, "strings.pcap", &[], "frame");
}

#[test]
fn fields_of_what_real_programs_say_are_those_of_tshark() {
    let programs = [
        "tshark", "tcpdump", "dnsmasq", "dig", "openssl", "curl", "busybox", "udhcpc", "ss", "ping",
    ];
    if !is_root("the dissection of real programs")
        || !programs
            .iter()
            .all(|program| has(program, "the dissection of real programs"))
        || !can_unshare("-n", "the dissection of real programs")
    {
        return;
    }
    let place = Place::new("dissect-programs");
    place.write("programs", PROGRAMS);
    place
        .run("unshare -n bash programs >programs.log 2>&1; test -s lo.pcap -a -s va.pcap")
        .good();
    compare(&place, "lo.pcap", &[], "frame");
    // A client's own identifier holds its address once more.
    compare(&place, "va.pcap", &[], "frame");
    let column = |fields: &str, file: &str| {
        place
            .run(&format!(
                "wire cut {fields} {file} | grep -v -e '^-' -e ' -$' | sort -u"
            ))
            .good()
    };
    assert!(column("tls.sni,tls.alpn", "lo.pcap").contains("sni.example.test h2,http/1.1\n"));
    assert_eq!(
        column("http.method,http.host,http.path", "lo.pcap"),
        "GET 127.0.0.1:8080 /none?a=b\nGET the.host /\n"
    );
    assert!(
        column("dns.qname,dns.answers", "lo.pcap")
            .contains("alias.example.test host.example.test,10.0.0.7\n")
    );
    assert!(
        column("http.status,http.response.phrase", "lo.pcap").contains("404 Not\\u0020Found\n")
    );
    assert_eq!(
        column("dhcp.hostname,dhcp.message", "va.pcap"),
        "aclient 1\naclient 3\naclient 5\n"
    );
    let offered = column("dhcp.yiaddr,dhcp.message,dhcp.server_id", "va.pcap");
    let given = offered
        .lines()
        .filter_map(|line| line.strip_suffix(" 5 10.9.0.1"))
        .filter_map(|address| address.strip_prefix("10.9.0.")?.parse().ok());
    let given: Vec<u8> = given.collect();
    assert!(matches!(given[..], [50..=60]), "{offered}");
    assert!(column("flags,dport", "lo.pcap").contains("S 9\n"));
}

#[test]
fn an_unknown_field_is_an_error_that_tells_those_of_its_protocol() {
    let place = Place::new("dissect-unknown");
    let ended = place.run("wire cut dns.nothing </dev/null");
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.err.contains("dns.qry.name") && ended.err.contains("--fields"),
        "{}",
        ended.err
    );
}
