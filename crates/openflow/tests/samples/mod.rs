//! Messages of all kinds, with values from a seed. What borrows is leaked: it is a test.
#![allow(missing_docs)]

use openflow::action::Action;
use openflow::instruction::Instruction;
use openflow::list::List;
use openflow::matching::Match;
use openflow::message::*;
use openflow::oxm::{Field, Oxm, VLAN_PRESENT};
use openflow::port::{Name, PortDescription, PortNo};
use packet::ethernet::Mac;

/// Numbers from a seed (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.word() % limit
    }

    pub fn chance(&mut self) -> bool {
        self.word() & 1 == 1
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn bytes(&mut self, most: u64) -> &'static [u8] {
        let length = self.below(most + 1);
        leak((0..length).map(|_| self.word() as u8).collect())
    }
}

fn leak<T>(items: Vec<T>) -> &'static [T] {
    Box::leak(items.into_boxed_slice())
}

fn list<T>(items: Vec<T>) -> List<'static, T> {
    List::from(leak(items))
}

fn port(random: &mut Random, version: Version) -> PortNo {
    match random.below(4) {
        0 => random.pick(&[
            PortNo::CONTROLLER,
            PortNo::FLOOD,
            PortNo::IN_PORT,
            PortNo::LOCAL,
        ]),
        _ if version == Version::V10 => PortNo(1 + random.below(0xfeff) as u32),
        _ => PortNo(1 + random.below(0xfffffeff) as u32),
    }
}

fn value(random: &mut Random, field: Field) -> u128 {
    let wide = u128::from(random.word()) << 64 | u128::from(random.word());
    wide & field.max()
}

/// A match with a value, and in 1.3 at times a mask, for some of the fields that this EtherType allows.
fn matching(random: &mut Random, version: Version) -> Match<'static> {
    use Field::*;
    let mut fields = Vec::new();
    if version == Version::V13 && random.chance() {
        fields.extend([Oxm::new(InPort, 7), Oxm::new(InPhyPort, 9)]);
        fields.push(Oxm::masked(Metadata, 0xff00, 0xffff));
    } else if random.chance() {
        fields.push(Oxm::new(InPort, port(random, version).0.into()));
    }
    let some = |random: &mut Random, fields: &mut Vec<Oxm>, of: &[Field]| {
        for field in of {
            let value = value(random, *field);
            let prefix = matches!(field, Ipv4Src | Ipv4Dst | ArpSpa | ArpTpa);
            if random.chance() {
                continue;
            }
            let mask = match field.bits() {
                32 => u128::from(u32::MAX << random.below(32)),
                _ => self::value(random, *field),
            };
            let masked = field.is_maskable() && random.chance();
            let masked = masked && (prefix || version == Version::V13);
            // A prefix of all bits is told without a mask.
            if masked && mask != Field::max(*field) {
                fields.push(Oxm::masked(*field, value & mask, mask));
            } else {
                fields.push(Oxm::new(*field, value));
            }
        }
    };
    some(random, &mut fields, &[EthDst, EthSrc]);
    let kinds: &[u128] = match version {
        Version::V10 => &[0x0800, 0x0806, 0x88cc],
        Version::V13 => &[0x0800, 0x0806, 0x86dd, 0x8847, 0x88e7, 0x88cc],
    };
    let eth_type = random.pick(kinds);
    fields.push(Oxm::new(EthType, eth_type));
    match random.below(4) {
        0 => fields.push(Oxm::new(VlanVid, 0)),
        1 => {
            fields.push(Oxm::new(VlanVid, u128::from(VLAN_PRESENT) | 42));
            fields.push(Oxm::new(VlanPcp, 5));
        }
        2 => {
            fields.push(Oxm::masked(
                VlanVid,
                VLAN_PRESENT.into(),
                VLAN_PRESENT.into(),
            ));
            fields.push(Oxm::new(VlanPcp, 2));
        }
        _ => {}
    }
    let ip = matches!(eth_type, 0x0800 | 0x86dd);
    if ip {
        some(random, &mut fields, &[IpDscp]);
        if version == Version::V13 {
            some(random, &mut fields, &[IpEcn]);
        }
        let (icmp, six) = if eth_type == 0x0800 {
            (1, false)
        } else {
            (58, true)
        };
        let proto = random.pick(&[6, 17, 132, icmp, 89]);
        fields.push(Oxm::new(IpProto, proto));
        match six {
            false => some(random, &mut fields, &[Ipv4Src, Ipv4Dst]),
            true => some(
                random,
                &mut fields,
                &[Ipv6Src, Ipv6Dst, Ipv6Flabel, Ipv6Exthdr],
            ),
        }
        match proto {
            6 => some(random, &mut fields, &[TcpSrc, TcpDst]),
            17 => some(random, &mut fields, &[UdpSrc, UdpDst]),
            132 => some(random, &mut fields, &[SctpSrc, SctpDst]),
            1 => some(random, &mut fields, &[Icmpv4Type, Icmpv4Code]),
            58 => {
                let kind = random.pick(&[135, 136]);
                fields.push(Oxm::new(Icmpv6Type, kind));
                let layer = if kind == 135 { Ipv6NdSll } else { Ipv6NdTll };
                some(random, &mut fields, &[Icmpv6Code, Ipv6NdTarget, layer]);
            }
            _ => {}
        }
    }
    match eth_type {
        0x0806 if version == Version::V10 => {
            fields.push(Oxm::new(ArpOp, 2));
            some(random, &mut fields, &[ArpSpa, ArpTpa]);
        }
        0x0806 => some(
            random,
            &mut fields,
            &[ArpOp, ArpSpa, ArpTpa, ArpSha, ArpTha],
        ),
        0x8847 => some(random, &mut fields, &[MplsLabel, MplsTc, MplsBos]),
        0x88e7 => some(random, &mut fields, &[PbbIsid]),
        _ => {}
    }
    if version == Version::V13 {
        some(random, &mut fields, &[TunnelId]);
    }
    Match::new(leak(fields))
}

