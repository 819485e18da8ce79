//! What a program sends with.

use super::{Counters, Network};
use crate::channel::{Channels, Peer};
use crate::message::{FlowMod, Message, MultipartRequest, PacketOut, Query};
use crate::version::{Unsupported, Version};
use alloc::collections::BTreeMap;
use node::Time;

/// Value that a program chooses for a request, and gets back with the answer.
pub type Token = u64;

/// Maximum number of requests that wait for an answer. When there are more, the oldest ones are
/// dropped.
const MAX_PENDING_REQUESTS: usize = 65_536;

/// Questions that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct Pending {
    waiting: BTreeMap<(Peer, u32), (usize, Token)>,
    xid: u32,
}

impl Pending {
    fn enter(&mut self, peer: Peer, app: usize, token: Token) -> u32 {
        // Zero is for what needs no answer.
        self.xid = self.xid.wrapping_add(1).max(1);
        if self.waiting.len() >= MAX_PENDING_REQUESTS {
            self.waiting.pop_first();
        }
        self.waiting.insert((peer, self.xid), (app, token));
        self.xid
    }

    /// Who waits for the answer with this xid; `last`: nothing more comes.
    pub(super) fn find(&mut self, peer: Peer, xid: u32, last: bool) -> Option<(usize, Token)> {
        match last {
            true => self.waiting.remove(&(peer, xid)),
            false => self.waiting.get(&(peer, xid)).copied(),
        }
    }

    /// The switch is gone; nothing is answered any more.
    pub(super) fn forget(&mut self, peer: Peer) {
        self.waiting.retain(|(waiting, _), _| *waiting != peer);
    }
}

/// Why nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// There is no such switch, or it is gone.
    #[error("there is no such switch")]
    Gone,
    /// Its version has no form for it.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// What a program sends with, and sees of the network.
pub struct Handle<'a> {
    pub(super) now: Time,
    pub(super) app: usize,
    pub(super) channels: &'a mut Channels,
    pub(super) network: &'a mut Network,
    pub(super) pending: &'a mut Pending,
    pub(super) counters: &'a mut Counters,
}

impl Handle<'_> {
    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What is known of the network.
    pub fn network(&self) -> &Network {
        self.network
    }

    /// The same, for who finds out about it.
    pub fn network_mut(&mut self) -> &mut Network {
        self.network
    }

    /// Bytes that the switch has not read yet: who sends much looks here before going on.
    pub fn backlog(&self, switch: Peer) -> usize {
        self.channels.backlog(switch)
    }

    /// What the controller has done, by name: the first of its counters.
    pub fn counted(&self) -> [(&'static str, u64); 6] {
        let own = &self.counters;
        [
            ("packet_ins", own.packet_ins),
            ("flow_mods", own.flow_mods),
            ("packet_outs", own.packet_outs),
            ("errors", own.errors),
            ("refused", own.refused),
            ("nonsense", own.nonsense),
        ]
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When the switch is gone, or its version has no form for it.
    pub fn send(&mut self, switch: Peer, message: &Message<'_>) -> Result<(), SendError> {
        self.send_as(switch, 0, message)
    }

    fn send_as(&mut self, switch: Peer, xid: u32, message: &Message<'_>) -> Result<(), SendError> {
        let version = self.version(switch).ok_or(SendError::Gone)?;
        let buffer = self.channels.buffer(switch).ok_or(SendError::Gone)?;
        Ok(message.encode(version, xid, buffer)?)
    }

    /// The version that is spoken with a switch.
    pub fn version(&self, switch: Peer) -> Option<Version> {
        self.network.switch(switch)?.version
    }

    /// Changes entries.
    ///
    /// # Errors
    /// As [`send`](Handle::send).
    pub fn flow_mod(&mut self, switch: Peer, flow: &FlowMod<'_>) -> Result<(), SendError> {
        self.counters.flow_mods += 1;
        self.send(switch, &Message::FlowMod(*flow))
    }

    /// Has a packet sent.
    ///
    /// # Errors
    /// As [`send`](Handle::send).
    pub fn packet_out(&mut self, switch: Peer, packet: &PacketOut<'_>) -> Result<(), SendError> {
        self.counters.packet_outs += 1;
        self.send(switch, &Message::PacketOut(*packet))
    }

    /// Asks to be told, by [`App::barrier`](super::App::barrier), when all that was sent before is done.
    ///
    /// # Errors
    /// As [`send`](Handle::send).
    pub fn barrier(&mut self, switch: Peer, token: Token) -> Result<(), SendError> {
        let xid = self.pending.enter(switch, self.app, token);
        let sent = self.send_as(switch, xid, &Message::BarrierRequest);
        self.forget_unsent(switch, xid, sent)
    }

    /// Asks for statistics or descriptions; [`App::answer`](super::App::answer) gets the parts.
    ///
    /// # Errors
    /// As [`send`](Handle::send).
    pub fn ask(&mut self, switch: Peer, query: Query<'_>, token: Token) -> Result<(), SendError> {
        let xid = self.pending.enter(switch, self.app, token);
        let message = Message::MultipartRequest(MultipartRequest {
            more: false,
            body: query,
        });
        let sent = self.send_as(switch, xid, &message);
        self.forget_unsent(switch, xid, sent)
    }

    fn forget_unsent(
        &mut self,
        switch: Peer,
        xid: u32,
        sent: Result<(), SendError>,
    ) -> Result<(), SendError> {
        if sent.is_err() {
            self.pending.find(switch, xid, true);
        }
        sent
    }
}
