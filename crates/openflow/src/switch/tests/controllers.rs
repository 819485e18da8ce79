use super::pair::Pair;
use crate::action::Action;
use crate::fault::Fault;
use crate::instruction::Instruction;
use crate::message::{
    Async, FlowCommand, FlowMod, FlowRemovedReason, Message, PacketInReason, PortMod, PortReason,
    Role, RoleMessage, flow_flags,
};
use crate::port::{PortNo, config, state};
use crate::switch::{Config, FailMode};
use crate::version::Version;
use alloc::vec::Vec;
use node::Time;

fn frame(destination: u8, source: u8) -> Vec<u8> {
    let mut frame = [
        2,
        0,
        0,
        0,
        0,
        destination,
        2,
        0,
        0,
        0,
        0,
        source,
        0x12,
        0x34,
    ]
    .to_vec();
    frame.resize(60, 0);
    frame
}

fn several(version: Version, controllers: u16) -> Pair {
    Pair::with(
        version,
        Config {
            controllers,
            ..Config::default()
        },
    )
}

/// The role that a controller has got, or the error.
fn ask(pair: &mut Pair, controller: usize, role: Role, generation: u64) -> Result<Role, Fault> {
    pair.by(controller).forget();
    pair.send(&Message::RoleRequest(RoleMessage { role, generation }));
    let mut answer = None;
    pair.messages(|_, message| {
        answer = Some(match message {
            Message::RoleReply(reply) => Ok(reply.role),
            Message::Error(error) => {
                Err(Fault::from_wire(Version::V13, error.kind, error.code).unwrap())
            }
            other => panic!("{other:?}"),
        });
    });
    answer.unwrap()
}

/// Entries that send everything to controllers, and tell of their end.
fn tell_of_all(pair: &mut Pair) {
    let actions = [Action::output(PortNo::CONTROLLER)];
    let instructions = [Instruction::ApplyActions((&actions).into())];
    let entry = FlowMod {
        priority: 5,
        flags: flow_flags::SEND_FLOW_REM,
        instructions: (&instructions).into(),
        ..FlowMod::default()
    };
    assert_eq!(pair.fault(&Message::FlowMod(entry)), None);
    pair.forget();
}

fn remove_all() -> Message<'static> {
    Message::FlowMod(FlowMod {
        command: FlowCommand::Delete,
        table: 0xFF,
        ..FlowMod::default()
    })
}

/// What a controller was told, in letters: packet, removed, status, error.
fn told(pair: &mut Pair, controller: usize) -> alloc::string::String {
    let mut told = alloc::string::String::new();
    pair.by(controller).messages(|_, message| {
        told.push(match message {
            Message::PacketIn(_) => 'p',
            Message::FlowRemoved(_) => 'r',
            Message::PortStatus(_) => 's',
            Message::Error(_) => 'e',
            other => panic!("{other:?}"),
        });
    });
    told
}

#[test]
fn one_is_master_and_a_slave_only_reads() {
    let mut pair = several(Version::V13, 3);
    assert_eq!(ask(&mut pair, 0, Role::NoChange, 0), Ok(Role::Equal));
    assert_eq!(ask(&mut pair, 0, Role::Master, 10), Ok(Role::Master));
    assert_eq!(ask(&mut pair, 1, Role::Slave, 10), Ok(Role::Slave));
    // A new master makes a slave of the old one.
    assert_eq!(ask(&mut pair, 1, Role::Master, 11), Ok(Role::Master));
    assert_eq!(ask(&mut pair, 0, Role::NoChange, 0), Ok(Role::Slave));
    // Of an old request nothing comes; generations go around.
    assert_eq!(ask(&mut pair, 0, Role::Master, 10), Err(Fault::RoleStale));
    assert_eq!(
        ask(&mut pair, 0, Role::Master, 11 + (1 << 63)),
        Err(Fault::RoleStale)
    );
    assert_eq!(
        ask(&mut pair, 0, Role::Slave, 10 + (1 << 63)),
        Ok(Role::Slave)
    );
    assert_eq!(ask(&mut pair, 1, Role::NoChange, 0), Ok(Role::Master));
    pair.by(0);
    assert_eq!(
        pair.fault(&Message::FlowMod(FlowMod::default())),
        Some(Fault::IsSlave)
    );
    assert_eq!(pair.fault(&Message::BarrierRequest), None);
    pair.by(2);
    assert_eq!(pair.fault(&Message::FlowMod(FlowMod::default())), None);
}

