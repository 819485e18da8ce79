"""A learning switch on os-ken, as its documentation has one: sys.argv is the TCP port and the version, 1.0 or 1.3."""
import sys

from os_ken import cfg
from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ether_types, ethernet, packet
from os_ken.ofproto import ofproto_v1_0, ofproto_v1_3

OLD = sys.argv[2] == "1.0"


class Switch(OSKenApp):
    OFP_VERSIONS = [ofproto_v1_0.OFP_VERSION if OLD else ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.stations = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, event):
        path = event.msg.datapath
        if OLD:
            return
        ofp, parser = path.ofproto, path.ofproto_parser
        output = [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, ofp.OFPCML_NO_BUFFER)]
        apply = [parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, output)]
        path.send_msg(parser.OFPFlowMod(datapath=path, priority=0, match=parser.OFPMatch(), instructions=apply))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event):
        message = event.msg
        path = message.datapath
        ofp, parser = path.ofproto, path.ofproto_parser
        in_port = message.in_port if OLD else message.match["in_port"]
        header = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        if header.ethertype == ether_types.ETH_TYPE_LLDP:
            return
        known = self.stations.setdefault(path.id, {})
        known[header.src] = in_port
        port = known.get(header.dst, ofp.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(port)]
        if port != ofp.OFPP_FLOOD:
            if OLD:
                match = parser.OFPMatch(in_port=in_port, dl_dst=header.dst, dl_src=header.src)
                path.send_msg(parser.OFPFlowMod(
                    datapath=path, match=match, cookie=0, command=ofp.OFPFC_ADD, priority=1,
                    buffer_id=message.buffer_id, actions=actions))
            else:
                match = parser.OFPMatch(in_port=in_port, eth_dst=header.dst, eth_src=header.src)
                apply = [parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, actions)]
                path.send_msg(parser.OFPFlowMod(
                    datapath=path, priority=1, match=match, instructions=apply, buffer_id=message.buffer_id))
            if message.buffer_id != ofp.OFP_NO_BUFFER:
                return
        path.send_msg(parser.OFPPacketOut(
            datapath=path, buffer_id=message.buffer_id, in_port=in_port, actions=actions,
            data=message.data if message.buffer_id == ofp.OFP_NO_BUFFER else None))


cfg.CONF(args=["--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", sys.argv[1]], project="os_ken")
AppManager.run_apps(["__main__", "os_ken.controller.ofp_handler"])
