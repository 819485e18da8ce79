//! Frames that come together are dealt with as if they had come one after the other.

use super::pair::Pair;
use crate::message::{Change, FlowQuery, Message, MultipartRequest, Query};
use crate::switch::Config;
use crate::text::{Group, Meter};
use crate::version::Version;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use node::{Node, Time};

/// Numbers that look random (xorshift).
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    /// A UDP packet between few addresses and ports; now and then something else.
    fn frame(&mut self) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[..14].copy_from_slice(b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\0");
        frame[14..24].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
        frame[22] = [1, 64, 64, 64][self.below(4) as usize];
        let addresses = [10, self.below(3) as u8, 0, self.below(6) as u8];
        frame[26..30].copy_from_slice(&[192, 0, 2, self.below(9) as u8]);
        frame[30..34].copy_from_slice(&addresses);
        frame[37] = self.below(5) as u8;
        frame[59] = self.below(256) as u8;
        match self.below(20) {
            0 => frame[12..14].copy_from_slice(&[0x12, 0x34]),
            // A fragment, and a frame that is no frame.
            1 => frame[20] = 0x20,
            2 => frame.truncate(9),
            _ => {}
        }
        frame
    }
}

/// Many masks, so that lookups are remembered, filtered and made together; what entries do has state, changes the packet, or ends it.
fn entries() -> Vec<String> {
    let mut entries: Vec<String> = [
        "table=0,priority=0,actions=controller:40",
        "table=0,priority=90,ip,nw_dst=10.0.0.5,idle_timeout=2,actions=output:4",
        "table=0,priority=80,udp,nw_dst=10.0.0.4,actions=dec_ttl,output:2,output:3",
        "table=0,priority=70,udp,tp_dst=3,actions=meter:1,output:3",
        "table=0,priority=60,ip,nw_dst=10.1.0.0/16,actions=write_metadata:7,goto_table:1",
        "table=0,priority=55,udp,nw_src=192.0.2.0/30,tp_dst=1,actions=group:9",
        "table=0,priority=50,udp,tp_dst=4,actions=drop",
        "table=0,priority=40,ip,nw_src=192.0.2.8,actions=set_field:10.2.0.1->ip_dst,goto_table:1",
        "table=0,priority=30,ip,nw_dst=10.2.0.0/16,idle_timeout=3,actions=in_port",
        "table=0,priority=20,dl_type=0x1234,actions=flood",
        "table=1,priority=9,ip,nw_dst=10.2.0.1,actions=output:4",
        "table=1,priority=8,metadata=7,ip,nw_src=192.0.2.0/29,actions=controller,output:2",
        "table=1,priority=7,metadata=7,udp,tp_dst=2,actions=write_actions(output:3)",
    ]
    .map(ToString::to_string)
    .into();
    for number in 0..40 {
        entries.push(format!(
            "table=0,priority=100,ip,nw_src=192.0.2.{},nw_dst=10.0.0.{},hard_timeout={},actions=output:{}",
            number % 9,
            number / 9,
            2 + number % 4,
            2 + number % 3
        ));
    }
    entries
}

fn pair() -> Pair {
    let entries = entries();
    let config = Config {
        entries: Vec::new(),
        buffers: 20,
        ..Config::default()
    };
    let mut pair = Pair::with(Version::V13, config);
    let group = "group_id=9,type=all,bucket=output:2,bucket=dec_ttl,output:3";
    let group = Group::parse(group).unwrap();
    let group = Message::GroupMod(group.message(Change::Add));
    assert_eq!(pair.fault(&group), None);
    let meter = "meter=1,pktps,burst,bands=type=drop,rate=100,burst_size=3";
    let meter = Meter::parse(meter).unwrap();
    let meter = Message::MeterMod(meter.message(Change::Add));
    assert_eq!(pair.fault(&meter), None);
    for text in entries {
        let mut flow = crate::text::Flow::parse(Version::V13, &text).unwrap();
        flow.flags |= crate::message::flow_flags::SEND_FLOW_REM;
        let add = Message::FlowMod(flow.message(crate::message::FlowCommand::Add));
        assert_eq!(pair.fault(&add), None, "{text}");
    }
    pair
}

#[test]
fn frames_in_lots_leave_are_counted_told_and_expire_as_one_by_one() {
    let mut draws = Draws(5);
    let mut one = pair();
    let mut others: Vec<(usize, Pair)> = [1, 2, 64, 200].map(|at_once| (at_once, pair())).into();
    let mut told = 0;
    for round in 0..60 {
        let port = 1 + draws.below(4) as u16;
        let frames: Vec<Vec<u8>> = (0..draws.below(200)).map(|_| draws.frame()).collect();
        let later = Time::from_ms([1, 40, 700][round % 3]);
        one.sent.clear();
        for frame in &frames {
            let mut sent = core::mem::take(&mut one.sent);
            sent.extend(
                one.receive(port, frame)
                    .into_iter()
                    .map(|(p, f)| (p - 1, f)),
            );
            one.sent = sent;
        }
        one.pass(later);
        let statistics = Message::MultipartRequest(MultipartRequest {
            more: false,
            body: Query::Flow(FlowQuery::default()),
        });
        one.send(&statistics);
        let messages = one.bytes();
        told += messages.len();
        for (at_once, other) in &mut others {
            other.sent.clear();
            other.receive_lots(port, &frames, *at_once);
            other.pass(later);
            other.send(&statistics);
            assert_eq!(other.sent, one.sent, "round {round}, {at_once} at once");
            assert_eq!(other.bytes(), messages, "round {round}, {at_once} at once");
            assert_eq!(
                other.drops(),
                one.drops(),
                "round {round}, {at_once} at once"
            );
        }
    }
    let left = one.switch.statistics().get("flows").unwrap();
    assert!(
        told > 500 && left < 20,
        "{told} messages, {left} entries left"
    );
    let reasons: Vec<&str> = one.drops().iter().map(|(reason, _)| *reason).collect();
    for reason in [
        "above a meter's rate",
        "an invalid TTL",
        "shorter than an Ethernet header",
    ] {
        assert!(reasons.contains(&reason), "{reasons:?}");
    }
}
