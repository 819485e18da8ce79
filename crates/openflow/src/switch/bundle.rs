//! Bundles: messages that are carried out together, or not at all (ONF EXT-230).

use super::Switch;
use super::session::{Bundle, MAX_BUNDLES};
use crate::channel::Peer;
use crate::fault::Fault;
use crate::message::{
    BundleAdd, BundleControl, BundleControlKind, BundleFault, Header, Message, ONF, PortReason,
    bundle_flags, decode,
};
use crate::version::Version;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;
use node::{Out, Time};

/// What is known of flags.
const KNOWN: u16 = bundle_flags::ATOMIC | bundle_flags::ORDERED;

impl Switch {
    pub(super) fn bundle_control(
        &mut self,
        now: Time,
        peer: Peer,
        xid: u32,
        control: &BundleControl<'_>,
        out: &mut Out,
    ) -> Result<(), BundleFault> {
        let Some(session) = self.session(peer) else {
            return Ok(());
        };
        let bundle = session.bundles.get_mut(&control.bundle);
        use BundleControlKind::*;
        let answer = match control.kind {
            OpenRequest => {
                if bundle.is_some() {
                    return Err(BundleFault::Exists);
                }
                if control.flags & !KNOWN != 0 {
                    return Err(BundleFault::BadFlags);
                }
                if session.bundles.len() >= MAX_BUNDLES {
                    return Err(BundleFault::OutOfBundles);
                }
                let new = Bundle::new(control.flags, &session.account);
                let new = new.map_err(|_| BundleFault::OutOfBundles)?;
                session.bundles.insert(control.bundle, new);
                OpenReply
            }
            CloseRequest => {
                let bundle = bundle.ok_or(BundleFault::BadId)?;
                if bundle.closed {
                    return Err(BundleFault::Closed);
                }
                if bundle.flags != control.flags {
                    return Err(BundleFault::BadFlags);
                }
                bundle.closed = true;
                CloseReply
            }
            DiscardRequest => {
                session
                    .bundles
                    .remove(&control.bundle)
                    .ok_or(BundleFault::BadId)?;
                DiscardReply
            }
            CommitRequest => {
                if bundle.is_some_and(|bundle| bundle.flags != control.flags) {
                    return Err(BundleFault::BadFlags);
                }
                let bundle = session.bundles.remove(&control.bundle);
                let bundle = bundle.ok_or(BundleFault::BadId)?;
                self.commit_bundle(now, peer, bundle, out)?;
                CommitReply
            }
            OpenReply | CloseReply | CommitReply | DiscardReply => {
                return Err(BundleFault::BadType);
            }
        };
        let reply = Message::BundleControl(BundleControl {
            kind: answer,
            properties: &[],
            ..*control
        });
        self.reply(peer, xid, &reply);
        Ok(())
    }

    /// Takes a message into a bundle, which is opened if there is none.
    pub(super) fn bundle_add(
        &mut self,
        peer: Peer,
        xid: u32,
        add: &BundleAdd<'_>,
    ) -> Result<(), BundleFault> {
        let Some(session) = self.session(peer) else {
            return Ok(());
        };
        let header = Header::peek(add.message).ok_or(BundleFault::MessageBadLen)?;
        let message = add.message.get(..header.length.into());
        let message = message.ok_or(BundleFault::MessageBadLen)?;
        if header.xid != xid {
            return Err(BundleFault::MessageBadXid);
        }
        if add.flags & !KNOWN != 0 {
            return Err(BundleFault::BadFlags);
        }
        let count = session.bundles.len();
        let bundle = match session.bundles.entry(add.bundle) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if count >= MAX_BUNDLES => return Err(BundleFault::OutOfBundles),
            Entry::Vacant(free) => {
                let new = Bundle::new(add.flags, &session.account);
                free.insert(new.map_err(|_| BundleFault::OutOfBundles)?)
            }
        };
        if bundle.closed {
            return Err(BundleFault::Closed);
        }
        if bundle.flags != add.flags {
            return Err(BundleFault::BadFlags);
        }
        // Flow-mods, group-mods and port-mods of 1.3.
        if !matches!(header.kind, 14..=16) || header.version != Version::V13.wire() {
            return Err(BundleFault::MessageUnsupported);
        }
        let added = bundle.add(message);
        added.map_err(|_| BundleFault::MessageTooMany)
    }

    /// Carries out a bundle; what fails is told with its own error, and what was done before it is taken back.
    fn commit_bundle(
        &mut self,
        now: Time,
        peer: Peer,
        bundle: Bundle,
        out: &mut Out,
    ) -> Result<(), BundleFault> {
        let groups = self.datapath.groups.clone();
        let configs: Vec<u32> = self.datapath.ports.iter().map(|port| port.config).collect();
        let told = self.datapath.removed.len();
        self.datapath.begin();
        let (mut rest, mut buffers) = (bundle.messages(), Vec::new());
        while let Some(header) = Header::peek(rest) {
            let (bytes, behind) = rest.split_at(header.length.into());
            rest = behind;
            let result = match decode(bytes) {
                Ok((_, message)) => self.bundled(now, header.xid, &message, &mut buffers),
                Err(error) => Err(error.fault),
            };
            if let Err(fault) = result {
                self.datapath.roll_back();
                self.datapath.groups = groups;
                for (index, config) in configs.into_iter().enumerate() {
                    let port = &mut self.datapath.ports[index];
                    if core::mem::replace(&mut port.config, config) != config {
                        self.tell_port(index, PortReason::Modify);
                    }
                }
                self.datapath.removed.truncate(told);
                self.refuse(peer, header.xid, fault, bytes);
                return Err(BundleFault::MessageFailed);
            }
        }
        self.datapath.commit();
        for (id, xid) in buffers {
            self.release_buffer(now, peer, id, xid, &[], out);
        }
        Ok(())
    }

    fn bundled(
        &mut self,
        now: Time,
        xid: u32,
        message: &Message<'_>,
        buffers: &mut Vec<(u32, u32)>,
    ) -> Result<(), Fault> {
        match message {
            Message::FlowMod(change) => {
                self.datapath.flow_mod(now, Version::V13, change)?;
                buffers.extend(change.buffer.map(|id| (id, xid)));
                Ok(())
            }
            Message::GroupMod(change) => self.datapath.group_mod(now, change),
            Message::PortMod(change) => self.port_mod(Version::V13, change),
            _ => Err(Fault::BadType),
        }
    }

    /// Answers with a bundle's error.
    pub(super) fn refuse_bundle(
        &mut self,
        peer: Peer,
        xid: u32,
        fault: BundleFault,
        request: &[u8],
    ) {
        self.counters.errors += 1;
        let mut data = ONF.to_be_bytes().to_vec();
        data.extend_from_slice(&request[..request.len().min(crate::message::QUOTED)]);
        let message = Message::Error(fault.message(&data));
        self.reply(peer, xid, &message);
    }
}
