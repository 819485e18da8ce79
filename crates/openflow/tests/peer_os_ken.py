"""Reads messages in hexadecimal, one a line, and says what os-ken makes of each; `make` has os-ken write its own."""
import logging
import sys

from os_ken.ofproto import ofproto_parser, ofproto_protocol, ofproto_v1_0, ofproto_v1_3
from os_ken.ofproto import ofproto_v1_0_parser, ofproto_v1_3_parser

logging.disable(logging.CRITICAL)


def read():
    for line in sys.stdin:
        data = bytes.fromhex(line.strip())
        version, kind, length, xid = ofproto_parser.header(data)
        datapath = ofproto_protocol.ProtocolDesc(version)
        # It has readers for what a controller gets, and for some requests.
        if kind not in (ofproto_v1_0_parser if version == 1 else ofproto_v1_3_parser)._MSG_PARSERS:
            print("unread")
            continue
        try:
            message = ofproto_parser.msg(datapath, version, kind, length, xid, data)
        except Exception as error:
            print("error", repr(error)[:200].replace("\n", " "))
            continue
        if message is None:
            print("error", "none")
            continue
        name = type(message).__name__
        try:
            message.buf = None
            message.serialize()
            again = bytes(message.buf)
            same = "same" if again == data else "differs " + again.hex() if len(again) > 16 else "unwritten"
        except Exception as error:
            same = "unwritten"
        print(name, same)


