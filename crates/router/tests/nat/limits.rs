//! Limits and their exhaustion, SYNs that are held, and static mappings.

use super::packets::*;
use core::net::Ipv4Addr;
use node::Time;
use router::nat::config::*;
use router::nat::{Config, Nat, Verdict};

const EXTERNAL: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SERVER: End = (Ipv4Addr::new(198, 51, 100, 7), 53);

fn host(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, number)
}

fn nat(config: Config) -> Nat {
    let external = vec![EXTERNAL.into()];
    Nat::new(Config { external, ..config }, 1).unwrap()
}

fn out(nat: &mut Nat, now: Time, packet: &Packet) -> (Verdict, End) {
    let mut frame = packet.frame();
    let verdict = nat.outbound(now, &mut frame);
    (verdict, ends(&frame).0)
}

#[test]
fn one_host_that_takes_all_it_can_get_leaves_the_others_theirs() {
    let blocks = Config {
        port_blocks: Some(PortBlocks {
            size: 64,
            per_host: 4,
        }),
        ..Config::default()
    };
    let limit = Config {
        sessions_per_host: 256,
        ..Config::default()
    };
    for (config, reason) in [
        (blocks, "no free external port"),
        (limit, "too many NAT sessions of one host"),
    ] {
        let mut nat = nat(config);
        for port in 1..=65_535 {
            let (verdict, external) =
                out(&mut nat, Time::ZERO, &Packet::udp((host(2), port), SERVER));
            match port <= 256 {
                true => assert_eq!((verdict, external.0), (Verdict::Translated, EXTERNAL)),
                false => assert_eq!(verdict, Verdict::Prohibit(reason)),
            }
        }
        assert_eq!(nat.sizes(), [256, 256, 1]);
        for number in 3..200 {
            for port in [5_000, 6_000] {
                let packet = Packet::udp((host(number), port), SERVER);
                assert_eq!(out(&mut nat, Time::ZERO, &packet).0, Verdict::Translated);
            }
        }
        // All comes back when the sessions have ended.
        nat.expire(Time::from_secs(301));
        assert_eq!((nat.sizes(), nat.next_wake()), ([0; 3], None));
        let counters = nat.counters();
        assert_eq!(counters.sessions_made, counters.sessions_ended);
        assert_eq!(counters.mappings_made, counters.mappings_ended);
        assert_eq!(counters.blocks_assigned, counters.blocks_released);
        assert!(nat.blocks().is_empty() && nat.rows(Time::ZERO).is_empty());
    }
}

#[test]
fn the_outside_makes_no_state() {
    for filtering in [Behaviour::EndpointIndependent, Behaviour::AddressDependent] {
        let mut nat = nat(Config {
            filtering,
            refresh: Refresh::Both,
            ..Config::default()
        });
        let syn = Packet::tcp((host(2), 5_000), SERVER, SYN);
        let (_, external) = out(&mut nat, Time::ZERO, &syn);
        for number in 0..70_000_u32 {
            let source = (Ipv4Addr::from(0x0B00_0000 + number), number as u16);
            let to = (
                EXTERNAL,
                if number % 2 == 0 {
                    external.1
                } else {
                    number as u16
                },
            );
            let flags = [SYN, ACK, SYN | ACK, RST][number as usize / 2 % 4];
            nat.inbound(Time::ZERO, &mut Packet::tcp(source, to, flags).frame());
            nat.inbound(Time::ZERO, &mut Packet::udp(source, to).frame());
        }
        assert_eq!(nat.sizes(), [1, 1, 1]);
        let counters = nat.counters();
        assert_eq!(counters.syns_held, 256);
        // The session is no longer kept than its own packets keep it.
        nat.expire(Time::from_secs(241));
        assert_eq!(nat.sizes(), [0; 3]);
        let mut answered = 0;
        while nat.poll_unanswered(Time::from_secs(241)).is_some() {
            answered += 1;
        }
        assert_eq!((answered, nat.next_wake()), (256, None));
    }
}

#[test]
fn an_unsolicited_syn_waits_six_seconds_for_the_hosts_own() {
    let nat = || {
        nat(Config {
            ports: Ports::Preserve,
            filtering: Behaviour::AddressAndPortDependent,
            ..Config::default()
        })
    };
    let inbound = Packet::tcp(SERVER, (EXTERNAL, 5_000), SYN);
    let syn = |nat: &mut Nat, ms| {
        let verdict = nat.inbound(Time::from_ms(ms), &mut inbound.frame());
        assert!(matches!(verdict, Verdict::Drop(_)));
    };
    let mut alone = nat();
    syn(&mut alone, 1_000);
    syn(&mut alone, 3_000);
    assert_eq!(alone.next_wake(), Some(Time::from_secs(7)));
    assert!(alone.poll_unanswered(Time::from_ms(6_999)).is_none());
    let frame = alone.poll_unanswered(Time::from_secs(7));
    assert_eq!(frame.expect("one, whole")[..], inbound.frame()[..]);
    assert!(alone.poll_unanswered(Time::from_secs(70)).is_none());
    // Simultaneous open: the held SYN is dropped, and its retransmission gets through.
    let mut both = nat();
    syn(&mut both, 1_000);
    let own = Packet::tcp((host(2), 5_000), SERVER, SYN);
    assert_eq!(
        out(&mut both, Time::from_secs(2), &own).0,
        Verdict::Translated
    );
    let again = both.inbound(Time::from_secs(3), &mut inbound.frame());
    assert_eq!(again, Verdict::Translated);
    assert_eq!(both.rows(Time::from_secs(3))[0].state, "established");
    assert!(both.poll_unanswered(Time::from_secs(60)).is_none());
}

