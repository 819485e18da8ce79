"""A learning switch on os-ken, which listens at port 6653, or with `ssl KEY CERT CA` there by TLS."""

import os
import sys

from os_ken.lib import hub

hub.patch(thread=False)

from os_ken import cfg
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3


class Learning(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *words, **keys):
        super().__init__(*words, **keys)
        self.ports = {}

    def add(self, datapath, priority, match, out):
        parser, protocol = datapath.ofproto_parser, datapath.ofproto
        actions = [parser.OFPActionOutput(out, protocol.OFPCML_NO_BUFFER)]
        apply = parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, actions)
        datapath.send_msg(
            parser.OFPFlowMod(datapath=datapath, priority=priority, match=match, instructions=[apply])
        )

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, event):
        datapath = event.msg.datapath
        self.add(datapath, 0, datapath.ofproto_parser.OFPMatch(), datapath.ofproto.OFPP_CONTROLLER)
        print("switch", datapath.id, flush=True)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        message = event.msg
        datapath = message.datapath
        parser, protocol = datapath.ofproto_parser, datapath.ofproto
        header = packet.Packet(message.data).get_protocols(ethernet.ethernet)[0]
        known = self.ports.setdefault(datapath.id, {})
        port = message.match["in_port"]
        known[header.src] = port
        out = known.get(header.dst, protocol.OFPP_FLOOD)
        if out != protocol.OFPP_FLOOD:
            match = parser.OFPMatch(in_port=port, eth_dst=header.dst, eth_src=header.src)
            self.add(datapath, 1, match, out)
        datapath.send_msg(
            parser.OFPPacketOut(
                datapath=datapath,
                buffer_id=message.buffer_id,
                in_port=port,
                actions=[parser.OFPActionOutput(out)],
                data=None if message.buffer_id != protocol.OFP_NO_BUFFER else message.data,
            )
        )


if __name__ == "__main__":
    words = sys.argv[1:]
    options = []
    if words[:1] == ["ssl"]:
        key, certificate, authority = words[1:4]
        options = ["--ofp-ssl-listen-port", "6653", "--ctl-privkey", key]
        options += ["--ctl-cert", certificate, "--ca-certs", authority]
    import os_ken.controller.controller

    cfg.CONF(options, project="os_ken")
    # As a module of its own name, which the manager looks for.
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    app_manager.AppManager.run_apps([os.path.splitext(os.path.basename(__file__))[0]])
