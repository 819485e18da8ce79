//! The resolver on a small Internet: the root by `named`, a top-level domain by `nsd`, zones by both.

use super::authority::sign;
use super::*;
use dns::service::resolver;

const ROOT: &str = "\
$TTL 300
@ SOA a.root. root.root. 1 7200 900 1209600 60
@ NS a.root.
a.root. A 10.1.0.2
test NS ns1.nic.test.
test NS ns2.nic.test.
ns1.nic.test A 10.1.0.3
; Nothing has this address.
ns2.nic.test A 10.1.0.99
";
const TEST: &str = "\
$TTL 300
@ SOA ns1.nic root.nic 1 7200 900 1209600 60
@ NS ns1.nic
@ NS ns2.nic
ns1.nic A 10.1.0.3
ns2.nic A 10.1.0.99
site NS ns.site
ns.site A 10.1.0.4
other NS ns.site
lame NS ns1.nic
loop1 NS ns.loop2
loop2 NS ns.loop1
";
const SITE: &str = "\
$TTL 300
@ SOA ns root 1 7200 900 1209600 60
@ NS ns
ns A 10.1.0.4
www CNAME web.other.test.
direct A 192.0.2.1
a.b.c.d.e.f.g.h.i.j.k.l.m A 192.0.2.2
away CNAME nothing.other.test.
";
const OTHER: &str = "\
$TTL 300
@ SOA ns.site.test. root 1 7200 900 1209600 60
@ NS ns.site.test.
web A 192.0.2.80
web AAAA 2001:db8::80
odd TYPE65280 \\# 4 01020304
";

fn named(net: &mut Net, address: &str, zones: &[&str]) {
    let folder = net.folder.to_str().unwrap();
    let zones: String = zones
        .iter()
        .map(|zone| {
            let file = if *zone == "." { "root" } else { zone };
            format!("zone \"{zone}\" {{ type primary; file \"{folder}/{file}.signed\"; }};\n")
        })
        .collect();
    let text = format!(
        "options {{ directory \"{folder}\"; pid-file none; recursion no; listen-on {{ {address}; }}; \
         listen-on-v6 {{ none; }}; session-keyfile none; }}; controls {{ }}; {zones}"
    );
    let config = net.write(&format!("named-{address}.conf"), &text);
    net.start("named", &["-f", "-g", "-c", &config]);
}

pub fn nsd(net: &mut Net, address: &str, zone: &str) {
    let folder = net.folder.to_str().unwrap();
    let text = format!(
        "server:\n username: \"\"\n minimal-responses: yes\n rrl-ratelimit: 0\n ipv4-edns-size: 4096\n ip-address: {address}\n zonesdir: \"{folder}\"\n pidfile: \"\"\n xfrdfile: \"\"\n \
         zonelistfile: \"{folder}/nsd.list\"\n database: \"\"\nremote-control:\n control-enable: no\n\
         zone:\n name: {zone}\n zonefile: {zone}.signed\n"
    );
    let config = net.write("nsd.conf", &text);
    net.start("nsd", &["-d", "-c", &config]);
}

/// The keys of signed children for their parent.
fn with_keys(net: &Net, text: &str, children: &[&str]) -> String {
    let keys = children.iter().map(|child| {
        let file = net.folder.join(format!("dsset-{child}."));
        fs::read_to_string(file).unwrap()
    });
    [text.to_owned()].into_iter().chain(keys).collect()
}

#[test]
fn a_resolver_finds_names_on_a_small_internet() {
    if !has(&["named", "nsd", "dig", "delv", "dnssec-signzone"]) {
        return;
    }
    for minimise in [true, false] {
        let config = resolver::Config {
            roots: vec!["10.1.0.2".parse().unwrap()],
            minimise,
            timeout: Time::from_ms(300),
            ..resolver::Config::default()
        };
        let name = format!("resolving-{minimise}");
        let result = with_router(
            &name,
            |_| vec![resolver::make(&config, 3).unwrap()],
            resolve,
        );
        let Some(((), outcome)) = result else { return };
        let counter = |name: &str| {
            let name = format!("dns_resolver_{name}");
            outcome
                .counters
                .iter()
                .find(|(counter, _)| *counter == name)
                .expect("a counter")
                .1
        };
        println!(
            "minimise {minimise}: {} queries to servers for {} of clients",
            counter("sent_queries"),
            counter("queries")
        );
        assert_eq!(counter("wrong_question"), 0);
        assert!(counter("sent_queries") < 30 * counter("queries"));
    }
}

fn resolve(net: &mut Net) {
    let long = (0..30).map(|number| format!("long TXT \"{number:03}{:0>200}\"\n", ""));
    let other: String = [OTHER.to_owned()].into_iter().chain(long).collect();
    for (name, text) in [("site.test", SITE), ("other.test", &other)] {
        sign(net, name, text);
    }
    let test = with_keys(net, TEST, &["site.test", "other.test"]);
    sign(net, "test", &test);
    let root = with_keys(net, ROOT, &["test"]);
    let root = sign(net, "root", &root);
    named(net, "10.1.0.2", &["."]);
    nsd(net, "10.1.0.3", "test");
    named(net, "10.1.0.4", &["site.test", "other.test"]);
    for (server, zone) in [
        ("10.1.0.2", "."),
        ("10.1.0.3", "test"),
        ("10.1.0.4", "site.test"),
    ] {
        net.await_server(server, zone);
    }
    let ask = |name: &str, rtype: &str| {
        net.run("dig", &["@10.0.0.1", "+tries=1", "+time=15", name, rtype])
    };
    let said = ask("www.site.test", "A");
    assert!(
        said.contains("status: NOERROR")
            && said.contains("192.0.2.80")
            && said.contains("web.other.test."),
        "{said}\n{}",
        net.logs()
    );
    let said = ask("a.b.c.d.e.f.g.h.i.j.k.l.m.site.test", "A");
    assert!(said.contains("192.0.2.2"), "{said}");
    // The server truncates; the query is repeated over TCP.
    let said = ask("long.other.test", "TXT");
    assert!(said.contains("ANSWER: 30,"), "{said}");
    let said = ask("odd.other.test", "TYPE65280");
    assert!(said.contains("01020304"), "{said}");
    for name in [
        "nothing.site.test",
        "away.site.test",
        "nothing",
        "x.y.nothing",
    ] {
        let said = ask(name, "A");
        assert!(
            said.contains("status: NXDOMAIN") && said.contains("SOA"),
            "{said}"
        );
    }
    let said = ask("direct.site.test", "MX");
    assert!(
        said.contains("status: NOERROR") && said.contains("SOA"),
        "{said}"
    );
    // Servers that are not servers of the zone, and servers that wait for each other's addresses.
    for name in ["www.lame.test", "www.loop1.test"] {
        let said = ask(name, "A");
        assert!(said.contains("status: SERVFAIL"), "{said}");
    }
    let anchor = anchor(net, &root);
    for (name, rtype) in [
        ("www.site.test", "A"),
        ("direct.site.test", "A"),
        ("web.other.test", "AAAA"),
        ("long.other.test", "TXT"),
    ] {
        let said = net.run(
            "delv",
            &["@10.0.0.1", "-a", &anchor, "+root=.", name, rtype],
        );
        assert!(said.contains("; fully validated"), "{said}");
    }
    let said = net.run(
        "delv",
        &[
            "@10.0.0.1",
            "-a",
            &anchor,
            "+root=.",
            "nothing.site.test",
            "A",
        ],
    );
    assert!(
        said.contains("; negative response, fully validated"),
        "{said}"
    );
}
