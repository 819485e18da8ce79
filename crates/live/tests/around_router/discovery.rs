//! RFC 5780 through each kind of NAT: coturn's server and its discovery client find the kind that is configured.

use super::port_mapping::config;
use super::{have, kernels, run, wait_for};
use router::nat::{self, config::Behaviour};

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

/// Output of coturn's client for one kind of NAT.
fn discover(mapping: Behaviour, filtering: Behaviour) -> Option<String> {
    let (kernels, ports) = kernels(&[INSIDE, SERVER])?;
    let nat = nat::Config {
        mapping,
        filtering,
        ..nat::Config::default()
    };
    let router = run(config(nat), ports);
    let folder = std::env::temp_dir().join(format!("wireline-coturn-{mapping:?}-{filtering:?}"));
    std::fs::create_dir_all(&folder).unwrap();
    let server = kernels.start(
        1,
        &format!(
            "turnserver -n -L 198.51.100.7 -L 198.51.100.8 --no-tls --no-dtls --no-cli \
             --stun-only --log-file=stdout --simple-log --pidfile={0}/pid --userdb={0}/db",
            folder.display()
        ),
    );
    let listens = wait_for(10, || {
        kernels.output(1, "cat /proc/net/udp").contains("0D96")
    });
    assert!(listens, "turnserver does not listen");
    let text = kernels.output(0, "timeout 60 turnutils_natdiscovery -m -f 198.51.100.7");
    drop(server);
    let _ = std::fs::remove_dir_all(&folder);
    kernels.end();
    router.join().unwrap();
    Some(text)
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