#[test]
fn a_slave_is_told_of_ports_only_and_each_of_what_it_asked_for() {
    let mut pair = several(Version::V13, 3);
    assert_eq!(ask(&mut pair, 1, Role::Slave, 0), Ok(Role::Slave));
    pair.by(2).send(&Message::SetAsync(Async {
        packet_in: [1 << PacketInReason::InvalidTtl as u32, 0],
        port_status: [1 << PortReason::Add as u32, 0],
        flow_removed: [1 << FlowRemovedReason::Delete as u32, 0],
    }));
    tell_of_all(pair.by(0));
    pair.receive(1, &frame(9, 1));
    pair.link(4, false);
    pair.by(0).send(&remove_all());
    assert_eq!(told(&mut pair, 0), "psr");
    assert_eq!(told(&mut pair, 1), "s");
    assert_eq!(told(&mut pair, 2), "r");
    // What was set is told, and a connection's own.
    for (controller, mask) in [(0, 0b011), (2, 0b100)] {
        pair.by(controller).send(&Message::GetAsyncRequest);
        let mut seen = 0;
        pair.messages(|_, message| {
            let Message::GetAsyncReply(wanted) = message else {
                panic!("{message:?}")
            };
            seen = wanted.packet_in[0];
        });
        assert_eq!(seen, mask);
    }
}

#[test]
fn a_port_whose_link_goes_is_told_once_and_carries_nothing() {
    for version in Version::ALL {
        let mut pair = Pair::new(version);
        let actions = [Action::output(PortNo(2))];
        let instructions = [Instruction::ApplyActions((&actions).into())];
        let entry = FlowMod {
            instructions: (&instructions).into(),
            ..FlowMod::default()
        };
        assert_eq!(pair.fault(&Message::FlowMod(entry)), None);
        let states = |pair: &mut Pair| {
            let mut states = Vec::new();
            pair.messages(|_, message| {
                let Message::PortStatus(status) = message else {
                    panic!("{message:?}")
                };
                assert_eq!(
                    (status.reason, status.port.number),
                    (PortReason::Modify, PortNo(2))
                );
                states.push((status.port.state, status.port.config));
            });
            states
        };
        let live = if version == Version::V13 {
            state::LIVE
        } else {
            0
        };
        assert_eq!(pair.ports(1, &frame(9, 1)), [2]);
        pair.link(2, false);
        pair.link(2, false);
        assert_eq!(states(&mut pair), [(state::LINK_DOWN, 0)]);
        assert_eq!(pair.ports(1, &frame(9, 1)), []);
        assert_eq!(pair.ports(2, &frame(9, 1)), []);
        pair.link(2, true);
        assert_eq!(states(&mut pair), [(live, 0)]);
        assert_eq!(pair.ports(1, &frame(9, 1)), [2]);
        // As by hand: no link is lost, but the port is out of use.
        let hardware = pair.switch.datapath.ports[1].hardware;
        pair.send(&Message::PortMod(PortMod {
            port: PortNo(2),
            hardware,
            config: config::PORT_DOWN,
            mask: config::PORT_DOWN,
            advertise: 0,
        }));
        assert_eq!(states(&mut pair), [(0, config::PORT_DOWN)]);
        assert_eq!(pair.ports(1, &frame(9, 1)), []);
    }
}

#[test]
fn auxiliary_connections_answer_and_are_told_nothing_of_themselves() {
    let mut pair = Pair::with(
        Version::V13,
        Config {
            auxiliary: 2,
            ..Config::default()
        },
    );
    for connection in 0..3u8 {
        pair.by(connection.into()).send(&Message::FeaturesRequest);
        let mut seen = None;
        pair.messages(|_, message| {
            if let Message::FeaturesReply(features) = message {
                seen = Some((features.datapath_id, features.auxiliary_id));
            }
        });
        assert_eq!(seen, Some((1, connection)));
    }
    // A change by one holds for all.
    tell_of_all(pair.by(2));
    pair.receive(1, &frame(9, 1));
    assert_eq!(["p", "", ""], [0, 1, 2].map(|at| told(&mut pair, at)));
}

#[test]
fn without_a_controller_a_standalone_switch_learns_and_a_secure_one_keeps_its_entries() {
    for (fail_mode, before, after) in [
        (FailMode::Secure, [4].as_slice(), [[4].as_slice(), &[4]]),
        // To all, then where the address was seen.
        (FailMode::Standalone, &[4], [&[2, 3, 4], &[1]]),
    ] {
        let mut pair = Pair::with(
            Version::V13,
            Config {
                fail_mode,
                ..Config::default()
            },
        );
        let actions = [Action::output(PortNo(4))];
        let instructions = [Instruction::ApplyActions((&actions).into())];
        let entry = FlowMod {
            instructions: (&instructions).into(),
            ..FlowMod::default()
        };
        assert_eq!(pair.fault(&Message::FlowMod(entry)), None);
        assert_eq!(pair.ports(1, &frame(9, 8)), before);
        pair.hang_up();
        assert_eq!(pair.ports(1, &frame(9, 8)), after[0]);
        assert_eq!(pair.ports(2, &frame(8, 9)), after[1]);
        // It dials again, and the entries are still there.
        pair.pass(Time::from_secs(20));
        assert!(pair.is_connected());
        assert_eq!(pair.ports(1, &frame(9, 8)), before);
    }
}

