//! Keys of a configuration file.

use node::Time;
use router::nat::Config;
use router::nat::config::*;

fn read(text: &str) -> Result<Config, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

#[test]
fn every_key_is_read_and_an_unknown_one_refused() {
    let text = r#"
        external = ["192.0.2.1", "192.0.2.8-192.0.2.15"]
        mapping = "address-dependent"
        filtering = "address-and-port-dependent"
        ports = "sequential"
        overload = true
        reuse = true
        port_range = "2000-3000"
        low_ports = "any"
        parity = false
        contiguity = true
        pooling = "arbitrary"
        hairpin = false
        refresh = "both"
        unsolicited = "drop"
        unsolicited_occupies = true
        pickup = true
        udp = "2 min"
        udp_well_known = "10 s"
        udp_unreplied = "30 s"
        tcp_established = "3 h"
        tcp_transitory = "5 min"
        icmp = "61 s"
        other = "7 s"
        short_timeouts = true
        port_blocks = { size = 64, per_host = 2 }
        sessions = 10
        sessions_per_host = 5
        forward = [{ protocol = "tcp", external = "192.0.2.1:80", inside = "10.0.0.2:8080" }]
    "#;
    let config = read(text).unwrap();
    let expected = Config {
        external: vec![
            "192.0.2.1".parse().unwrap(),
            "192.0.2.8-192.0.2.15".parse().unwrap(),
        ],
        mapping: Behaviour::AddressDependent,
        filtering: Behaviour::AddressAndPortDependent,
        ports: Ports::Sequential,
        overload: true,
        reuse: true,
        port_range: PortRange::new(2_000, 3_000).unwrap(),
        low_ports: LowPorts::Any,
        parity: false,
        contiguity: true,
        pooling: Pooling::Arbitrary,
        hairpin: false,
        refresh: Refresh::Both,
        unsolicited: Unsolicited::Drop,
        unsolicited_occupies: true,
        pickup: true,
        udp: Time::from_secs(120),
        udp_well_known: Time::from_secs(10),
        udp_unreplied: Some(Time::from_secs(30)),
        tcp_established: Time::from_secs(10_800),
        tcp_transitory: Time::from_secs(300),
        icmp: Time::from_secs(61),
        other: Time::from_secs(7),
        short_timeouts: true,
        port_blocks: Some(PortBlocks {
            size: 64,
            per_host: 2,
        }),
        sessions: 10,
        sessions_per_host: 5,
        forward: vec![Forward {
            protocol: Transport::Tcp,
            external: "192.0.2.1:80".parse().unwrap(),
            inside: "10.0.0.2:8080".parse().unwrap(),
        }],
    };
    assert_eq!(config, expected);
    assert_eq!(read("").unwrap(), Config::default());
    let refused = read("maping = \"address-dependent\"").unwrap_err();
    assert!(refused.contains("unknown field `maping`"), "{refused}");
}

#[test]
fn the_kind_gives_the_values_of_the_other_keys() {
    assert_eq!(read("kind = \"linux\"").unwrap(), Config::linux());
    assert_eq!(read("kind = \"rfc\"").unwrap(), Config::default());
    let config = read("kind = \"linux\"\nudp = \"9 s\"").unwrap();
    let expected = Config {
        udp: Time::from_secs(9),
        ..Config::linux()
    };
    assert_eq!(config, expected);
}
