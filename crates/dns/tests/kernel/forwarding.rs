//! The forwarder before `named`, asked by `delv`, `kdig`, `dig` and `dnsperf`.

use super::authority::sign;
use super::*;
use dns::service::forwarder;

const EXAMPLE: &str = "\
$TTL 300
@ SOA ns root 1 7200 900 1209600 60
@ NS ns
ns A 10.1.0.2
www A 192.0.2.80
www AAAA 2001:db8::80
alias CNAME www
long TXT \"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
long TXT \"1123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
long TXT \"2123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
long TXT \"3123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
long TXT \"4123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\"
odd TYPE65280 \\# 4 01020304
*.w A 192.0.2.81
";
const ROOT: &str = "\
$TTL 300
@ SOA ns.example. root.example. 1 7200 900 1209600 60
@ NS ns.example.
example NS ns.example.
ns.example A 10.1.0.2
; Nothing has this address.
slow NS ns.slow
ns.slow A 10.1.0.98
";

/// Records of `large.example`; `named` takes at most 100.
pub const LARGE: usize = 90;

/// Starts `named` with signed zones `.` and `example`; gives the file with the root's key for `delv`.
pub fn start_named(net: &mut Net) -> String {
    let large = (0..LARGE).map(|number| format!("large TXT \"{number:03}{:0>200}\"\n", ""));
    let example: String = [EXAMPLE.to_owned()].into_iter().chain(large).collect();
    sign(net, "example", &example);
    let keys = fs::read_to_string(net.folder.join("dsset-example.")).unwrap();
    sign(net, "root", &[ROOT, &keys].concat());
    let folder = net.folder.to_str().unwrap();
    let config = net.write(
        "named.conf",
        &format!(
            "options {{ directory \"{folder}\"; pid-file none; recursion yes; listen-on {{ 10.1.0.2; }}; \
             allow-query {{ any; }}; allow-recursion {{ any; }}; listen-on-v6 {{ none; }}; \
             dnssec-validation no; session-keyfile none; }}; controls {{ }}; \
             zone \".\" {{ type primary; file \"{folder}/root.signed\"; }}; \
             zone \"example\" {{ type primary; file \"{folder}/example.signed\"; }};"
        ),
    );
    net.start("named", &["-f", "-g", "-c", &config]);
    net.await_server("10.1.0.2", "example");
    let signed = fs::read_to_string(net.folder.join("root.signed")).unwrap();
    anchor(net, &signed)
}

pub fn config(servers: &[&str]) -> forwarder::Config {
    forwarder::Config {
        servers: servers
            .iter()
            .map(|server| server.parse().unwrap())
            .collect(),
        ..forwarder::Config::default()
    }
}

