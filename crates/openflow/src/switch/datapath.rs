//! The way of a packet: tables, actions, groups, ports.

use super::buffers::Buffers;
use super::cache::Cache;
use super::features::Features;
use super::groups::{Group, Groups, Kind, MAX_CHAIN_DEPTH, choose, flow_hash};
use super::journal::{Removed, Undo};
use super::learning::Learning;
use super::meters::{Meters, Verdict, remark};
use super::pipeline_packet::Packet;
use super::ports::DataPort;
use super::program::{Programs, put};
use crate::action::{Action, NO_BUFFER};
use crate::key::Field;
use crate::message::PacketInReason;
use crate::oxm::VLAN_PRESENT;
use crate::port::{Name, PortNo, config};
use crate::table::{Batch, FlowId, Flows};
use crate::version::Version;
use alloc::vec::Vec;
use node::{Frame, Out, Time};

/// A packet on its way to controllers.
#[derive(Debug)]
pub(super) struct PacketInNotice {
    pub frame: Frame,
    pub reason: PacketInReason,
    pub table: u8,
    pub cookie: u64,
    pub in_port: u32,
    pub metadata: u64,
    pub tunnel_id: u64,
    /// The most bytes, or [`NO_BUFFER`]; `None` for those of a miss.
    pub max_len: Option<u16>,
    /// No entry matched, not even one for misses: only controllers of 1.0 want it.
    pub unmatched: bool,
}

/// A table, beside its entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableState {
    pub name: Name<32>,
    /// The most entries.
    pub limit: usize,
    pub lookups: u64,
    pub matches: u64,
}

/// The data plane.
#[derive(Debug)]
pub(super) struct Datapath {
    pub flows: Flows,
    pub programs: Programs,
    pub groups: Groups,
    pub meters: Meters,
    pub ports: Vec<DataPort>,
    pub buffers: Buffers,
    pub learning: Learning,
    pub tables: Vec<TableState>,
    /// What entries of each table may be.
    pub features: Vec<Features>,
    /// What controllers are to be told.
    pub notices: Vec<PacketInNotice>,
    /// IP fragments are dropped.
    pub drops_fragments: bool,
    /// No controller is there to say what to do: the switch forwards by itself.
    pub standalone: bool,
    /// Whether any controller wants misses without an entry, as those of 1.0 do.
    pub wants_misses: bool,
    /// Entries that have gone, for controllers to be told.
    pub removed: Vec<Removed>,
    /// Whether a full table gives up the entry that would go first.
    pub evicts: bool,
    /// How to take changes back, while they may be.
    pub journal: Option<Vec<Undo>>,
    pub chosen: Vec<FlowId>,
    pub scratch: Vec<u8>,
    pub actions: Vec<Action<'static>>,
    /// How many buckets the packet at hand may still be carried out by.
    budget: u32,
    cache: Cache,
    /// Packets that have come together, and the entries of the first table that they match.
    arrived: Vec<Packet>,
    found: Vec<Option<FlowId>>,
    batch: Batch,
    /// The action set of the packet at hand.
    set: Vec<Action<'static>>,
}

/// What is left of a packet after its actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    GoesOn,
    /// It is of no more use: a TTL is invalid.
    Ends,
}

/// The buckets of group and action set are not carried out within one another deeper than chains are long.
type Depth = u8;

