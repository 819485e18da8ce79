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
moved DNAME wild
moved TXT moved
under.moved A 192.0.2.9
away DNAME outside.test.
*.star DNAME wild
cut DNAME pool
";
/// Names that random queries are made of.
const LABELS: [&str; 30] = [
    "", "ns1", "mail", "www", "web", "pool", "out", "dangling", "a", "b", "c", "deep", "wild",
    "host", "sub", "alias", "*", "odd", "_sip", "_udp", "child", "ns", "secure", "upper", "zzz",
    "nothing", "moved", "away", "star", "cut",
];
const TYPES: [u16; 15] = [1, 2, 5, 6, 12, 15, 16, 28, 33, 39, 43, 47, 48, 51, 65_280];

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

/// Signs a zone in the test's folder with NSEC records. Returns its text.
pub fn sign(net: &Net, name: &str, text: &str) -> String {
    sign_with(net, name, text, &[])
}

/// Signs a zone with more options of `dnssec-signzone`.
pub fn sign_with(net: &Net, name: &str, text: &str, options: &[&str]) -> String {
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
    sign.args(options).args([
        "-q", "-S", "-K", folder, "-d", folder, "-o", origin, "-f", &signed, &file,
    ]);
    let said = output(&mut sign);
    fs::read_to_string(&signed).unwrap_or_else(|_| panic!("{said}"))
}

/// Our server at 10.0.0.1 and another at 10.1.0.2, started by `start`, get the same queries; the zone is signed with `options`.
/// Responses to queries for types that match `is_other` may differ.
fn compare(
    test: &str,
    zone: &str,
    options: &[&str],
    is_other: impl Fn(&Normal, &str) -> bool + Sync,
    start: impl FnOnce(&mut Net),
) {
    let result = with_router(
        test,
        |net| {
            let text = sign_with(net, "example", zone, options);
            let zone = ZoneConfig {
                name: "example.".into(),
                text,
            };
            let config = zone::Config {
                zone: vec![zone],
                rate: 0,
                max_size: 4_096,
                ..zone::Config::default()
            };
            vec![zone::make(&config, 5).unwrap()]
        },
        |net| {
            start(net);
            net.await_server("10.1.0.2", "example");
            net.await_server("10.0.0.1", "example");
            let compare = || {
                let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
                socket
                    .set_read_timeout(Some(Duration::from_secs(2)))
                    .unwrap();
                let mut random = Random::new(45);
                let mut kinds = BTreeSet::new();
                let mut others = Vec::new();
                for _ in 0..4_000 {
                    let (query, text) = query(&mut random);
                    let ours = normal(&exchange(&socket, "10.0.0.1", &query));
                    let theirs = normal(&exchange(&socket, "10.1.0.2", &query));
                    kinds.insert((ours.code, ours.answer.len(), ours.authority.len()));
                    if ours != theirs && !is_other(&ours, &text) {
                        others.push(format!("{text}\n  {ours:?}\n  {theirs:?}\n"));
                    }
                }
                others.dedup();
                assert!(
                    others.is_empty(),
                    "{}: {}\n{}",
                    others.len(),
                    others[..others.len().min(6)].concat(),
                    net.logs()
                );
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

fn named(net: &mut Net) {
    let folder = net.folder.to_str().unwrap();
    let config = net.write(
        "named.conf",
        &format!(
            "options {{ directory \"{folder}\"; pid-file none; recursion no; listen-on {{ 10.1.0.2; }}; \
             listen-on-v6 {{ none; }}; minimal-responses yes; zero-no-soa-ttl no; session-keyfile none; \
             max-udp-size 4096; }}; controls {{ }}; \
             zone \"example\" {{ type primary; file \"{folder}/example.signed\"; check-names ignore; }};"
        ),
    );
    net.start("named", &["-f", "-g", "-c", &config]);
}

/// Ways to sign a zone: NSEC, NSEC3 without and with salt and iterations, and with opt-out.
pub const SIGNED: [(&str, &[&str]); 4] = [
    ("nsec", &[]),
    ("nsec3", &["-3", "-", "-H", "0"]),
    ("salted", &["-3", "a1b2c3", "-H", "7"]),
    ("opt-out", &["-3", "-", "-H", "1", "-A"]),
];

#[test]
fn responses_to_random_queries_are_those_of_bind() {
    if !has(&["named", "dig", "dnssec-signzone"]) {
        return;
    }
    for (name, options) in SIGNED {
        compare(
            &format!("authority-{name}"),
            ZONE,
            options,
            |_, _| false,
            named,
        );
    }
}

#[test]
fn responses_to_random_queries_are_those_of_nsd() {
    if !has(&["nsd", "dig", "dnssec-signzone"]) {
        return;
    }
    // It does not load a zone with names below a DNAME record. For a name that a DNAME record creates it sends NSEC records that do not
    // cover it, for a question for a wildcard itself those of an expanded one, and none of a delegation's own.
    let is_other = |ours: &Normal, text: &str| {
        let is_made = ours.answer.iter().any(|record| record.contains(" dname "));
        let is_wildcard = text.starts_with("*.");
        text.contains("type 47") || (is_made || is_wildcard) && text.ends_with("DO true")
    };
    let zone = ZONE.replace("under.moved A 192.0.2.9\n", "");
    for (name, options) in SIGNED {
        compare(&format!("nsd-{name}"), &zone, options, is_other, |net| {
            super::resolving::nsd(net, "10.1.0.2", "example");
        });
    }
}
