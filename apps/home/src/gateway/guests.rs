//! The page for guests: the only packets of a device that waits for a decision which leave it.
//!
//! They are TCP from the device's own address to the page's address and port, and its replies. The program forwards each of them
//! itself: no entry of the switch outlasts a decision, and a device that waits uses no flows. A flood of them costs as much as
//! one of DHCP or DNS, which the switch hands to the program too.

use super::forward::Ways;
use super::{Gateway, PortNo, Result, Sender, key_of};
use crate::flows::FlowKey;
use crate::frame;
use crate::rules::{Cookie, Datapath, Kind, Rule, address, priority};
use core::net::{IpAddr, Ipv4Addr};
use openflow::action::Action;
use openflow::controller::Headers;
use openflow::oxm::{Field, Oxm};
use packet::ethernet::ethertype;
use packet::ipv4::protocol;

impl Gateway {
    /// Address of the page: the machine behind the router.
    fn guests_page(&self) -> Ipv4Addr {
        self.plan.device(self.plan.host())
    }

    /// Hands packets to the page to the program, before the entries that drop all of a device.
    pub(super) fn install_guests(&self, datapath: &mut Datapath<'_, '_>) {
        let Some(port) = self.settings.guests else {
            return;
        };
        let page = self.guests_page().into();
        let common = [
            Oxm::new(Field::EthType, ethertype::IPV4.into()),
            Oxm::new(Field::IpProto, protocol::TCP.into()),
        ];
        for (is_source, field) in [(false, Field::TcpDst), (true, Field::TcpSrc)] {
            let mut fields = common.to_vec();
            fields.extend([address(is_source, page), Oxm::new(field, port.into())]);
            datapath.add(&Rule {
                fields: &fields,
                priority: priority::DHCP,
                cookie: Cookie::of(Kind::Base),
                idle: 0,
                actions: &[Action::output(PortNo::CONTROLLER)],
            });
        }
    }

    /// Whether a frame is TCP to the page.
    pub(super) fn is_for_guests(&self, headers: &Headers) -> bool {
        let page = self.guests_page().octets();
        headers.ethertype == ethertype::IPV4
            && headers.protocol == Some(protocol::TCP)
            && headers
                .ipv4
                .is_some_and(|(_, to)| Ipv4Addr::from(to).octets() == page)
            && headers
                .transport
                .is_some_and(|(_, to)| Some(to) == self.settings.guests)
    }

    /// Whether a packet from the router is a reply of the page.
    pub(crate) fn is_from_guests_page(&self, key: &FlowKey) -> bool {
        key.protocol == protocol::TCP
            && key.source == IpAddr::from(self.guests_page())
            && key
                .ports
                .is_some_and(|(from, _)| Some(from) == self.settings.guests)
    }

    /// Forwards a packet of a device that waits or is permitted to the page.
    pub(super) fn ask_guests_page(
        &mut self,
        sender: &Sender,
        in_port: PortNo,
        headers: &Headers,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let key = key_of(headers, data)?;
        if !(sender.is_waiting || sender.is_admitted) {
            return Err("not admitted");
        }
        if key.source != IpAddr::from(self.plan.device(sender.slot)) {
            return Err("spoofed");
        }
        if headers.destination != self.settings.mac {
            return Err("bypasses the gateway");
        }
        if frame::hops(data) <= 1 {
            return Err("hop limit used up");
        }
        self.check_port(sender, in_port, datapath)?;
        let ways = Ways::new(self, sender, in_port, key)?;
        let [outward, _] = ways.of(Kind::Flow, self);
        datapath.send_through(in_port, data, outward.actions);
        self.guests += 1;
        Ok(())
    }

    /// Forwards a reply of the page.
    pub(crate) fn answer_guest(
        &mut self,
        device: &Sender,
        key: FlowKey,
        data: &[u8],
        datapath: &mut Datapath<'_, '_>,
    ) -> Result {
        let receiver = (device.is_waiting || device.is_admitted).then_some(device.port);
        let port = receiver.flatten().ok_or("no receiver")?;
        let ways = Ways::new(self, device, PortNo(port), key.reverse())?;
        let [_, inward] = ways.of(Kind::Flow, self);
        datapath.send_through(PortNo(self.settings.uplink), data, inward.actions);
        self.guests += 1;
        Ok(())
    }
}
