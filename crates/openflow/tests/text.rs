//! The syntax of ovs-ofctl: read, written again, refused by place and name.

use openflow::list::List;
use openflow::message::{BandKind, Change, FlowCommand, GroupKind, Message, Version, decode};
use openflow::text::{Flow, Group, Meter};

fn shown(version: Version, text: &str) -> String {
    let flow = Flow::parse(version, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut again = String::new();
    flow.show(&mut again);
    let twice = Flow::parse(version, &again).unwrap_or_else(|error| panic!("{again}: {error}"));
    assert_eq!(twice, flow, "{text}\n{again}");
    let mut bytes = Vec::new();
    let message = Message::FlowMod(flow.message(FlowCommand::Add));
    message
        .encode(version, 1, &mut bytes)
        .unwrap_or_else(|error| panic!("{text}: {error}"));
    decode(&bytes).unwrap_or_else(|error| panic!("{text}: {error}"));
    again
}

#[test]
fn flows_of_both_versions_are_shown_as_they_are_read() {
    for version in Version::ALL {
        assert_eq!(
            shown(
                version,
                "priority=100,ip,nw_dst=10.0.0.0/8,actions=output:2"
            ),
            "priority=100,ip,nw_dst=10.0.0.0/8 actions=output:2"
        );
        for text in [
            "actions=drop",
            "in_port=LOCAL actions=NORMAL",
            "tcp,tp_dst=80,nw_src=1.2.3.4,actions=CONTROLLER:128",
            "udp,dl_vlan=5,dl_vlan_pcp=3 actions=strip_vlan,FLOOD",
            "dl_vlan=0xffff,actions=IN_PORT",
            "arp,nw_src=10.0.0.1,arp_op=2 actions=ALL",
            "icmp,icmp_type=8,icmp_code=0 actions=mod_nw_tos:32,3",
            "dl_type=0x88cc,actions=controller",
            "dl_src=02:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff actions=mod_dl_src:02:00:00:00:00:09,1",
            "cookie=0x7,idle_timeout=5,hard_timeout=6,send_flow_rem,check_overlap,actions=1",
            "ip,actions=mod_nw_src:1.2.3.4,mod_nw_dst:4.3.2.1,output:1",
            "tcp actions=mod_tp_src:1,mod_tp_dst:2,enqueue:1:2",
            "actions=mod_vlan_vid:7,mod_vlan_pcp:1,output:4",
        ] {
            shown(version, text);
        }
    }
    for text in [
        "table=3,ipv6,ipv6_src=2001:db8::/32,ipv6_label=0x5 actions=goto_table:4",
        "eth_dst=01:00:00:00:00:00/01:00:00:00:00:00 actions=group:7",
        "metadata=0x3/0xf,tun_id=9 actions=meter:1,output:1,write_actions(set_queue:3,output:2),write_metadata:0x1/0xff,goto_table:9",
        "icmp6,icmp_type=135,nd_target=fe80::1,nd_sll=02:00:00:00:00:01 actions=clear_actions",
        "mpls,mpls_label=5,mpls_bos=1 actions=pop_mpls:0x0800,dec_ttl,output:1",
        "actions=push_vlan:0x8100,set_field:5->vlan_vid,output:1",
        "vlan_vid=0x1000/0x1000 actions=pop_vlan,output:1",
        "tcp6,tcp_dst=443 actions=set_field:fe80::9->ipv6_dst,output:1",
        "sctp,tp_src=4 actions=set_field:9->sctp_dst,LOCAL",
        "dl_type=0x88e7,pbb_isid=0x123 actions=pop_pbb,output:1",
    ] {
        shown(Version::V13, text);
    }
}

#[test]
fn a_fault_is_told_with_its_column() {
    let told = |text| Flow::parse(Version::V13, text).unwrap_err().to_string();
    assert_eq!(
        told("tp_dst=80,actions=drop"),
        "column 1: tp_dst needs a protocol that has it: add tcp, udp, sctp or icmp"
    );
    assert!(told("ip,tcp,actions=drop").contains("a field twice"));
    assert!(
        told("ip,nw_src=1.2.3,actions=drop").starts_with("column 11: '1.2.3' is no IPv4 address")
    );
    assert!(told("actions=resubmit(,1)").contains("extension of Nicira's"));
    assert!(told("actions=frobnicate:1").contains("'frobnicate' is not an action"));
    assert!(told("colour=red,actions=1").contains("'colour' is not a field"));
    assert!(told("tcp_dst=80,actions=1").contains("BAD_PREREQ"));
    let ten = Flow::parse(Version::V10, "actions=goto_table:2").unwrap_err();
    assert!(ten.to_string().contains("1.0 has no goto_table"));
}

#[test]
fn groups_and_meters_are_read() {
    let text = "group_id=5,type=select,bucket=weight:2,watch_port:3,actions=output:1,bucket=output:2,output:3";
    let group = Group::parse(text).expect("a group");
    assert_eq!((group.group, group.kind), (5, GroupKind::Select));
    let message = group.message(Change::Add);
    let buckets: Vec<(u16, usize)> = message
        .buckets
        .iter()
        .map(|bucket| (bucket.weight, bucket.actions.len()))
        .collect();
    assert_eq!(buckets, [(2, 1), (1, 2)]);
    let meter = Meter::parse(
        "meter=1,pktps,burst,bands=type=drop,rate=10,burst_size=5,type=dscp_remark,rate=3,prec_level=1",
    );
    let meter = meter.expect("a meter");
    assert_eq!((meter.meter, meter.flags, meter.bands.len()), (1, 6, 2));
    assert_eq!(meter.bands[1].kind, BandKind::DscpRemark(1));
    assert_eq!(List::from(&meter.bands), meter.message(Change::Add).bands);
}
