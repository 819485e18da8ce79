//! Configurations as the programs of a lab file have them.

use dhcp::service::{
    router_advertisements, v4_client, v4_relay, v4_server, v6_client, v6_relay, v6_server,
};

/// The programs of the book's lab, by `run`, without it.
fn programs() -> Vec<(String, toml::Table)> {
    let chapter = include_str!("../../../docs/book/src/dhcp.md");
    let (_, lab) = chapter.split_once("```toml\n").expect("a lab");
    let (lab, _) = lab.split_once("```").expect("its end");
    let lab: toml::Table = lab.parse().expect("TOML");
    let nodes = lab["node"].as_table().expect("nodes").values();
    let programs = nodes.flat_map(|node| node["program"].as_array().expect("programs"));
    let tables = programs.map(|program| {
        let mut table = program.as_table().expect("a table").clone();
        let run = table.remove("run").expect("run");
        (run.as_str().expect("a text").to_string(), table)
    });
    tables.collect()
}

#[test]
fn the_programs_of_the_books_lab_are_good() {
    let programs = programs();
    assert_eq!(programs.len(), 8);
    for (run, table) in programs {
        let good = match run.as_str() {
            "dhcp-server" => v4_server::make(&table.try_into().expect("keys")),
            "dhcp-client" => v4_client::make(&table.try_into().expect("keys"), 1),
            "dhcpv6-server" => v6_server::make(&table.try_into().expect("keys")),
            "dhcpv6-client" => v6_client::make(&table.try_into().expect("keys"), 1),
            "router-advertisements" => {
                router_advertisements::make(&table.try_into().expect("keys"), 1)
            }
            other => panic!("{other}"),
        };
        good.unwrap_or_else(|fault| panic!("{run}: {fault}"));
    }
}

#[test]
fn all_keys_are_read_and_faults_name_their_key() {
    let server: v4_server::Config = toml::from_str(
        r#"ports = [1, 2]
        offer = "5 s"
        max_per_circuit = 4
        authoritative = true
        [[subnets]]
        network = "10.0.0.0/24"
        pool = ["10.0.0.10-10.0.0.20", "10.0.0.30"]
        lease = "30 s"
        hosts = [{ mac = "02:00:00:00:00:01", address = "10.0.0.5" }]
        options = { router = "10.0.0.1", ntp = ["10.0.0.2"], search = "lab.example", routes = "10.9.0.0/16 via 10.0.0.2", options = "150 ip 10.0.0.3", ipv6_only = "30 min", mtu = 1400 }"#,
    )
    .expect("keys");
    v4_server::make(&server).expect("a good configuration");
    let relay: v4_relay::Config =
        toml::from_str("servers = \"10.0.0.1\"\nremote = \"here\"\nmax_hops = 16").expect("keys");
    v4_relay::make(&relay).expect("a good configuration");
    let relay: v6_relay::Config = toml::from_str("servers = [\"2001:db8::1\"]").expect("keys");
    v6_relay::make(&relay).expect("a good configuration");
    let advertises: router_advertisements::Config = toml::from_str(
        r#"interval = "30 s"
        preference = "high"
        unique = "2001:db8:8000::/48"
        translator = "64:ff9b::/96"
        prefixes = [{ prefix = "2001:db8::/64", delegated = true, autonomous = false }]
        routes = [{ to = "2001:db8:7::/48", preference = "low", lifetime = "1 min" }]"#,
    )
    .expect("keys");
    router_advertisements::make(&advertises, 1).expect("a good configuration");

    let key = |text: &str| {
        let config: router_advertisements::Config = toml::from_str(text).expect("keys");
        router_advertisements::make(&config, 1).expect_err(text).key
    };
    assert_eq!(key("interval = \"3 s\""), "interval");
    assert_eq!(
        key("interval = \"60 s\"\nmin_interval = \"50 s\""),
        "min_interval"
    );
    assert_eq!(key("lifetime = \"10 s\""), "lifetime");
    assert_eq!(key("translator = \"64:ff9b::/97\""), "translator");
    assert_eq!(key("unique = \"2001:db8::/65\""), "unique");
    assert_eq!(key("ports = [1, 1]"), "ports");
    let long = format!("dns = [{}]", "\"2001:db8::1\",".repeat(80));
    assert_eq!(key(&long), "prefixes");
    let key = |text: &str| {
        let config: v6_client::Config = toml::from_str(text).expect("keys");
        v6_client::make(&config, 1).expect_err(text).key
    };
    assert_eq!(key("prefix = 65"), "prefix");
    assert_eq!(key("prefix_ports = [1]"), "prefix_ports");
    for wrong in [
        "delegate_ports = [1]",
        "prefix = 56\ndelegate_ports = [0]",
        "prefix = 56\nprefix_ports = [1]\ndelegate_ports = [2]",
        "prefix = 56\ndelegate_ports = [1, 1]",
    ] {
        assert_eq!(key(wrong), "delegate_ports", "{wrong}");
    }
    assert_eq!(key("duid = \"00\""), "duid");
    let key = |text: &str| {
        let config: v4_client::Config = toml::from_str(text).expect("keys");
        v4_client::make(&config, 1).expect_err(text).key
    };
    assert_eq!(key("id = \"x\""), "id");
    assert_eq!(key("probe = \"2 min\""), "probe");
    assert!(toml::from_str::<v4_client::Config>("prot = 1").is_err());
}