/// Every action of the version, in a random order and number.
fn actions(random: &mut Random, version: Version) -> List<'static, Action<'static>> {
    let set =
        |random: &mut Random, field: Field| Action::SetField(Oxm::new(field, value(random, field)));
    let count = random.below(8);
    let one = |random: &mut Random| match version {
        Version::V10 => match random.below(11) {
            0 => Action::Output {
                port: port(random, version),
                max_len: random.word() as u16,
            },
            1 => Action::SetVlanVid(random.below(4096) as u16),
            2 => Action::SetVlanPcp(random.below(8) as u8),
            3 => Action::PopVlan,
            4 => set(random, Field::EthSrc),
            5 => set(random, Field::Ipv4Dst),
            6 => set(random, Field::IpDscp),
            7 => Action::SetTpSrc(random.word() as u16),
            8 => Action::SetTpDst(random.word() as u16),
            9 => Action::Enqueue {
                port: port(random, version),
                queue: random.word() as u32,
            },
            _ => Action::Experimenter {
                experimenter: 0x00ab_cdef,
                data: &[1, 2, 3, 4, 5, 6, 7, 8],
            },
        },
        Version::V13 => match random.below(19) {
            0 => Action::Output {
                port: port(random, version),
                max_len: random.word() as u16,
            },
            1 => Action::CopyTtlOut,
            2 => Action::CopyTtlIn,
            3 => Action::SetMplsTtl(random.word() as u8),
            4 => Action::DecMplsTtl,
            5 => Action::PushVlan(random.pick(&[0x8100, 0x88a8])),
            6 => Action::PopVlan,
            7 => Action::PushMpls(random.pick(&[0x8847, 0x8848])),
            8 => Action::PopMpls(0x0800),
            9 => Action::SetQueue(random.word() as u32),
            10 => Action::Group(random.below(1000) as u32),
            11 => Action::SetNwTtl(random.word() as u8),
            12 => Action::DecNwTtl,
            13 => Action::PushPbb(0x88e7),
            14 => Action::PopPbb,
            15 => Action::Experimenter {
                experimenter: 0x00ab_cdef,
                data: &[1, 2, 3, 4, 5, 6, 7, 8],
            },
            _ => {
                let settable: Vec<Field> = Field::ALL
                    .into_iter()
                    .filter(|field| field.is_settable())
                    .collect();
                let field = random.pick(&settable);
                set(random, field)
            }
        },
    };
    list((0..count).map(|_| one(random)).collect())
}