impl Datapath {
    pub fn new(
        flows: Flows,
        limit: usize,
        ports: Vec<DataPort>,
        buffers: Buffers,
        learning: Learning,
    ) -> Datapath {
        let tables = flows.tables();
        let state = |table| TableState {
            name: Name::new(&alloc::format!("table {table}")),
            limit,
            lookups: 0,
            matches: 0,
        };
        Datapath {
            flows,
            programs: Programs::default(),
            groups: Groups::default(),
            meters: Meters::default(),
            ports,
            buffers,
            learning,
            tables: (0..tables).map(state).collect(),
            features: (0..tables as u8)
                .map(|table| Features::whole(table, tables as u8))
                .collect(),
            notices: Vec::new(),
            drops_fragments: false,
            standalone: false,
            wants_misses: false,
            removed: Vec::new(),
            actions: Vec::new(),
            evicts: false,
            journal: None,
            chosen: Vec::new(),
            scratch: Vec::new(),
            budget: 0,
            cache: Cache::new(),
            arrived: Vec::new(),
            found: Vec::new(),
            batch: Batch::default(),
            set: Vec::new(),
        }
    }

    /// The index of a port by its OpenFlow number.
    #[inline]
    pub fn port_index(&self, number: u32) -> Option<usize> {
        let index = (number as usize).checked_sub(1)?;
        (index < self.ports.len()).then_some(index)
    }

    /// Whether a port, or any, has this queue.
    pub fn has_queue(&self, port: Option<PortNo>, queue: u32) -> bool {
        let mut ports = self.ports.iter();
        ports.any(|p| {
            port.is_none_or(|port| port.0 == p.number) && p.queues.iter().any(|q| q.number == queue)
        })
    }

    /// A frame has come in.
    #[inline]
    pub fn receive(&mut self, now: Time, index: usize, frame: Frame, out: &mut Out) {
        let Some((frame, number)) = self.admit(index, frame, out) else {
            return;
        };
        let mut packet = Packet::new(frame, number);
        if self.drops_fragments && packet.layers.fragment {
            return out.drop(packet.take_frame(), "a fragment");
        }
        match self.standalone {
            true => self.finish_with(now, &mut packet, PortNo::NORMAL, out),
            false => self.pipeline(now, &mut packet, out),
        }
    }

    /// Frames have come in by one port.
    pub fn receive_each(
        &mut self,
        now: Time,
        index: usize,
        frames: impl Iterator<Item = Frame>,
        out: &mut Out,
    ) {
        if self.standalone {
            frames.for_each(|frame| self.receive(now, index, frame, out));
            return;
        }
        let mut arrived = core::mem::take(&mut self.arrived);
        arrived.clear();
        for frame in frames {
            let Some((frame, number)) = self.admit(index, frame, out) else {
                continue;
            };
            // Made where it stays: it is large.
            arrived.push(Packet::new(frame, number));
            if self.drops_fragments
                && let Some(mut packet) = arrived.pop_if(|packet| packet.layers.fragment)
            {
                out.drop(packet.take_frame(), "a fragment");
            }
        }
        // No packet changes entries, so what is found now holds until the last of them is through.
        let mut found = core::mem::take(&mut self.found);
        let (flows, batch) = (&self.flows, &mut self.batch);
        self.cache
            .lookup_each(flows, 0, &arrived, batch, &mut found);
        for (packet, found) in arrived.iter_mut().zip(&found) {
            self.tables_from(now, packet, *found, out);
        }
        (self.arrived, self.found) = (arrived, found);
    }

    /// Whether the port takes a frame, and the port's number.
    #[inline]
    fn admit(&mut self, index: usize, frame: Frame, out: &mut Out) -> Option<(Frame, u32)> {
        let port = &mut self.ports[index];
        if frame.len() < 14 {
            port.counters.rx_errors += 1;
            out.drop(frame, "shorter than an Ethernet header");
            return None;
        }
        if port.config & (config::PORT_DOWN | config::NO_RECV) != 0 || !port.link {
            port.counters.rx_dropped += 1;
            out.drop(frame, "the port is down or does not receive");
            return None;
        }
        port.counters.rx_packets += 1;
        port.counters.rx_bytes += frame.len() as u64;
        Some((frame, port.number))
    }

    /// Sends a packet by one port, and is done with it.
    fn finish_with(&mut self, now: Time, packet: &mut Packet, port: PortNo, out: &mut Out) {
        packet.pending = Some((port, NO_BUFFER));
        self.finish(now, packet, out);
    }

