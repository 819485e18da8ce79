//! Where smoltcp's packets come from and go to: the world's frames.

use super::Egress;
use super::sender::{Sender, fill_checksum};
use crate::ip::{self, ETHERNET};
use node::{Out, Time, When};
use smoltcp::phy::{self, Checksum, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

/// The device for one call of the stack.
pub(super) struct Device<'a> {
    /// A packet that has come.
    pub incoming: Option<&'a [u8]>,
    pub mtu: usize,
    pub now: Time,
    pub egress: &'a mut dyn Egress,
    /// Of the connection that is looked after.
    pub sender: Option<&'a mut Sender>,
    pub out: &'a mut Out,
}

fn capabilities(mtu: usize) -> DeviceCapabilities {
    let mut capabilities = DeviceCapabilities::default();
    capabilities.medium = Medium::Ip;
    capabilities.max_transmission_unit = mtu;
    // TCP's are computed and checked outside, and those of IP headers checked.
    capabilities.checksum.tcp = Checksum::None;
    capabilities.checksum.ipv4 = Checksum::Tx;
    capabilities
}

impl phy::Device for Device<'_> {
    type RxToken<'b>
        = Incoming<'b>
    where
        Self: 'b;
    type TxToken<'b>
        = Outgoing<'b>
    where
        Self: 'b;

    fn receive(&mut self, _: Instant) -> Option<(Incoming<'_>, Outgoing<'_>)> {
        let incoming = Incoming(self.incoming.take()?);
        Some((incoming, self.outgoing()))
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
        Some(self.outgoing())
    }

    fn capabilities(&self) -> DeviceCapabilities {
        capabilities(self.mtu)
    }
}

impl Device<'_> {
    fn outgoing(&mut self) -> Outgoing<'_> {
        Outgoing {
            now: self.now,
            egress: self.egress,
            sender: self.sender.as_deref_mut(),
            out: self.out,
        }
    }
}

pub(super) struct Incoming<'a>(&'a [u8]);

impl phy::RxToken for Incoming<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

pub(super) struct Outgoing<'a> {
    now: Time,
    egress: &'a mut dyn Egress,
    sender: Option<&'a mut Sender>,
    out: &'a mut Out,
}

impl phy::TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(mut self, len: usize, f: F) -> R {
        let mut frame = self.out.frame();
        frame.resize(ETHERNET + len);
        let result = f(&mut frame[ETHERNET..]);
        let version = frame[ETHERNET] >> 4;
        let ethertype: u16 = if version == 4 { 0x0800 } else { 0x86DD };
        frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
        let packet = match ip::read(&frame) {
            Some(packet) if packet.protocol == ip::TCP && packet.end >= packet.payload + 20 => {
                packet
            }
            // The stack sends nothing else.
            _ => {
                self.out.done(frame);
                return result;
            }
        };
        let segment = &mut frame[packet.payload..packet.end];
        let (length, header) = (segment.len(), usize::from(segment[12] >> 4) * 4);
        if let Some(sender) = self.sender.as_deref_mut() {
            sender.stamp(self.now, segment);
        }
        fill_checksum(segment, packet.source, packet.destination);
        if let Some(sender) = self.sender {
            let data = length.saturating_sub(header);
            if !sender.leaves(self.now, &frame, packet.payload, data, self.out) {
                self.out.done(frame);
                return result;
            }
            let pieces = sender.last_in_pieces(self.out);
            if data > 0 && !pieces.is_empty() {
                self.out.done(frame);
                for piece in pieces {
                    let to = packet.destination;
                    self.egress.send(self.now, to, When::Now, piece, self.out);
                }
                return result;
            }
        }
        let to = packet.destination;
        self.egress.send(self.now, to, When::Now, frame, self.out);
        result
    }
}

/// A device on which nothing comes: for the making of an interface.
pub(super) struct Nothing(pub usize);

impl phy::Device for Nothing {
    type RxToken<'b> = Incoming<'b>;
    type TxToken<'b> = Outgoing<'b>;

    fn receive(&mut self, _: Instant) -> Option<(Incoming<'_>, Outgoing<'_>)> {
        None
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
        None
    }

    fn capabilities(&self) -> DeviceCapabilities {
        capabilities(self.0)
    }
}
