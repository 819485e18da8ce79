//! Discovery through each kind of NAT: coturn's server and client (RFC 5780) and stun-client (RFC 3489) find the kind that is configured.

use super::port_mapping::config;
use super::{have, kernels, run, wait_for};
use router::nat::{
    self,
    config::{Behaviour, Ports},
};

const INSIDE: &str = "ip addr add 10.0.0.2/24 dev k; ip route add default via 10.0.0.1";
const SERVER: &str = "ip addr add 198.51.100.7/24 dev k; ip addr add 198.51.100.8/24 dev k";

const KINDS: [(Behaviour, &str); 3] = [
    (Behaviour::EndpointIndependent, "Endpoint Independent"),
    (Behaviour::AddressDependent, "Address Dependent"),
    (
        Behaviour::AddressAndPortDependent,
        "Address and Port Dependent",
    ),
];

/// Output of a client behind a NAT, which asks a server with two addresses.
fn ask(nat: nat::Config, server: &str, client: &str) -> Option<String> {
    let (kernels, ports) = kernels(&[INSIDE, SERVER])?;
    let router = run(config(nat), ports);
    let server = kernels.start(1, server);
    let listens = wait_for(10, || {
        kernels.output(1, "cat /proc/net/udp").contains("0D96")
    });
    assert!(listens, "the server does not listen");
    // The exit code of a client is the kind that it has found.
    let (_, text) = kernels.try_output(0, &format!("timeout 60 {client}"));
    drop(server);
    kernels.end();
    router.join().unwrap();
    Some(text)
}

/// Output of coturn's client for one kind of NAT.
fn discover(mapping: Behaviour, filtering: Behaviour) -> Option<String> {
    let nat = nat::Config {
        mapping,
        filtering,
        ..nat::Config::default()
    };
    let folder = std::env::temp_dir().join(format!("wireline-coturn-{mapping:?}-{filtering:?}"));
    std::fs::create_dir_all(&folder).unwrap();
    let server = format!(
        "turnserver -n -L 198.51.100.7 -L 198.51.100.8 --no-tls --no-dtls --no-cli \
         --stun-only --log-file=stdout --simple-log --pidfile={0}/pid --userdb={0}/db",
        folder.display()
    );
    let text = ask(nat, &server, "turnutils_natdiscovery -m -f 198.51.100.7");
    let _ = std::fs::remove_dir_all(&folder);
    text
}

#[test]
fn coturn_finds_each_of_the_nine_kinds_of_nat() {
    if !have(&["turnserver", "turnutils_natdiscovery"]) {
        return;
    }
    let runs: Vec<_> = KINDS
        .iter()
        .flat_map(|mapping| KINDS.iter().map(move |filtering| (*mapping, *filtering)))
        .map(|(mapping, filtering)| {
            let discover = move || discover(mapping.0, filtering.0);
            (mapping.1, filtering.1, std::thread::spawn(discover))
        })
        .collect();
    for (mapping, filtering, run) in runs {
        let Some(text) = run.join().unwrap() else {
            return;
        };
        let expected = [
            format!("NAT with {mapping} Mapping!"),
            format!("NAT with {filtering} Filtering!"),
        ];
        for line in &expected {
            assert!(text.contains(line), "{mapping}, {filtering}: {text}");
        }
    }
}

#[test]
fn stun_client_finds_the_kinds_of_rfc_3489_and_whether_ports_are_preserved() {
    if !have(&["stund", "stun"]) {
        return;
    }
    use Behaviour::{AddressAndPortDependent, AddressDependent, EndpointIndependent};
    let kinds = [
        (
            EndpointIndependent,
            EndpointIndependent,
            "Independent Filter",
        ),
        (
            EndpointIndependent,
            AddressDependent,
            "Address Dependent Filter",
        ),
        (
            EndpointIndependent,
            AddressAndPortDependent,
            "Port Dependent Filter",
        ),
        (
            AddressAndPortDependent,
            AddressAndPortDependent,
            "Dependent Mapping",
        ),
    ];
    let runs: Vec<_> = kinds
        .into_iter()
        .flat_map(|kind| [Ports::Preserve, Ports::Random].map(|ports| (kind, ports)))
        .map(|((mapping, filtering, kind), ports)| {
            let nat = nat::Config {
                mapping,
                filtering,
                ports,
                ..nat::Config::default()
            };
            let server = "stund -h 198.51.100.7 -a 198.51.100.8";
            let ask = move || ask(nat, server, "stun 198.51.100.7");
            (kind, ports, std::thread::spawn(ask))
        })
        .collect();
    for (kind, ports, run) in runs {
        let Some(text) = run.join().unwrap() else {
            return;
        };
        let hairpins = kind != "Dependent Mapping";
        assert_eq!(text.contains("will hairpin"), hairpins, "{kind}: {text}");
        let is_preserved = text.contains("preserves ports");
        assert!(text.contains(kind), "{kind}: {text}");
        assert_eq!(is_preserved, ports == Ports::Preserve, "{kind}: {text}");
    }
}