#[test]
fn a_static_mapping_serves_all_without_sessions() {
    let mut nat = nat(Config {
        mapping: Behaviour::AddressAndPortDependent,
        filtering: Behaviour::AddressAndPortDependent,
        forward: vec![Forward {
            protocol: Transport::Tcp,
            external: "192.0.2.1:80".parse().unwrap(),
            inside: "10.0.0.2:8080".parse().unwrap(),
        }],
        ..Config::default()
    });
    let mut request = Packet::tcp(SERVER, (EXTERNAL, 80), SYN).frame();
    assert_eq!(nat.inbound(Time::ZERO, &mut request), Verdict::Translated);
    assert_eq!(ends(&request), (SERVER, (host(2), 8_080)));
    let reply = Packet::tcp((host(2), 8_080), SERVER, SYN | ACK);
    assert_eq!(
        out(&mut nat, Time::ZERO, &reply),
        (Verdict::Translated, (EXTERNAL, 80))
    );
    assert_eq!(nat.sizes(), [0; 3]);
    let tables = nat.tables(Time::ZERO);
    assert_eq!(
        tables[0].entries,
        ["tcp 10.0.0.2:8080 192.0.2.1:80 any static"]
    );
}

#[test]
fn tables_name_both_ends_and_the_time_left() {
    let mut nat = nat(Config {
        ports: Ports::Preserve,
        port_blocks: Some(PortBlocks {
            size: 1_000,
            per_host: 1,
        }),
        ..Config::default()
    });
    out(&mut nat, Time::ZERO, &Packet::udp((host(2), 1_500), SERVER));
    let ping = Packet::new((host(3), 7), (SERVER.0, 0), Body::Query(8));
    let mut frame = ping.frame();
    assert_eq!(
        nat.outbound(Time::from_secs(1), &mut frame),
        Verdict::Translated
    );
    let tables = nat.tables(Time::from_secs(2));
    assert_eq!(tables[0].name, "nat");
    assert!(tables[0].entries[0].starts_with("icmp 10.0.0.3:7 192.0.2.1:2"));
    assert!(tables[0].entries[0].ends_with(" 198.51.100.7:0 unreplied 59 s"));
    let udp = "udp 10.0.0.2:1500 192.0.2.1:1500 198.51.100.7:53 unreplied 298 s";
    assert_eq!(tables[0].entries[1], udp);
    let blocks = [
        "10.0.0.2 192.0.2.1 1024-2023",
        "10.0.0.3 192.0.2.1 2024-3023",
    ];
    assert_eq!(
        (&tables[1].name[..], &tables[1].entries[..]),
        ("nat blocks", &blocks.map(String::from)[..])
    );
}

#[test]
fn contradictions_are_refused_by_the_key_to_change() {
    let forward = |external: &str, inside: &str| Forward {
        protocol: Transport::Udp,
        external: external.parse().unwrap(),
        inside: inside.parse().unwrap(),
    };
    let blocks = |size, per_host| Some(PortBlocks { size, per_host });
    let good = || Config {
        external: vec![EXTERNAL.into()],
        ..Config::default()
    };
    let twice = vec![
        forward("192.0.2.1:1", "10.0.0.2:1"),
        forward("192.0.2.1:2", "10.0.0.2:1"),
    ];
    let range: AddressRange = "10.0.0.0-10.0.4.0".parse().unwrap();
    let cases = [
        ("external", Config::default()),
        (
            "external",
            Config {
                external: vec![range],
                ..good()
            },
        ),
        (
            "udp",
            Config {
                udp: Time::from_secs(119),
                ..good()
            },
        ),
        (
            "tcp_established",
            Config {
                tcp_established: Time::from_secs(7_439),
                ..good()
            },
        ),
        (
            "tcp_transitory",
            Config {
                tcp_transitory: Time::from_secs(239),
                ..good()
            },
        ),
        (
            "icmp",
            Config {
                icmp: Time::from_secs(59),
                ..good()
            },
        ),
        (
            "other",
            Config {
                other: Time::ZERO,
                ..good()
            },
        ),
        (
            "sessions",
            Config {
                sessions: 0,
                ..good()
            },
        ),
        (
            "sessions",
            Config {
                sessions: MAX_SESSIONS + 1,
                ..good()
            },
        ),
        (
            "sessions_per_host",
            Config {
                sessions_per_host: 0,
                ..good()
            },
        ),
        (
            "overload",
            Config {
                overload: true,
                ..good()
            },
        ),
        (
            "port_blocks",
            Config {
                port_blocks: blocks(0, 1),
                ..good()
            },
        ),
        (
            "port_blocks",
            Config {
                port_blocks: blocks(1, 0),
                ..good()
            },
        ),
        (
            "port_blocks",
            Config {
                port_blocks: blocks(65_000, 1),
                ..good()
            },
        ),
        (
            "port_blocks",
            Config {
                port_blocks: blocks(8, 1),
                pooling: Pooling::Arbitrary,
                ..good()
            },
        ),
        (
            "forward",
            Config {
                forward: vec![forward("192.0.2.2:1", "10.0.0.2:1")],
                ..good()
            },
        ),
        (
            "forward",
            Config {
                forward: vec![forward("192.0.2.1:0", "10.0.0.2:1")],
                ..good()
            },
        ),
        (
            "forward",
            Config {
                forward: twice,
                ..good()
            },
        ),
    ];
    for (key, config) in cases {
        let error = Nat::new(config, 1).expect_err(key);
        assert_eq!(error.key, key, "{error}");
    }
}
