//! Messages written and read again.

use openflow::action::Action;
use openflow::fault::Fault;
use openflow::handshake::{Failure, Handshake};
use openflow::instruction::Instruction;
use openflow::list::List;
use openflow::matching::Match;
use openflow::message::{FlowCommand, FlowMod, Hello, Message, PacketOut, decode};
use openflow::oxm::{Field, Oxm};
use openflow::port::PortNo;
use openflow::version::Version;

fn survives(message: Message<'_>, version: Version) {
    let mut bytes = Vec::new();
    message
        .encode(version, 0x01020304, &mut bytes)
        .expect("a form in this version");
    let (header, read) = decode(&bytes).expect("our own message");
    assert_eq!(header.xid, 0x01020304);
    assert_eq!(usize::from(header.length), bytes.len());
    assert_eq!(read, message);
    let mut again = Vec::new();
    read.encode(version, header.xid, &mut again)
        .expect("as before");
    assert_eq!(again, bytes);
}

#[test]
fn a_flow_mod_is_the_same_in_both_versions() {
    let fields = [
        Oxm::new(Field::InPort, 3),
        Oxm::new(Field::EthType, 0x0800),
        Oxm::new(Field::IpProto, 6),
        Oxm::masked(Field::Ipv4Src, 0x0a000000, 0xff000000),
        Oxm::new(Field::TcpDst, 80),
    ];
    let actions = [
        Action::SetField(Oxm::new(Field::EthDst, 0x020000000001)),
        Action::output(PortNo::FLOOD),
    ];
    let instructions = [Instruction::ApplyActions(List::from(&actions))];
    let flow = FlowMod {
        command: FlowCommand::Add,
        matching: Match::new(&fields),
        instructions: List::from(&instructions),
        ..FlowMod::default()
    };
    for version in Version::ALL {
        survives(Message::FlowMod(flow), version);
    }
    let mut ten = Vec::new();
    Message::FlowMod(flow)
        .encode(Version::V10, 1, &mut ten)
        .unwrap();
    let mut thirteen = Vec::new();
    decode(&ten)
        .unwrap()
        .1
        .encode(Version::V13, 1, &mut thirteen)
        .unwrap();
    assert_eq!(decode(&thirteen).unwrap().1, Message::FlowMod(flow));
}

#[test]
fn a_packet_out_carries_its_frame() {
    let actions = [Action::output(PortNo::IN_PORT)];
    let packet = PacketOut {
        buffer: None,
        in_port: PortNo(7),
        actions: List::from(&actions),
        data: &[0xab; 60],
    };
    for version in Version::ALL {
        survives(Message::PacketOut(packet), version);
    }
}

#[test]
fn a_field_without_its_prerequisite_is_refused_by_name() {
    let fields = [Oxm::new(Field::TcpDst, 80)];
    let flow = FlowMod {
        matching: Match::new(&fields),
        ..FlowMod::default()
    };
    let mut bytes = Vec::new();
    Message::FlowMod(flow)
        .encode(Version::V13, 9, &mut bytes)
        .unwrap();
    let error = decode(&bytes).unwrap_err();
    assert_eq!(error.fault, Fault::BadPrereq);
    assert_eq!(error.fault.wire(Version::V13), (4, 9));
    assert_eq!(error.quoted, &bytes[..64]);
}

#[test]
fn the_highest_version_in_common_is_picked() {
    let both = Handshake::new(&[]);
    let mut hello = Vec::new();
    both.hello(1, &mut hello);
    assert_eq!(both.receive(&hello[..7]), Ok(None));
    assert_eq!(both.receive(&hello), Ok(Some((Version::V13, 16))));
    let old = Handshake::new(&[Version::V10]);
    assert_eq!(old.receive(&hello), Ok(Some((Version::V10, 16))));
    let mut later = Vec::new();
    Message::Hello(Hello {
        versions: Some(1 << 6),
    })
    .encode(Version::V13, 1, &mut later)
    .unwrap();
    assert_eq!(
        both.receive(&later),
        Err(Failure::Incompatible { theirs: 1 << 6 })
    );
}
