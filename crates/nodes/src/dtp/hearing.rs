//! T4: what a port does by the beacons that it hears, and how it tells a faulty peer.

use super::Base;

/// A beacon that is off by more says nothing (section 4.5.2).
pub const RANGE: i64 = 8;
/// By the gradient: it lets healthy neighbours part by more than 8 ticks, and brings together again
/// only those within range. In chains of 100 devices, half of them fast and half slow, neighbours are
/// up to 23 ticks apart.
pub const WIDE_RANGE: i64 = 24;
/// Ticks in which one of the jumps that were added up is forgotten: 357 ppm, where two healthy
/// clocks are at most 200 ppm apart.
const FORGET: u64 = 2_800;
/// Maximum number of ticks by which a peer may move the device's counter before it counts as
/// faulty. Each hop of a network may bring a counter up to 8 ticks ahead without a BEACON-JOIN:
/// enough for 20 hops.
const MAX_JUMP_TICKS: u32 = 160;
/// Maximum number of beacons out of range, less those within it. All those that arrive within a
/// round trip count as one.
const MAX_ASTRAY: u32 = 16;
/// Number of beacons after which a peer with a lower counter has missed a BEACON-JOIN.
const BEHIND: u32 = 6;

/// A port's local counter, and what is remembered of the peer's beacons: a cache line, since models of large networks look at little
/// else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hearing {
    pub local: Base,
    /// Jumps, minus those that leaked by this tick.
    since: u64,
    jumped: u32,
    astray: u32,
    behind: u32,
    pub greatest_jump: u32,
    pub heard: u64,
    pub jumps: u64,
    pub out_of_range: u64,
}

/// What a beacon has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeaconOutcome {
    Nothing,
    /// The local counter has moved.
    Moved,
    /// The peer is ahead out of range. It may have joined another network not long ago.
    Astray,
    /// The peer is behind, and has to be told.
    FellBehind,
    /// The peer is to be given up.
    Faulty,
}

impl Hearing {
    /// The link has come up.
    pub fn begin(&mut self, tick: u64, global: Base) {
        self.local = global;
        (self.since, self.jumped) = (tick, 0);
        (self.astray, self.behind) = (0, 0);
    }

    /// A beacon that is `ahead` ticks ahead of the local counter, and `leads` ticks ahead of the
    /// device's, the delay counted in.
    #[inline]
    pub fn beacon(&mut self, tick: u64, ahead: i64, leads: i64) -> BeaconOutcome {
        match self.weigh(ahead, RANGE) {
            Ok(()) if ahead > 0 => {}
            Ok(()) => return BeaconOutcome::Nothing,
            Err(told) => return told,
        }
        if self.charge(tick, leads) {
            return BeaconOutcome::Faulty;
        }
        self.jump(ahead);
        BeaconOutcome::Moved
    }

    /// A beacon that is `ahead` ticks ahead of the local counter, whose lead over the device's is
    /// charged later.
    #[inline]
    pub fn beacon_on_credit(&mut self, ahead: i64) -> BeaconOutcome {
        match self.weigh(ahead, RANGE) {
            Ok(()) if ahead > 0 => self.jump(ahead),
            Ok(()) => return BeaconOutcome::Nothing,
            Err(told) => return told,
        }
        BeaconOutcome::Moved
    }

    #[inline]
    fn jump(&mut self, ahead: i64) {
        self.jumps += 1;
        self.greatest_jump = self.greatest_jump.max(ahead as u32);
        self.local = self.local.plus(ahead);
    }

    /// Charges the peer with the ticks by which a beacon moved the device's counter; a peer that
    /// only follows this device does not move it. Returns whether to give the peer up.
    pub fn charge(&mut self, tick: u64, leads: i64) -> bool {
        let forgotten = (tick - self.since) / FORGET;
        self.since += forgotten * FORGET;
        let forgotten = u32::try_from(forgotten).unwrap_or(u32::MAX);
        self.jumped = self.jumped.saturating_sub(forgotten);
        self.jumped += leads.max(0) as u32;
        self.jumped > MAX_JUMP_TICKS
    }

    /// Takes a beacon `ahead` ticks ahead that does not move a counter itself. Beyond `range` it is
    /// out of range.
    ///
    /// # Errors
    /// What has come of one that is out of range.
    #[inline]
    pub fn weigh(&mut self, ahead: i64, range: i64) -> Result<(), BeaconOutcome> {
        if ahead.abs() > range {
            return Err(self.out_of_range(ahead));
        }
        self.heard_in_range(1);
        Ok(())
    }

    /// So many beacons that were not ahead, and not out of range either.
    #[inline]
    pub fn heard_in_range(&mut self, beacons: u64) {
        self.heard += beacons;
        let beacons = u32::try_from(beacons).unwrap_or(u32::MAX);
        (self.astray, self.behind) = (self.astray.saturating_sub(beacons), 0);
    }

    #[cold]
    fn out_of_range(&mut self, ahead: i64) -> BeaconOutcome {
        self.heard += 1;
        self.out_of_range += 1;
        if ahead > 0 {
            return BeaconOutcome::Astray;
        }
        self.behind += 1;
        if self.behind < BEHIND {
            return BeaconOutcome::Nothing;
        }
        self.behind = 0;
        BeaconOutcome::FellBehind
    }

    /// Counts a beacon that was astray; whether the peer is to be given up.
    pub fn count_astray(&mut self) -> bool {
        self.astray += 1;
        self.astray > MAX_ASTRAY
    }
}