fn instructions(random: &mut Random, version: Version) -> List<'static, Instruction<'static>> {
    if version == Version::V10 {
        let actions = actions(random, version);
        let none = actions.is_empty();
        return list(if none {
            vec![]
        } else {
            vec![Instruction::ApplyActions(actions)]
        });
    }
    let all = [
        Instruction::Meter(random.below(100) as u32),
        Instruction::ApplyActions(actions(random, version)),
        Instruction::ClearActions,
        Instruction::WriteActions(actions(random, version)),
        Instruction::WriteMetadata {
            metadata: random.word(),
            mask: random.word(),
        },
        Instruction::GotoTable(random.below(255) as u8),
    ];
    list(all.into_iter().filter(|_| random.chance()).collect())
}

fn description(random: &mut Random, version: Version) -> PortDescription {
    let v13 = version == Version::V13;
    let mut bits = |mask: u32| random.word() as u32 & mask;
    let features = if v13 { 0xffff } else { 0xf87f };
    PortDescription {
        config: bits(if v13 { 0x65 } else { 0x7f }),
        state: bits(if v13 { 7 } else { 1 }),
        current: bits(features),
        advertised: bits(features),
        supported: bits(features),
        peer: bits(features),
        current_speed: if v13 { bits(u32::MAX) } else { 0 },
        max_speed: if v13 { bits(u32::MAX) } else { 0 },
        hardware: Mac([2, 0, 0, 0, 0, bits(255) as u8]),
        name: Name::new("port-name"),
        number: port(random, version),
    }
}

fn counters(random: &mut Random) -> Counters {
    Counters {
        packets: random.word(),
        bytes: random.word(),
    }
}

fn buffer(random: &mut Random) -> Option<u32> {
    random.chance().then(|| random.below(1 << 20) as u32)
}

fn buckets(random: &mut Random) -> List<'static, Bucket<'static>> {
    let one = |random: &mut Random| Bucket {
        weight: random.word() as u16,
        watch_port: port(random, Version::V13),
        watch_group: ANY_GROUP,
        actions: actions(random, Version::V13),
    };
    list((0..random.below(4)).map(|_| one(random)).collect())
}

fn bands(random: &mut Random) -> List<'static, Band> {
    let one = |random: &mut Random| Band {
        kind: match random.below(2) {
            0 => BandKind::Drop,
            _ => BandKind::DscpRemark(random.below(4) as u8),
        },
        rate: random.word() as u32,
        burst: random.word() as u32,
    };
    list((0..random.below(4)).map(|_| one(random)).collect())
}

fn query(random: &mut Random, version: Version) -> FlowQuery<'static> {
    let v13 = version == Version::V13;
    FlowQuery {
        table: random.word() as u8,
        out_port: port(random, version),
        out_group: if v13 {
            random.below(99) as u32
        } else {
            ANY_GROUP
        },
        cookie: if v13 { random.word() } else { 0 },
        cookie_mask: if v13 { random.word() } else { 0 },
        matching: matching(random, version),
    }
}

fn flow_stats(random: &mut Random, version: Version) -> FlowStats<'static> {
    FlowStats {
        table: random.word() as u8,
        duration_s: random.word() as u32,
        duration_ns: random.below(1_000_000_000) as u32,
        priority: random.word() as u16,
        idle_timeout: random.word() as u16,
        hard_timeout: random.word() as u16,
        flags: if version == Version::V13 {
            random.below(32) as u16
        } else {
            0
        },
        cookie: random.word(),
        packets: random.word(),
        bytes: random.word(),
        matching: matching(random, version),
        instructions: instructions(random, version),
    }
}

