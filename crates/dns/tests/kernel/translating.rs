//! DNS64: the forwarder and the resolver next to `named` with the same prefix, on a grid of answers.

use super::*;
use dns::dns64;
use dns::service::{forwarder, resolver};
use std::collections::BTreeSet;

/// Each name is a kind of answer: which records it has, and how it leads to them.
const ZONE: &str = "\
$TTL 300
@ SOA ns root 1 7200 900 1209600 60
@ NS ns
ns A 10.1.0.2
four A 192.0.2.33
four A 192.0.2.34
both A 192.0.2.35
both AAAA 2001:db8::35
six AAAA 2001:db8::36
none TXT none
mapped A 192.0.2.37
mapped AAAA ::ffff:192.0.2.37
mixed A 192.0.2.38
mixed AAAA ::ffff:192.0.2.38
mixed AAAA 2001:db8::38
short 7 A 192.0.2.39
long 900 A 192.0.2.40
tofour CNAME four
toboth CNAME both
tonone CNAME none
tonothing CNAME nothing
tomapped CNAME mapped
chain CNAME tofour
*.wild A 192.0.2.41
moved DNAME wild
a.b.empty A 192.0.2.42
private A 10.9.8.7
";
const ARPA: &str = "\
$TTL 300
@ SOA ns.example. root.example. 1 7200 900 1209600 60
@ NS ns.example.
33.2.0.192.in-addr PTR four.example.
35.2.0.192.in-addr PTR both.example.
";
const NAMES: [&str; 22] = [
    "four",
    "both",
    "six",
    "none",
    "mapped",
    "mixed",
    "short",
    "long",
    "tofour",
    "toboth",
    "tonone",
    "tonothing",
    "tomapped",
    "chain",
    "x.wild",
    "y.moved",
    "b.empty",
    "a.b.empty",
    "private",
    "nothing",
    "ns",
    "moved",
];

/// Code and answer section of a response.
fn answer(net: &Net, server: &str, arguments: &[&str]) -> (String, BTreeSet<String>) {
    let at = format!("@{server}");
    let said = net.run(
        "dig",
        &[
            &[
                &at[..],
                "+tries=1",
                "+time=12",
                "+noall",
                "+answer",
                "+comments",
            ],
            arguments,
        ]
        .concat(),
    );
    let status = said
        .split("status: ")
        .nth(1)
        .and_then(|rest| rest.split(',').next());
    let records = said
        .lines()
        .filter(|line| !line.starts_with(';') && line.contains("\tIN\t"));
    let records = records.map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // The TTL without its age.
        let ttl: u32 = fields[1].parse().unwrap_or_default();
        let full = [0, 7, 60, 300, 600, 900]
            .into_iter()
            .find(|full| *full >= ttl);
        format!("{} {full:?} {}", fields[0], fields[2..].join(" "))
    });
    (status.unwrap_or(&said).to_owned(), records.collect())
}

fn named(net: &mut Net, prefix: &str) {
    net.write("example", ZONE);
    net.write("arpa", ARPA);
    net.write(
        "root",
        "$TTL 300\n@ SOA ns.example. root.example. 1 7200 900 1209600 60\n@ NS ns.example.\n\
         example NS ns.example.\narpa NS ns.example.\nns.example A 10.1.0.2\n",
    );
    let folder = net.folder.to_str().unwrap().to_owned();
    let zones = "zone \".\" { type primary; file \"root\"; }; zone \"example\" { type primary; file \"example\"; }; \
                 zone \"arpa\" { type primary; file \"arpa\"; };";
    // The server with the zones, and one with DNS64 that asks it.
    for (address, more, zones) in [
        ("10.1.0.2", "", zones),
        (
            "10.1.0.3",
            &*format!(
                "forward only; forwarders {{ 10.1.0.2; }}; dns64 {prefix} {{ break-dnssec no; }};"
            ),
            "",
        ),
    ] {
        let text = format!(
            "options {{ directory \"{folder}\"; pid-file none; recursion yes; listen-on {{ {address}; }}; \
             listen-on-v6 {{ none; }}; allow-query {{ any; }}; allow-recursion {{ any; }}; dnssec-validation no; \
             minimal-responses yes; empty-zones-enable no; session-keyfile none; {more} }}; controls {{ }}; {zones}"
        );
        let config = net.write(&format!("{address}.conf"), &text);
        net.start("named", &["-f", "-g", "-c", &config]);
        net.await_server(address, "example");
    }
}

#[test]
fn answers_of_dns64_are_those_of_bind() {
    if !has(&["named", "dig"]) {
        return;
    }
    for (prefix, is_resolver) in [
        ("2001:db8:64::/96", false),
        ("2001:db8:64::/96", true),
        ("2001:db8:6400::/40", false),
        ("2001:db8:64:64::/64", true),
    ] {
        let dns64 = Some(dns64::Config {
            prefix: prefix.parse().unwrap(),
            ..dns64::Config::default()
        });
        let result = with_router(
            &format!("dns64-{is_resolver}"),
            |_| {
                vec![match is_resolver {
                    false => {
                        let config = super::forwarding::config(&["10.1.0.2"]);
                        let config = forwarder::Config { dns64, ..config };
                        forwarder::make(&config, 4).unwrap()
                    }
                    true => {
                        let config = resolver::Config {
                            roots: vec!["10.1.0.2".parse().unwrap()],
                            dns64,
                            ..resolver::Config::default()
                        };
                        resolver::make(&config, 4).unwrap()
                    }
                }]
            },
            |net| {
                named(net, prefix);
                let mut count = 0;
                let mut compare = |arguments: &[&str]| {
                    let ours = answer(net, "10.0.0.1", arguments);
                    let theirs = answer(net, "10.1.0.3", arguments);
                    assert_eq!(ours, theirs, "{prefix} {arguments:?}\n{}", net.logs());
                    count += 1;
                };
                for name in NAMES {
                    let name = format!("{name}.example");
                    for more in [&["AAAA"][..], &["A"], &["MX"], &["AAAA", "+dnssec"]] {
                        compare(&[&[&name[..]], more].concat());
                    }
                }
                for address in ["192.0.2.33", "192.0.2.35", "192.0.2.36"] {
                    let prefix: ip::embedding::Prefix = prefix.parse().unwrap();
                    let embedded = prefix.embed(address.parse().unwrap()).unwrap();
                    compare(&["-x", &embedded.to_string()]);
                    compare(&["-x", address]);
                }
                // RFC 6147 section 5.5 has nothing made for a client that validates; BIND looks for signatures alone.
                let validating = ["four.example", "AAAA", "+dnssec", "+cdflag"];
                assert!(answer(net, "10.0.0.1", &validating).1.is_empty());
                count
            },
        );
        let Some((count, outcome)) = result else {
            return;
        };
        println!("{prefix}: {count} answers");
        let made = outcome
            .counters
            .iter()
            .find(|(name, _)| name.ends_with("_dns64"));
        assert!(made.is_some_and(|(_, count)| *count > 20));
    }
}
