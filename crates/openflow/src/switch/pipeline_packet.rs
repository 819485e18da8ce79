//! A packet on its way through the tables.

use crate::action::Action;
use crate::key::{Field, Key, Layers, extract};
use crate::message::PacketInReason;
use crate::port::PortNo;
use crate::rewrite;
use crate::table::FlowId;
use node::{Frame, Out};

/// A packet in the pipeline.
#[derive(Debug)]
pub(super) struct Packet {
    frame: Option<Frame>,
    pub key: Key,
    pub layers: Layers,
    /// The key is not that of the frame any more.
    pub stale: bool,
    pub in_port: u32,
    pub queue: u32,
    pub table: u8,
    /// The last entry that it has matched.
    pub entry: Option<FlowId>,
    pub reason: PacketInReason,
    /// The last output, which need not be a copy if nothing follows.
    pub pending: Option<(PortNo, u16)>,
    /// Whether copies of it have been output: then its end is no drop.
    pub copied: bool,
    /// Why it is dropped if nothing is pending in the end.
    pub loss: &'static str,
}

/// A packet is looked at no more once its frame has left.
const HERE: &str = "the packet has its frame";

/// The reason of a drop: neither an entry's actions nor the action set have an output.
const NO_OUTPUT: &str = "no action outputs it";

impl AsRef<Key> for Packet {
    fn as_ref(&self) -> &Key {
        &self.key
    }
}

impl Packet {
    #[inline]
    pub fn new(frame: Frame, in_port: u32) -> Packet {
        let (key, layers) = extract(&frame, in_port);
        Packet {
            frame: Some(frame),
            key,
            layers,
            stale: false,
            in_port,
            queue: 0,
            table: 0,
            entry: None,
            reason: PacketInReason::Action,
            pending: None,
            copied: false,
            loss: NO_OUTPUT,
        }
    }

    pub fn frame(&self) -> &Frame {
        self.frame.as_ref().expect(HERE)
    }

    /// The frame, for good: the packet is of no more use.
    pub fn take_frame(&mut self) -> Frame {
        self.frame.take().expect(HERE)
    }

    pub fn copy(&self, out: &mut Out) -> Packet {
        Packet {
            frame: Some(out.copy(self.frame())),
            pending: None,
            copied: false,
            ..*self
        }
    }

    /// Takes down the end of a copy: whether anything took it, or why not.
    pub fn settle(&mut self, mut copy: Packet, output: Result<(), &'static str>, out: &mut Out) {
        match output {
            Ok(()) => self.copied = true,
            Err(loss) => {
                self.loss = loss;
                self.copied |= copy.copied;
                out.done(copy.take_frame());
            }
        }
    }

    /// Reads the frame again; what stands beside it stays.
    pub fn read_again(&mut self) {
        let beside = (self.key.0[1], self.key.0[10]);
        (self.key, self.layers) = extract(self.frame(), self.in_port);
        (self.key.0[1], self.key.0[10]) = beside;
        self.stale = false;
    }

    /// Writes a field into the frame, if it has that.
    pub fn set_field(&mut self, field: Field, value: u128) {
        let frame = self.frame.as_mut().expect(HERE);
        rewrite::set_field(frame, &self.layers, field, value);
        self.stale = true;
    }

    /// Changes the frame.
    pub fn modify(&mut self, action: &Action<'static>) -> Result<(), rewrite::InvalidTtl> {
        let Packet { frame, layers, .. } = self;
        let frame = frame.as_mut().expect(HERE);
        match *action {
            Action::SetField(oxm) => match oxm.field {
                Field::TunnelId => self.key.set(Field::TunnelId, oxm.value),
                Field::EthType | Field::IpProto | Field::Icmpv6Type => {
                    rewrite::set_field(frame, layers, oxm.field, oxm.value);
                    self.read_again();
                }
                field => self.set_field(field, oxm.value),
            },
            Action::SetVlanVid(vid) => {
                rewrite::set_vlan(frame, layers, 0xF000, vid & 0xFFF);
                self.read_again();
            }
            Action::SetVlanPcp(pcp) => {
                rewrite::set_vlan(frame, layers, 0x1FFF, u16::from(pcp & 7) << 13);
                self.read_again();
            }
            Action::SetTpSrc(port) => {
                rewrite::set_transport(frame, layers, true, port);
                self.stale = true;
            }
            Action::SetTpDst(port) => {
                rewrite::set_transport(frame, layers, false, port);
                self.stale = true;
            }
            Action::CopyTtlOut => rewrite::copy_ttl_out(frame, layers),
            Action::CopyTtlIn => rewrite::copy_ttl_in(frame, layers),
            Action::SetMplsTtl(ttl) => rewrite::set_mpls_ttl(frame, layers, ttl),
            Action::SetNwTtl(ttl) => rewrite::set_nw_ttl(frame, layers, ttl),
            Action::DecMplsTtl => rewrite::dec_mpls_ttl(frame, layers)?,
            Action::DecNwTtl => rewrite::dec_nw_ttl(frame, layers)?,
            _ => {
                // A frame that grows past what anything carries is left as it is.
                let room = frame.len() + 18 <= node::frame::MAX_FRAME_LEN;
                match *action {
                    Action::PushVlan(kind) if room => rewrite::push_vlan(frame, layers, kind),
                    Action::PopVlan => rewrite::pop_vlan(frame, layers),
                    Action::PushMpls(kind) if room => rewrite::push_mpls(frame, layers, kind),
                    Action::PopMpls(kind) => rewrite::pop_mpls(frame, layers, kind),
                    Action::PushPbb(kind) if room => rewrite::push_pbb(frame, layers, kind),
                    Action::PopPbb => rewrite::pop_pbb(frame, layers),
                    _ => {}
                }
                self.read_again();
            }
        }
        Ok(())
    }
}