fn table_features(random: &mut Random) -> TableFeatures<'static> {
    let ids = |random: &mut Random| {
        list(
            (1..6)
                .filter(|_| random.chance())
                .map(FeatureId::Kind)
                .collect(),
        )
    };
    let oxms = |random: &mut Random| {
        let fields = Field::ALL.into_iter().filter(|_| random.chance());
        list(
            fields
                .map(|field| OxmId::new(field, field.is_maskable()))
                .collect(),
        )
    };
    let properties = vec![
        TableProperty::Instructions {
            miss: false,
            ids: ids(random),
        },
        TableProperty::Instructions {
            miss: true,
            ids: ids(random),
        },
        TableProperty::NextTables {
            miss: false,
            tables: random.bytes(9),
        },
        TableProperty::NextTables {
            miss: true,
            tables: &[1, 2, 3],
        },
        TableProperty::WriteActions {
            miss: false,
            ids: ids(random),
        },
        TableProperty::ApplyActions {
            miss: true,
            ids: ids(random),
        },
        TableProperty::Match(oxms(random)),
        TableProperty::Wildcards(oxms(random)),
        TableProperty::WriteSetField {
            miss: false,
            ids: oxms(random),
        },
        TableProperty::ApplySetField {
            miss: true,
            ids: oxms(random),
        },
    ];
    TableFeatures {
        table: random.below(255) as u8,
        name: Name::new("classifier"),
        metadata_match: random.word(),
        metadata_write: random.word(),
        config: 3,
        max_entries: random.word() as u32,
        properties: list(properties),
    }
}

/// Messages that both versions have.
fn both(random: &mut Random, version: Version, to: &mut Vec<Message<'static>>) {
    let v13 = version == Version::V13;
    let config = Config {
        flags: random.below(4) as u16,
        miss_send_len: 128,
    };
    let commands = [
        FlowCommand::Add,
        FlowCommand::Modify,
        FlowCommand::ModifyStrict,
        FlowCommand::Delete,
        FlowCommand::DeleteStrict,
    ];
    let command = random.pick(&commands);
    let any_table = if command.is_delete() { ALL_TABLES } else { 0 };
    let ports = (0..3).map(|_| description(random, version)).collect();
    let in_port = port(random, version);
    to.extend([
        Message::Hello(Hello { versions: None }),
        Message::Hello(Hello::of(&Version::ALL)),
        Message::Error(ErrorMessage {
            kind: 1,
            code: 6,
            data: &[1, 1, 0, 8, 0, 0, 0, 1],
        }),
        Message::EchoRequest(random.bytes(32)),
        Message::EchoReply(random.bytes(32)),
        Message::Experimenter(Experimenter {
            experimenter: 0x00ab_cdef,
            kind: if v13 { 7 } else { 0 },
            data: random.bytes(16),
        }),
        Message::FeaturesRequest,
        Message::FeaturesReply(Features {
            datapath_id: random.word(),
            n_buffers: 256,
            n_tables: 254,
            auxiliary_id: if v13 { 1 } else { 0 },
            capabilities: 0x6f & random.word() as u32,
            actions: if v13 { 0 } else { 0xfff },
            ports: if v13 { List::EMPTY } else { list(ports) },
        }),
        Message::GetConfigRequest,
        Message::GetConfigReply(config),
        Message::SetConfig(config),
        Message::PacketIn(PacketIn {
            buffer: buffer(random),
            total_len: 60,
            reason: random.pick(&[PacketInReason::NoMatch, PacketInReason::Action]),
            table: if v13 { 3 } else { 0 },
            cookie: if v13 { random.word() } else { u64::MAX },
            fields: Match::in_port(in_port),
            data: &[0x5a; 60],
        }),
        Message::FlowRemoved(FlowRemoved {
            matching: matching(random, version),
            cookie: random.word(),
            priority: random.word() as u16,
            reason: random.pick(&[
                FlowRemovedReason::IdleTimeout,
                FlowRemovedReason::HardTimeout,
                FlowRemovedReason::Delete,
            ]),
            table: if v13 { 9 } else { 0 },
            duration_s: random.word() as u32,
            duration_ns: 5,
            idle_timeout: 10,
            hard_timeout: if v13 { 20 } else { 0 },
            packets: random.word(),
            bytes: random.word(),
        }),
        Message::PortStatus(PortStatus {
            reason: random.pick(&[PortReason::Add, PortReason::Delete, PortReason::Modify]),
            port: description(random, version),
        }),
        Message::PacketOut(PacketOut {
            buffer: None,
            in_port: port(random, version),
            actions: actions(random, version),
            data: &[0xa5; 60],
        }),
        Message::FlowMod(FlowMod {
            command,
            table: if v13 { random.word() as u8 } else { any_table },
            cookie: random.word(),
            cookie_mask: if v13 { random.word() } else { 0 },
            matching: matching(random, version),
            priority: random.word() as u16,
            idle_timeout: random.word() as u16,
            hard_timeout: random.word() as u16,
            buffer: buffer(random),
            out_port: port(random, version),
            out_group: if v13 { 5 } else { ANY_GROUP },
            flags: if v13 {
                random.below(32) as u16
            } else {
                flow_flags::CHECK_OVERLAP
            },
            instructions: instructions(random, version),
        }),
        Message::BarrierRequest,
        Message::BarrierReply,
        Message::PortMod(PortMod {
            port: port(random, version),
            hardware: Mac([2, 0, 0, 0, 0, 1]),
            config: 1,
            mask: 1,
            advertise: 0x2820,
        }),
        Message::QueueConfigRequest(PortNo(3)),
        Message::QueueConfigReply(QueueConfig {
            port: PortNo(3),
            queues: list(vec![
                Queue {
                    queue: 1,
                    port: if v13 { PortNo(3) } else { PortNo::ANY },
                    properties: list(vec![QueueProperty::MinRate(100)]),
                },
                Queue {
                    queue: 2,
                    port: if v13 { PortNo(3) } else { PortNo::ANY },
                    properties: match v13 {
                        true => list(vec![
                            QueueProperty::MinRate(7),
                            QueueProperty::MaxRate(1001),
                        ]),
                        false => List::EMPTY,
                    },
                },
            ]),
        }),
    ]);
}