#[test]
fn a_controller_that_stalls_is_given_up_and_the_others_are_served() {
    let mut pair = Pair::new(Version::V13);
    tell_of_all(&mut pair);
    pair.stalls = true;
    for _ in 0..10_000 {
        pair.receive(1, &frame(9, 1));
    }
    let statistics = node::Node::statistics(&pair.switch);
    let counts = ["packet_ins", "packet_ins_dropped"].map(|name| statistics.get(name).unwrap());
    // A packet-in has 102 bytes; more than 128 KiB do not wait.
    assert_eq!(counts.iter().sum::<u64>(), 10_000);
    assert!((1_000..1_500).contains(&counts[0]), "{counts:?}");
    pair.pass(Time::from_secs(30));
    let statistics = node::Node::statistics(&pair.switch);
    assert_eq!(statistics.get("connections"), Some(0));
}

#[test]
fn every_frame_has_one_fate_when_controllers_die_at_random_times() {
    let mut random = node::random::Random::new(11);
    let mut fates = [0; 4];
    let mut long = frame(9, 1);
    long.resize(1_000, 0);
    for round in 0..10 {
        let mut pair = Pair::new(Version::V13);
        tell_of_all(&mut pair);
        let (mut taken, mut late) = (0, 0);
        for _ in 0..12 {
            for _ in 0..random.below(300) {
                pair.receive(1, &long);
            }
            match random.below(6) {
                // The controller leaves everything in the channel.
                0 | 1 => pair.stalls = true,
                2 => late += pair.take_up() as u64,
                3 => pair.die(),
                // Silence, until the switch gives the controller up.
                4 => {
                    pair.stalls = true;
                    pair.pass(Time::from_secs(11));
                    pair.die();
                }
                _ => pair.pass(Time::from_ms(random.below(12_000))),
            }
            pair.messages(|_, message| taken += u64::from(matches!(message, Message::PacketIn(_))));
        }
        // The rest is read, and the switch notices a dead controller.
        late += pair.take_up() as u64;
        pair.pass(Time::from_secs(60));
        assert!(pair.is_connected(), "round {round}");
        pair.messages(|_, message| taken += u64::from(matches!(message, Message::PacketIn(_))));
        let statistics = node::Node::statistics(&pair.switch);
        let count = |name: &str| statistics.get(name).unwrap();
        let dropped = |reason: &str| {
            let drops = pair.drops().iter().filter(|drop| drop.0 == reason);
            drops.map(|drop| drop.1).sum::<u64>()
        };
        // The switch cannot know of a message that is read after it has closed the connection.
        let fate = [
            taken - late,
            count("packet_ins_unacknowledged"),
            dropped("no controller takes it"),
            dropped("no controller reads"),
        ];
        assert_eq!(
            count("packets"),
            fate.iter().sum::<u64>(),
            "round {round}: {fate:?}"
        );
        assert_eq!(count("packet_ins"), fate[0] + fate[1], "round {round}");
        assert_eq!(count("packet_ins_dropped"), fate[3], "round {round}");
        for (all, one) in fates.iter_mut().zip(fate) {
            *all += one;
        }
    }
    assert!(fates.iter().all(|&count| count > 300), "{fates:?}");
}

#[test]
fn packets_that_are_kept_from_controllers_are_drops() {
    let mut pair = Pair::new(Version::V13);
    tell_of_all(&mut pair);
    let hardware = packet::ethernet::Mac([2, 0, 0, 1, 0, 1]);
    let quiet = PortMod {
        port: PortNo(1),
        hardware,
        config: config::NO_PACKET_IN,
        mask: config::NO_PACKET_IN,
        advertise: 0,
    };
    assert_eq!(pair.fault(&Message::PortMod(quiet)), None);
    pair.receive(1, &frame(9, 1));
    let kept = "the port keeps its packets from controllers";
    assert_eq!(pair.drops(), [(kept, 1)]);
    pair.receive(2, &frame(9, 1));
    assert_eq!(told(&mut pair, 0), "p");
}