    /// Carries out the actions of a packet-out.
    pub fn packet_out(
        &mut self,
        now: Time,
        mut packet: Packet,
        actions: &[Action<'static>],
        out: &mut Out,
    ) {
        self.budget = MAX_BUCKETS;
        if self.apply(now, actions, &mut packet, out, 0) == After::Ends {
            packet.pending = None;
        }
        self.finish(now, &mut packet, out);
    }

    /// Takes a packet through the tables, from the first on.
    pub fn pipeline(&mut self, now: Time, packet: &mut Packet, out: &mut Out) {
        if packet.stale {
            packet.read_again();
        }
        let found = self.cache.lookup(&self.flows, 0, &packet.key);
        self.tables_from(now, packet, found, out);
    }

    /// Takes a packet through the tables, of which the first has this entry for it.
    #[inline]
    fn tables_from(
        &mut self,
        now: Time,
        packet: &mut Packet,
        mut found: Option<FlowId>,
        out: &mut Out,
    ) {
        self.set.clear();
        self.budget = MAX_BUCKETS;
        let mut table = 0;
        loop {
            let counters = &mut self.tables[usize::from(table)];
            counters.lookups += 1;
            let Some(entry) = found else {
                return self.missed(packet, table, out);
            };
            counters.matches += 1;
            match self.carry_out(now, packet, table, entry, out) {
                Some(next) => table = next,
                None => break,
            }
            if packet.stale {
                packet.read_again();
            }
            found = self.cache.lookup(&self.flows, table, &packet.key);
        }
        if !self.set.is_empty() {
            self.carry_out_set(now, packet, out);
        }
        self.finish(now, packet, out);
    }

    /// Carries out an entry's instructions; gives the next table. Without one, the action set is what is left to do.
    #[inline]
    fn carry_out(
        &mut self,
        now: Time,
        packet: &mut Packet,
        table: u8,
        entry: FlowId,
        out: &mut Out,
    ) -> Option<u8> {
        packet.table = table;
        packet.entry = Some(entry);
        let hot = self.flows.count(entry, packet.frame().len() as u64, now);
        let (number, is_miss) = (hot.program, hot.is_table_miss);
        let program = self.programs.take(number);
        // 1.0 has no entries for misses: what it sends to a controller an action has sent.
        packet.reason = match is_miss && program.version != Some(Version::V10) {
            true => PacketInReason::NoMatch,
            false => PacketInReason::Action,
        };
        let next = 'done: {
            if let Some(meter) = program.meter
                && !self.measure(now, meter, packet)
            {
                self.set.clear();
                packet.pending = None;
                packet.loss = "above a meter's rate";
                break 'done None;
            }
            if self.apply(now, &program.apply, packet, out, 0) == After::Ends {
                self.set.clear();
                packet.pending = None;
                break 'done None;
            }
            if program.clear {
                self.set.clear();
            }
            for &action in &program.write {
                put(&mut self.set, action);
            }
            if let Some((bits, mask)) = program.metadata {
                packet.key.0[1] = packet.key.0[1] & !mask | bits;
            }
            program.goto
        };
        self.programs.give(number, program);
        next
    }

    /// Nothing matched.
    fn missed(&mut self, packet: &mut Packet, table: u8, out: &mut Out) {
        if !self.wants_misses {
            return out.drop(packet.take_frame(), "no entry matches");
        }
        packet.table = table;
        packet.entry = None;
        packet.reason = PacketInReason::NoMatch;
        self.packet_in(packet, None, true, out);
        out.done(packet.take_frame());
    }