fn statistics(random: &mut Random, version: Version, to: &mut Vec<Message<'static>>) {
    let v13 = version == Version::V13;
    let mut ask = |body| {
        to.push(Message::MultipartRequest(MultipartRequest {
            more: false,
            body,
        }))
    };
    ask(Query::Description);
    ask(Query::Flow(query(random, version)));
    ask(Query::Aggregate(query(random, version)));
    ask(Query::Table);
    ask(Query::PortStats(PortNo::ANY));
    ask(Query::Queue {
        port: PortNo::ALL,
        queue: ALL_QUEUES,
    });
    let part = ExperimenterPart {
        experimenter: 0x00ab_cdef,
        kind: if v13 { 3 } else { 0 },
        data: &[0, 0, 0, 3, 9, 9, 9, 9],
    };
    ask(Query::Experimenter(part));
    let duration = |random: &mut Random| if v13 { random.word() as u32 } else { 0 };
    let mut tell = |body, more| to.push(Message::MultipartReply(MultipartReply { more, body }));
    tell(
        Answer::Description(Description {
            manufacturer: "someone".into(),
            hardware: "none".into(),
            software: "1.0".into(),
            serial: "42".into(),
            datapath: "the one in the corner".into(),
        }),
        false,
    );
    let flows = (0..3).map(|_| flow_stats(random, version)).collect();
    tell(Answer::Flow(list(flows)), true);
    tell(
        Answer::Aggregate(Aggregate {
            packets: random.word(),
            bytes: 2,
            flows: 3,
        }),
        false,
    );
    tell(
        Answer::Table(list(vec![TableStats {
            table: 1,
            name: Name::new(if v13 { "" } else { "one" }),
            wildcards: if v13 { 0 } else { 0x3fffff },
            max_entries: if v13 { 0 } else { 100 },
            active: 5,
            lookups: random.word(),
            matched: random.word(),
        }])),
        false,
    );
    tell(
        Answer::PortStats(list(vec![PortStats {
            port: port(random, version),
            rx_packets: 1,
            tx_packets: 2,
            rx_bytes: 3,
            tx_bytes: 4,
            rx_dropped: 5,
            tx_dropped: 6,
            rx_errors: 7,
            tx_errors: 8,
            rx_frame_errors: 9,
            rx_over_errors: 10,
            rx_crc_errors: 11,
            collisions: u64::MAX,
            duration_s: duration(random),
            duration_ns: duration(random),
        }])),
        false,
    );
    tell(
        Answer::Queue(list(vec![QueueStats {
            port: PortNo(1),
            queue: 2,
            tx_bytes: random.word(),
            tx_packets: 4,
            tx_errors: 5,
            duration_s: duration(random),
            duration_ns: duration(random),
        }])),
        false,
    );
    tell(Answer::Experimenter(part), false);
}

