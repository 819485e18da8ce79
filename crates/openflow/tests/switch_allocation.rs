//! Frames that come together go the ways that they would go one by one, and a switch in steady state allocates nothing for them:
//! by one table or by several, rewritten, copied by a group, by masks that a cache remembers, or to a controller.

#[path = "../benches/switch/remote.rs"]
#[allow(dead_code, reason = "the benchmark needs the rest")]
mod remote;

use node::{Node, Port, Time};
use openflow::message::{Change, FlowCommand, Message};
use openflow::text::{Flow, Group};
use openflow::version::Version;
use remote::Remote;

const GROUP: &str =
    "group_id=1,type=all,bucket=actions=output:2,bucket=actions=mod_nw_tos:8,output:3";
const FLOWS: [&str; 8] = [
    "table=0,priority=100,tcp,tp_dst=1,actions=output:2",
    "table=0,priority=90,tcp,tp_dst=2,nw_dst=10.0.0.0/8,actions=dec_ttl,output:3",
    "table=0,priority=80,tcp,tp_dst=3,actions=set_field:02:00:00:00:00:09->eth_dst,goto_table:1",
    "table=0,priority=70,tcp,tp_dst=4,actions=group:1",
    "table=0,priority=60,tcp,tp_dst=5,nw_src=10.1.0.0/16,actions=controller:64",
    "table=0,priority=50,tcp,nw_dst=10.2.0.0/16,actions=drop",
    "table=1,priority=10,dl_dst=02:00:00:00:00:09,actions=push_vlan:0x8100,set_field:7->vlan_vid,output:4",
    "table=0,priority=0,actions=output:4",
];

fn frame(number: u32) -> Vec<u8> {
    let mut frame = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0\x45\0\0\x2e\0\0\0\0\x40\x06".to_vec();
    frame.resize(60, 0);
    frame[26..30].copy_from_slice(&[10, (number % 3) as u8, 0, 1]);
    frame[30..34].copy_from_slice(&[10, (number % 5) as u8, (number >> 8) as u8, number as u8]);
    frame[37] = (number % 7) as u8;
    frame[46] = 0x50;
    frame
}

fn switch() -> Remote {
    let mut remote = Remote::new(Version::V13);
    let mut bytes = Vec::new();
    let group = Group::parse(GROUP).unwrap();
    Message::GroupMod(group.message(Change::Add))
        .encode(Version::V13, 1, &mut bytes)
        .unwrap();
    for line in FLOWS {
        let flow = Flow::parse(Version::V13, line).unwrap();
        Message::FlowMod(flow.message(FlowCommand::Add))
            .encode(Version::V13, 2, &mut bytes)
            .unwrap();
    }
    remote.send(&bytes);
    assert_eq!(remote.replies.errors, 0);
    remote
}

/// Has frames of these numbers pass.
fn pass(remote: &mut Remote, numbers: std::ops::Range<u32>, frames: &[Vec<u8>], together: bool) {
    remote.now += Time::from_us(10);
    let Remote {
        switch,
        out,
        now,
        frames: some,
        ..
    } = remote;
    let count = numbers.len();
    for (at, number) in numbers.enumerate() {
        some.push(out.pool().take_with(&frames[number as usize]));
        if !together || at + 1 == count {
            switch.frames(*now, Port(0), some, out);
        }
    }
}

#[test]
fn frames_together_go_where_they_would_go_one_by_one() {
    let frames: Vec<Vec<u8>> = (0..2000).map(frame).collect();
    let mut sides = [switch(), switch()];
    for round in 0..40 {
        let numbers = round * 37..(round * 37 + 150).min(2000);
        let left = [false, true].map(|together| {
            let remote = &mut sides[usize::from(together)];
            pass(remote, numbers.clone(), &frames, together);
            let data = remote.out.sends().filter(|departure| departure.port.0 < 4);
            data.map(|departure| (departure.port.0, departure.frame.to_vec()))
                .collect::<Vec<_>>()
        });
        assert!(!left[0].is_empty());
        assert_eq!(left[0], left[1]);
    }
    let counted = sides.each_ref().map(|remote| remote.switch.statistics());
    assert_eq!(counted[0], counted[1]);
    assert_eq!(sides[0].out.drops(), sides[1].out.drops());
}

#[test]
fn packets_are_forwarded_without_allocation() {
    let frames: Vec<Vec<u8>> = (0..2000).map(frame).collect();
    for together in [true, false] {
        let mut remote = switch();
        // Each buffer is a segment to the controller some time, and grows then: that is brought forward.
        let mut grown: Vec<_> = (0..400).map(|_| remote.out.frame()).collect();
        for mut frame in grown.drain(..) {
            frame.resize(node::frame::MAX_FRAME_LEN);
            remote.out.done(frame);
        }
        let mut made = 0;
        for round in 0..1500u32 {
            let first = round * 13 % 1900;
            let before = allocations::of_this_thread();
            pass(&mut remote, first..first + 64, &frames, together);
            if round >= 500 {
                made += allocations::of_this_thread() - before;
            }
            remote.collect();
        }
        assert_eq!(made, 0, "together: {together}");
        assert!(remote.forwarded > 30_000);
    }
}