def make():
    """Requests by os-ken's own writers."""
    for version in (1, 4):
        datapath = ofproto_protocol.ProtocolDesc(version)
        p, o = datapath.ofproto_parser, datapath.ofproto
        out = [p.OFPHello(datapath), p.OFPEchoRequest(datapath, b"abc"), p.OFPFeaturesRequest(datapath),
               p.OFPGetConfigRequest(datapath), p.OFPSetConfig(datapath, 1, 128), p.OFPBarrierRequest(datapath),
               p.OFPErrorMsg(datapath, 1, 6, b"12345678")]
        if version == 1:
            match = p.OFPMatch(in_port=1, dl_type=0x800, nw_proto=6, nw_src="10.0.0.1", tp_dst=80, dl_vlan=5, dl_vlan_pcp=3)
            actions = [p.OFPActionOutput(2, 64), p.OFPActionVlanVid(5), p.OFPActionVlanPcp(6), p.OFPActionStripVlan(),
                       p.OFPActionSetDlSrc(b"\2\0\0\0\0\1"), p.OFPActionSetDlDst(b"\2\0\0\0\0\2"),
                       p.OFPActionSetNwSrc("1.2.3.4"), p.OFPActionSetNwDst("1.2.3.5"), p.OFPActionSetNwTos(0x20),
                       p.OFPActionSetTpSrc(1), p.OFPActionSetTpDst(2), p.OFPActionEnqueue(1, 2)]
            for command in range(5):
                out.append(p.OFPFlowMod(datapath, match, 7, command, 1, 2, 3, o.OFP_NO_BUFFER, o.OFPP_NONE, 1, actions))
            out += [p.OFPPacketOut(datapath, o.OFP_NO_BUFFER, 1, actions, b"x" * 60),
                    p.OFPPortMod(datapath, 1, "02:00:00:00:00:01", 1, 1, 0), p.OFPDescStatsRequest(datapath, 0),
                    p.OFPFlowStatsRequest(datapath, 0, match, 0xff, o.OFPP_NONE),
                    p.OFPAggregateStatsRequest(datapath, 0, match, 0xff, o.OFPP_NONE),
                    p.OFPTableStatsRequest(datapath, 0), p.OFPPortStatsRequest(datapath, 0, o.OFPP_NONE),
                    p.OFPQueueStatsRequest(datapath, 0, o.OFPP_ALL, o.OFPQ_ALL),
                    p.OFPQueueGetConfigRequest(datapath, 1)]
        else:
            match = p.OFPMatch(in_port=1, metadata=(1, 3), eth_dst=("02:00:00:00:00:00", "ff:00:00:00:00:00"),
                               eth_type=0x86dd, vlan_vid=0x1005, vlan_pcp=3, ip_dscp=1, ip_ecn=1, ip_proto=58,
                               ipv6_src=("2001::", "ffff::"), ipv6_flabel=5, icmpv6_type=135, icmpv6_code=0,
                               ipv6_nd_target="fe80::1", ipv6_nd_sll="02:00:00:00:00:09", ipv6_exthdr=(1, 1), tunnel_id=9)
            actions = [p.OFPActionOutput(2, 64), p.OFPActionGroup(1), p.OFPActionSetQueue(3), p.OFPActionCopyTtlIn(),
                       p.OFPActionCopyTtlOut(), p.OFPActionDecMplsTtl(), p.OFPActionDecNwTtl(), p.OFPActionPopMpls(0x800),
                       p.OFPActionPopPbb(), p.OFPActionPopVlan(), p.OFPActionPushMpls(0x8847), p.OFPActionPushPbb(0x88e7),
                       p.OFPActionPushVlan(0x8100), p.OFPActionSetMplsTtl(4), p.OFPActionSetNwTtl(5),
                       p.OFPActionSetField(eth_src="02:00:00:00:00:01"), p.OFPActionSetField(ipv6_dst="fe80::2"),
                       p.OFPActionSetField(pbb_isid=5), p.OFPActionSetField(mpls_label=6)]
            instructions = [p.OFPInstructionMeter(1), p.OFPInstructionActions(o.OFPIT_APPLY_ACTIONS, actions),
                            p.OFPInstructionActions(o.OFPIT_CLEAR_ACTIONS, []),
                            p.OFPInstructionActions(o.OFPIT_WRITE_ACTIONS, actions),
                            p.OFPInstructionWriteMetadata(1, 2), p.OFPInstructionGotoTable(4)]
            buckets = [p.OFPBucket(1, 2, 3, actions), p.OFPBucket(4, 5, 6, [])]
            bands = [p.OFPMeterBandDrop(1, 2), p.OFPMeterBandDscpRemark(3, 4, 1)]
            for command in range(5):
                out.append(p.OFPFlowMod(datapath, 1, 2, 3, command, 4, 5, 6, o.OFP_NO_BUFFER, o.OFPP_ANY, o.OFPG_ANY, 31,
                                        match, instructions))
            for command in range(3):
                out.append(p.OFPGroupMod(datapath, command, o.OFPGT_SELECT, 5, buckets))
                out.append(p.OFPMeterMod(datapath, command, o.OFPMF_KBPS, 5, bands))
            out += [p.OFPPacketOut(datapath, o.OFP_NO_BUFFER, 1, actions, b"x" * 60),
                    p.OFPPortMod(datapath, 1, "02:00:00:00:00:01", 1, 1, 0), p.OFPTableMod(datapath, 1, 3),
                    p.OFPDescStatsRequest(datapath, 0),
                    p.OFPFlowStatsRequest(datapath, 0, 255, o.OFPP_ANY, o.OFPG_ANY, 0, 0, match),
                    p.OFPAggregateStatsRequest(datapath, 0, 255, o.OFPP_ANY, o.OFPG_ANY, 0, 0, match),
                    p.OFPTableStatsRequest(datapath, 0), p.OFPPortStatsRequest(datapath, 0, o.OFPP_ANY),
                    p.OFPQueueStatsRequest(datapath, 0, o.OFPP_ANY, o.OFPQ_ALL), p.OFPGroupStatsRequest(datapath, 0, 1),
                    p.OFPGroupDescStatsRequest(datapath, 0), p.OFPGroupFeaturesStatsRequest(datapath, 0),
                    p.OFPMeterStatsRequest(datapath, 0, 1), p.OFPMeterConfigStatsRequest(datapath, 0, 1),
                    p.OFPMeterFeaturesStatsRequest(datapath, 0), p.OFPPortDescStatsRequest(datapath, 0),
                    p.OFPTableFeaturesStatsRequest(datapath, 0, []), p.OFPQueueGetConfigRequest(datapath, 1),
                    p.OFPRoleRequest(datapath, o.OFPCR_ROLE_MASTER, 5), p.OFPGetAsyncRequest(datapath),
                    p.OFPSetAsync(datapath, [1, 2], [3, 4], [5, 6])]
        for message in out:
            message.xid = 7
            message.serialize()
            print(type(message).__name__, bytes(message.buf).hex())


make() if sys.argv[1:] == ["make"] else read()