fn only_v13(random: &mut Random, to: &mut Vec<Message<'static>>) {
    let v13 = Version::V13;
    let changes = [Change::Add, Change::Modify, Change::Delete];
    let kinds = [
        GroupKind::All,
        GroupKind::Select,
        GroupKind::Indirect,
        GroupKind::FastFailover,
    ];
    to.extend([
        Message::GroupMod(GroupMod {
            command: random.pick(&changes),
            kind: random.pick(&kinds),
            group: 9,
            buckets: buckets(random),
        }),
        Message::TableMod(TableMod {
            table: 255,
            config: 3,
        }),
        Message::MeterMod(MeterMod {
            command: random.pick(&changes),
            flags: meter_flags::KBPS | meter_flags::BURST,
            meter: 3,
            bands: bands(random),
        }),
        Message::RoleRequest(RoleMessage {
            role: Role::Master,
            generation: random.word(),
        }),
        Message::RoleReply(RoleMessage {
            role: Role::Slave,
            generation: random.word(),
        }),
        Message::GetAsyncRequest,
        Message::GetAsyncReply(Async {
            packet_in: [7, 1],
            port_status: [7, 7],
            flow_removed: [15, 0],
        }),
        Message::SetAsync(Async {
            packet_in: [1, 2],
            port_status: [3, 4],
            flow_removed: [5, 6],
        }),
        Message::BundleControl(BundleControl {
            bundle: 5,
            kind: BundleControlKind::OpenRequest,
            flags: bundle_flags::ATOMIC,
            properties: &[],
        }),
        Message::BundleAdd(BundleAdd {
            bundle: 5,
            flags: bundle_flags::ORDERED,
            message: &[4, 20, 0, 8, 0, 0, 0, 1],
        }),
    ]);
    let mut ask = |body| {
        to.push(Message::MultipartRequest(MultipartRequest {
            more: false,
            body,
        }))
    };
    ask(Query::Group(ALL_GROUPS));
    ask(Query::GroupDescription);
    ask(Query::GroupFeatures);
    ask(Query::Meter(ALL_METERS));
    ask(Query::MeterConfig(7));
    ask(Query::MeterFeatures);
    ask(Query::TableFeatures(List::EMPTY));
    ask(Query::TableFeatures(list(vec![
        table_features(random),
        table_features(random),
    ])));
    ask(Query::PortDescription);
    let mut tell = |body| {
        to.push(Message::MultipartReply(MultipartReply {
            more: false,
            body,
        }))
    };
    tell(Answer::Group(list(vec![GroupStats {
        group: 1,
        references: 2,
        counters: counters(random),
        duration_s: 3,
        duration_ns: 4,
        buckets: list(vec![counters(random), counters(random)]),
    }])));
    tell(Answer::GroupDescription(list(vec![GroupDescription {
        kind: random.pick(&kinds),
        group: 1,
        buckets: buckets(random),
    }])));
    tell(Answer::GroupFeatures(GroupFeatures {
        kinds: 15,
        capabilities: 7,
        max_groups: [1, 2, 3, 4],
        actions: [0x0fff_9801; 4],
    }));
    tell(Answer::Meter(list(vec![MeterStats {
        meter: 1,
        flows: 2,
        input: counters(random),
        duration_s: 3,
        duration_ns: 4,
        bands: list(vec![counters(random)]),
    }])));
    tell(Answer::MeterConfig(list(vec![MeterConfig {
        flags: 5,
        meter: 1,
        bands: bands(random),
    }])));
    tell(Answer::MeterFeatures(MeterFeatures {
        max_meter: 100,
        band_types: 6,
        capabilities: 15,
        max_bands: 8,
        max_color: 0,
    }));
    tell(Answer::TableFeatures(list(vec![table_features(random)])));
    let ports = vec![description(random, v13), description(random, v13)];
    tell(Answer::PortDescription(list(ports)));
}

/// Every kind of message of the version, with values from the seed.
pub fn messages(version: Version, seed: u64) -> Vec<Message<'static>> {
    let random = &mut Random::new(seed);
    let mut messages = Vec::new();
    both(random, version, &mut messages);
    statistics(random, version, &mut messages);
    if version == Version::V13 {
        only_v13(random, &mut messages);
    }
    messages
}