    /// Passes a packet through a meter; says whether it is left.
    fn measure(&mut self, now: Time, meter: u32, packet: &mut Packet) -> bool {
        let Some(meter) = self.meters.all.get_mut(&meter) else {
            return true;
        };
        match meter.measure(now, packet.frame().len()) {
            Verdict::Pass => true,
            Verdict::Drop => false,
            Verdict::Remark(levels) => {
                let old = packet.key.get(Field::IpDscp) as u8;
                let new = remark(old, levels);
                if new != old && packet.layers.protocol_at != 0 {
                    packet.set_field(Field::IpDscp, new.into());
                }
                true
            }
        }
    }

    /// Carries out the packet's action set.
    fn carry_out_set(&mut self, now: Time, packet: &mut Packet, out: &mut Out) {
        let set = core::mem::take(&mut self.set);
        packet.reason = PacketInReason::Action;
        self.apply_set(now, &set, packet, out, 0);
        self.set = set;
    }

    /// Carries out actions in the order of a set: with a group among them, outputs do not count.
    fn apply_set(
        &mut self,
        now: Time,
        set: &[Action<'static>],
        packet: &mut Packet,
        out: &mut Out,
        depth: Depth,
    ) {
        let group = set.iter().position(|a| matches!(a, Action::Group(_)));
        let end = group.map_or(set.len(), |at| at + 1);
        if self.apply(now, &set[..end], packet, out, depth) == After::Ends {
            packet.pending = None;
        }
    }

    /// Does what is pending, with a copy of the packet.
    fn flush(&mut self, now: Time, packet: &mut Packet, out: &mut Out) {
        let Some((port, max_len)) = packet.pending.take() else {
            return;
        };
        if port.0 == packet.in_port && port.is_physical() {
            packet.loss = TO_ARRIVAL;
            return;
        }
        let mut copy = packet.copy(out);
        let output = self.output(now, &mut copy, port, max_len, out);
        packet.settle(copy, output, out);
    }

    /// Carries out actions in order.
    fn apply(
        &mut self,
        now: Time,
        actions: &[Action<'static>],
        packet: &mut Packet,
        out: &mut Out,
        depth: Depth,
    ) -> After {
        for action in actions {
            self.flush(now, packet, out);
            match *action {
                Action::Output { port, max_len } => packet.pending = Some((port, max_len)),
                Action::Enqueue { port, queue } => {
                    let before = core::mem::replace(&mut packet.queue, queue);
                    packet.pending = Some((port, NO_BUFFER));
                    self.flush(now, packet, out);
                    packet.queue = before;
                }
                Action::SetQueue(queue) => packet.queue = queue,
                Action::Group(group) => self.group(now, group, packet, out, depth),
                ref change => {
                    if packet.modify(change).is_err() {
                        packet.reason = PacketInReason::InvalidTtl;
                        packet.loss = "an invalid TTL";
                        self.packet_in(packet, None, false, out);
                        return After::Ends;
                    }
                }
            }
        }
        After::GoesOn
    }

    /// Carries out a group for a packet, which stays as it is.
    fn group(&mut self, now: Time, number: u32, packet: &mut Packet, out: &mut Out, depth: Depth) {
        if depth >= MAX_CHAIN_DEPTH || self.budget == 0 {
            return;
        }
        if packet.stale {
            packet.read_again();
        }
        let Some(group) = self.groups.all.get_mut(&number) else {
            return;
        };
        self.budget -= 1;
        group.packets += 1;
        group.bytes += packet.frame().len() as u64;
        // While its buckets are carried out the group has none.
        let mut buckets = core::mem::take(&mut group.buckets);
        let kind = group.kind;
        match kind {
            Kind::All => {
                for bucket in &mut buckets {
                    self.budget = self.budget.saturating_sub(1);
                    self.bucket(now, bucket, packet, out, depth);
                }
            }
            Kind::Indirect | Kind::FastFailover | Kind::Select => {
                let chosen = self.chosen(kind, &buckets, packet);
                if let Some(bucket) = chosen.and_then(|index| buckets.get_mut(index)) {
                    self.bucket(now, bucket, packet, out, depth);
                }
            }
        }
        if let Some(Group { buckets: place, .. }) = self.groups.all.get_mut(&number) {
            *place = buckets;
        }
    }

    /// The bucket that a packet takes.
    fn chosen(
        &self,
        kind: Kind,
        buckets: &[super::groups::Bucket],
        packet: &Packet,
    ) -> Option<usize> {
        let port_lives = |port: u32| self.port_index(port).is_some_and(|i| self.ports[i].lives());
        let live = |bucket| self.groups.is_live(bucket, kind, &port_lives);
        if kind != Kind::Select {
            return match kind {
                Kind::FastFailover => buckets.iter().position(live),
                _ => (!buckets.is_empty()).then_some(0),
            };
        }
        let living = || {
            let pairs = buckets
                .iter()
                .enumerate()
                .filter(|(_, bucket)| live(bucket));
            pairs.map(|(index, bucket)| (index, u64::from(bucket.weight)))
        };
        let total = living().map(|(_, weight)| weight).sum();
        choose(flow_hash(&packet.key), living(), total)
    }

    fn bucket(
        &mut self,
        now: Time,
        bucket: &mut super::groups::Bucket,
        packet: &mut Packet,
        out: &mut Out,
        depth: Depth,
    ) {
        bucket.packets += 1;
        bucket.bytes += packet.frame().len() as u64;
        let mut copy = packet.copy(out);
        self.apply_set(now, &bucket.actions, &mut copy, out, depth + 1);
        let output = self.last_output(now, &mut copy, out);
        packet.settle(copy, output, out);
    }

    /// Does what is pending with the packet itself, and is done with it.
    #[inline]
    fn finish(&mut self, now: Time, packet: &mut Packet, out: &mut Out) {
        if let Err(loss) = self.last_output(now, packet, out) {
            // A frame that other outputs took is not lost.
            match packet.copied {
                true => out.done(packet.take_frame()),
                false => out.drop(packet.take_frame(), loss),
            }
        }
    }

    /// Does what is pending with the packet itself.
    ///
    /// # Errors
    /// Why it has gone nowhere; the packet still has its frame.
    #[inline]
    fn last_output(
        &mut self,
        now: Time,
        packet: &mut Packet,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        match packet.pending.take() {
            Some((port, max_len)) => self.output(now, packet, port, max_len, out),
            None => Err(packet.loss),
        }
    }

    /// Sends a packet by a port.
    ///
    /// # Errors
    /// Why there is no port that it goes to; the packet still has its frame. What a port does not carry is a drop of
    /// that port.
    #[inline]
    fn output(
        &mut self,
        now: Time,
        packet: &mut Packet,
        port: PortNo,
        max_len: u16,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        match port {
            PortNo::CONTROLLER => {
                let max_len = match packet.reason {
                    PacketInReason::NoMatch | PacketInReason::Action => Some(max_len),
                    PacketInReason::InvalidTtl => None,
                };
                self.packet_in(packet, max_len, false, out);
                out.done(packet.take_frame());
            }
            PortNo::IN_PORT => {
                let (number, queue) = (packet.in_port, packet.queue);
                self.send(now, number, packet.take_frame(), queue, out);
            }
            PortNo::ALL => return self.send_all(now, packet, 0, out),
            PortNo::FLOOD => return self.send_all(now, packet, config::NO_FLOOD, out),
            PortNo::NORMAL => return self.forward(now, packet, out),
            PortNo::TABLE => {
                packet.queue = 0;
                if packet.stale {
                    packet.read_again();
                }
                (packet.key.0[1], packet.key.0[10]) = (0, 0);
                packet.copied = false;
                self.pipeline(now, packet, out);
            }
            PortNo(number) if number == packet.in_port => return Err(TO_ARRIVAL),
            PortNo(number) => {
                let queue = packet.queue;
                self.send(now, number, packet.take_frame(), queue, out);
            }
        }
        Ok(())
    }

    #[inline]
    fn send(&mut self, now: Time, number: u32, frame: Frame, queue: u32, out: &mut Out) {
        match self.port_index(number) {
            Some(index) => self.ports[index].send(now, frame, queue, out),
            None => out.drop(frame, "output to a port that there is not"),
        }
    }

    /// Sends by all ports but that of arrival and those with a bit of their configuration set.
    fn send_all(
        &mut self,
        now: Time,
        packet: &mut Packet,
        without: u32,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        let mut last = None;
        for index in 0..self.ports.len() {
            let port = &self.ports[index];
            if port.number == packet.in_port || port.config & without != 0 || !port.sends() {
                continue;
            }
            if let Some(before) = last.replace(index) {
                let copy = out.copy(packet.frame());
                self.ports[before].send(now, copy, packet.queue, out);
            }
        }
        match last {
            Some(index) => {
                let queue = packet.queue;
                self.ports[index].send(now, packet.take_frame(), queue, out);
                Ok(())
            }
            None => Err("no other port"),
        }
    }

    /// The switch's own forwarding: by learned addresses.
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        if packet.stale {
            packet.read_again();
        }
        let vlan = packet.key.get(Field::VlanVid) as u16 & !VLAN_PRESENT;
        let source = packet.key.get(Field::EthSrc) as u64;
        let destination = packet.key.get(Field::EthDst) as u64;
        if self.port_index(packet.in_port).is_some() {
            self.learning.learn(now, vlan, source, packet.in_port);
        }
        // Frames that a bridge keeps to itself (IEEE 802.1Q table 8-1).
        if destination & !0xF == 0x0180_C200_0000 {
            return Err("reserved address");
        }
        match self.learning.find(now, vlan, destination) {
            Some(port) if port == packet.in_port => Err("destination on the port of arrival"),
            Some(port) => {
                let queue = packet.queue;
                self.send(now, port, packet.take_frame(), queue, out);
                Ok(())
            }
            None => self.send_all(now, packet, config::NO_FLOOD, out),
        }
    }

    /// Tells controllers of a packet.
    fn packet_in(
        &mut self,
        packet: &mut Packet,
        max_len: Option<u16>,
        unmatched: bool,
        out: &mut Out,
    ) {
        let silent = self
            .port_index(packet.in_port)
            .is_some_and(|index| self.ports[index].config & config::NO_PACKET_IN != 0);
        if silent || self.notices.len() >= MAX_NOTICES {
            let loss = match silent {
                true => "the port keeps its packets from controllers",
                false => "too many copies for controllers",
            };
            return lose_notice(out.copy(packet.frame()), packet.reason, loss, out);
        }
        let cookie = packet
            .entry
            .map_or(u64::MAX, |entry| self.flows.flow(entry).cookie);
        self.notices.push(PacketInNotice {
            frame: out.copy(packet.frame()),
            reason: packet.reason,
            table: packet.table,
            cookie,
            in_port: packet.in_port,
            metadata: packet.key.0[1],
            tunnel_id: packet.key.0[10],
            max_len,
            unmatched,
        });
    }
}

/// A packet goes to no controller. With an invalid TTL the packet itself is the drop, and controllers are only
/// notified.
pub(super) fn lose_notice(frame: Frame, reason: PacketInReason, loss: &'static str, out: &mut Out) {
    match reason {
        PacketInReason::InvalidTtl => out.done(frame),
        PacketInReason::NoMatch | PacketInReason::Action => out.drop(frame, loss),
    }
}

/// The reason of a drop: the only output is suppressed.
const TO_ARRIVAL: &str = "output to the port of arrival";

/// Maximum number of buckets that are executed for one packet; chains of groups could multiply it
/// without end.
const MAX_BUCKETS: u32 = 4096;

/// Maximum number of notices of one frame or message.
const MAX_NOTICES: usize = 4096;
