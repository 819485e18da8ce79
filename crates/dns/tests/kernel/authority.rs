//! The authoritative server and `named` serve the same signed zone, and get the same queries.

use super::*;
use dns::service::zone::{self, ZoneConfig};
use domain::base::Message;
use domain::base::message::Section;
use node::random::Random;
use std::collections::BTreeSet;
use std::net::UdpSocket;

const ZONE: &str = "\
$TTL 3600
@ SOA ns1 root 1 7200 900 1209600 300
@ NS ns1
@ NS ns2.outside.test.
@ MX 10 mail
@ TXT \"v=spf1 -all\" \"second string\"
ns1 A 10.1.0.2
ns1 AAAA fd00::2
mail A 192.0.2.25
www CNAME web.pool
web.pool A 192.0.2.80
web.pool 600 A 192.0.2.81
out CNAME somewhere.outside.test.
dangling CNAME nothing
a.b.c.deep TXT deep
*.wild A 192.0.2.7
*.wild MX 5 mail
host.wild A 192.0.2.8
sub.host.wild TXT below
*.alias CNAME www
_sip._udp SRV 1 2 5060 mail
child NS ns.child
child NS ns2.outside.test.
ns.child A 192.0.2.53
secure NS ns.secure
secure DS 12345 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
ns.secure A 192.0.2.54
ns.secure AAAA fd00::54
odd TYPE65280 \\# 4 01020304
UPPER A 192.0.2.90
";
/// Names that random queries are made of.
const LABELS: [&str; 26] = [
    "", "ns1", "mail", "www", "web", "pool", "out", "dangling", "a", "b", "c", "deep", "wild",
    "host", "sub", "alias", "*", "odd", "_sip", "_udp", "child", "ns", "secure", "upper", "zzz",
    "nothing",
];
const TYPES: [u16; 13] = [1, 2, 5, 6, 12, 15, 16, 28, 33, 43, 47, 48, 65_280];

/// A response without the parts that servers may choose: order, additional records, letters' case.
#[derive(Debug, PartialEq, Eq)]
struct Normal {
    code: u8,
    authoritative: bool,
    truncated: bool,
    answer: BTreeSet<String>,
    authority: BTreeSet<String>,
}

fn normal(response: &[u8]) -> Normal {
    let message = Message::from_slice(response).expect("a header");
    let section = |wanted| {
        let all = message.iter().filter_map(Result::ok);
        let all = all.filter(|(_, section)| *section == wanted);
        all.map(|(record, _)| {
            let data = record
                .to_any_record::<domain::rdata::AllRecordData<_, _>>()
                .expect("data");
            data.to_string().to_lowercase()
        })
        .collect()
    };
    Normal {
        code: message.header().rcode().to_int(),
        authoritative: message.header().aa(),
        truncated: message.header().tc(),
        answer: section(Section::Answer),
        authority: section(Section::Authority),
    }
}

fn query(random: &mut Random) -> (Vec<u8>, String) {
    let labels = random.below(4);
    let name: Vec<&str> = (0..labels)
        .map(|_| LABELS[random.index(LABELS.len())])
        .filter(|label| !label.is_empty())
        .collect();
    let rtype = TYPES[random.index(TYPES.len())];
    let dnssec = random.chance(0.5);
    let mut query = vec![random.bits() as u8, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    for label in name.iter().chain(&["example"]) {
        query.push(label.len() as u8);
        query.extend(label.as_bytes());
    }
    query.push(0);
    query.extend(rtype.to_be_bytes());
    query.extend([
        0,
        1,
        0,
        0,
        41,
        4,
        0xD0,
        0,
        0,
        if dnssec { 0x80 } else { 0 },
        0,
        0,
        0,
    ]);
    (
        query,
        format!("{}.example type {rtype} DO {dnssec}", name.join(".")),
    )
}

fn exchange(socket: &UdpSocket, server: &str, query: &[u8]) -> Vec<u8> {
    let mut response = vec![0; 4096];
    for _ in 0..3 {
        socket.send_to(query, (server, 53)).unwrap();
        while let Ok(len) = socket.recv(&mut response) {
            if response[..2] == query[..2] {
                response.truncate(len);
                return response;
            }
        }
    }
    panic!("{server} does not respond");
}

/// Signs a zone in the test's folder; gives its text.
pub fn sign(net: &Net, name: &str, text: &str) -> String {
    let file = net.write(name, text);
    let folder = net.folder.to_str().unwrap();
    let origin = if name == "root" { "." } else { name };
    for flags in [&["-f", "KSK"][..], &[]] {
        let mut key = Command::new("dnssec-keygen");
        key.args(["-q", "-K", folder, "-a", "ECDSAP256SHA256"])
            .args(flags)
            .arg(origin);
        assert!(key.output().unwrap().status.success());
    }
    let signed = format!("{file}.signed");
    let mut sign = Command::new("dnssec-signzone");
    sign.args([
        "-q", "-S", "-K", folder, "-d", folder, "-o", origin, "-f", &signed, &file,
    ]);
    let said = output(&mut sign);
    fs::read_to_string(&signed).unwrap_or_else(|_| panic!("{said}"))
}

#[test]
fn responses_to_random_queries_are_those_of_bind() {
    if !has(&["named", "dig", "dnssec-signzone"]) {
        return;
    }
    let result = with_router(
        "authority",
        |net| {
            let text = sign(net, "example", ZONE);
            let zone = ZoneConfig {
                name: "example.".into(),
                text,
            };
            let config = zone::Config {
                zone: vec![zone],
                rate: 0,
                ..zone::Config::default()
            };
            vec![zone::make(&config, 5).unwrap()]
        },
        |net| {
            let folder = net.folder.to_str().unwrap();
            let config = net.write(
                "named.conf",
                &format!(
                    "options {{ directory \"{folder}\"; pid-file none; recursion no; listen-on {{ 10.1.0.2; }}; \
                     listen-on-v6 {{ none; }}; minimal-responses yes; zero-no-soa-ttl no; session-keyfile none; }}; controls {{ }}; \
                     zone \"example\" {{ type primary; file \"{folder}/example.signed\"; check-names ignore; }};"
                ),
            );
            net.start("named", &["-f", "-g", "-c", &config]);
            net.await_server("10.1.0.2", "example");
            net.await_server("10.0.0.1", "example");
            let compare = || {
                let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
                socket
                    .set_read_timeout(Some(Duration::from_secs(2)))
                    .unwrap();
                let mut random = Random::new(45);
                let mut kinds = BTreeSet::new();
                for _ in 0..4_000 {
                    let (query, text) = query(&mut random);
                    let ours = normal(&exchange(&socket, "10.0.0.1", &query));
                    let theirs = normal(&exchange(&socket, "10.1.0.2", &query));
                    assert_eq!(ours, theirs, "{text}");
                    kinds.insert((ours.code, ours.answer.len(), ours.authority.len()));
                }
                kinds.len()
            };
            net.clients.enter(compare).unwrap()
        },
    );
    let Some((kinds, outcome)) = result else {
        return;
    };
    assert!(kinds > 20, "only {kinds} kinds of responses were compared");
    println!("{kinds} kinds; {:?}", outcome.counters);
}