#[test]
fn delv_validates_through_the_forwarder() {
    if !has(&["named", "dig", "delv", "kdig", "dnssec-signzone"]) {
        return;
    }
    // The first server does not exist.
    let service = || vec![forwarder::make(&config(&["10.1.0.99", "10.1.0.2"]), 4).unwrap()];
    let result = with_router(
        "forwarding",
        |_| service(),
        |net| {
            let anchor = start_named(net);
            let delv = |name: &str, rtype: &str| {
                let arguments = ["@10.0.0.1", "-a", &anchor, "+root=.", name, rtype];
                net.run("delv", &arguments)
            };
            for (name, rtype) in [
                ("www.example", "A"),
                ("alias.example", "AAAA"),
                ("x.w.example", "A"),
                ("odd.example", "TYPE65280"),
                ("long.example", "TXT"),
            ] {
                let said = delv(name, rtype);
                assert!(
                    said.contains("; fully validated"),
                    "{name} {rtype}: {said}\n{}",
                    net.logs()
                );
            }
            let said = delv("nothing.example", "A");
            assert!(
                said.contains("; negative response, fully validated"),
                "{said}"
            );
            let said = delv("www.example", "MX");
            assert!(
                said.contains("; negative response, fully validated"),
                "{said}"
            );
            // Once more from the cache, with the question's case; without EDNS the response is cut off.
            let said = net.run("kdig", &["@10.0.0.1", "+dnssec", "www.example", "A"]);
            assert!(
                said.contains("RRSIG") && said.contains("Flags: qr rd ra;"),
                "{said}"
            );
            let said = net.run("dig", &["@10.0.0.1", "WWW.eXample", "A"]);
            assert!(said.contains(";WWW.eXample."), "{said}");
            let said = net.run(
                "dig",
                &["@10.0.0.1", "+noedns", "+ignore", "long.example", "TXT"],
            );
            assert!(
                said.contains("flags: qr tc rd ra") && said.contains("ANSWER: 0"),
                "{said}"
            );
            let said = net.run("dig", &["@10.0.0.1", "+norecurse", "www.example", "A"]);
            assert!(said.contains("status: REFUSED"), "{said}");
            let said = net.run(
                "dig",
                &["@10.0.0.1", "+edns=1", "+noednsneg", "www.example", "A"],
            );
            assert!(said.contains("status: BADVERS"), "{said}");
        },
    );
    let Some(((), outcome)) = result else { return };
    let counter = |name: &str| {
        let name = format!("dns_forwarder_{name}");
        outcome
            .counters
            .iter()
            .find(|(counter, _)| *counter == name)
            .expect("a counter")
            .1
    };
    assert!(counter("cache_hits") > 0 && counter("timeouts") > 0);
    assert_eq!(counter("wrong_question"), 0);
}

/// Queries a second of dnsperf through a server.
fn rate(net: &Net, server: &str, file: &str) -> f64 {
    let said = net.run(
        "dnsperf",
        &["-s", server, "-d", file, "-l", "2", "-c", "4", "-q", "50"],
    );
    let line = said
        .lines()
        .find(|line| line.contains("Queries per second"))
        .unwrap_or_else(|| panic!("{said}"));
    let lost = said
        .lines()
        .find(|line| line.contains("Queries lost"))
        .unwrap_or_default();
    println!("{server}: {} {}", line.trim(), lost.trim());
    line.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn dnsperf_loads_the_forwarder_and_dnsmasq_alike() {
    if !has(&["named", "dig", "dnsperf", "dnsmasq", "dnssec-signzone"]) {
        return;
    }
    let mut config = config(&["10.1.0.2"]);
    config.max_per_client = 1_024;
    let result = with_router(
        "load",
        |_| vec![forwarder::make(&config, 4).unwrap()],
        |net| {
            start_named(net);
            let mask = [
                "-k",
                "--no-resolv",
                "--no-hosts",
                "--server=10.1.0.2",
                "--listen-address=10.1.0.3",
                "--bind-interfaces",
                "--cache-size=10000",
                "--conf-file=/dev/null",
                "--user=root",
                "--pid-file=",
            ];
            net.start("dnsmasq", &mask);
            net.await_server("10.1.0.3", "example");
            let names: String = (0..2_000)
                .map(|name| format!("n{name}.w.example A\n"))
                .collect();
            let file = net.write("queries", &names);
            // In turn, so that a change of the machine's load meets both.
            let rates: Vec<[f64; 2]> = (0..2)
                .map(|_| ["10.0.0.1", "10.1.0.3"].map(|server| rate(net, server, &file)))
                .collect();
            rates
                .iter()
                .map(|[ours, theirs]| ours / theirs)
                .fold(0.0, f64::max)
        },
    );
    let Some((ratio, outcome)) = result else {
        return;
    };
    println!("ratio to dnsmasq {ratio:.2}");
    println!("{:?}", outcome.counters);
    // Both are beyond the same router of ours, which dnsmasq's packets cross twice; a tenth would be a fault of the forwarder.
    assert!(ratio > 0.1, "{ratio}");
}
