//! Proportional rate reduction (RFC 6937): a window falls to its threshold by as much as arrives.

/// A reduction under way. All in bytes.
pub(super) struct Reduction {
    /// RecoverFS, prr_delivered and prr_out.
    flight: u64,
    delivered: u64,
    pub(super) sent: u64,
}

impl Reduction {
    /// With `flight` bytes that were not acknowledged.
    pub(super) fn new(flight: u64) -> Reduction {
        Reduction {
            flight,
            delivered: 0,
            sent: 0,
        }
    }

    /// Bytes that may leave now that `delivered` bytes have arrived; `pipe` are in flight. Below the threshold `extra` more may leave than have
    /// arrived.
    pub(super) fn allows(&mut self, delivered: u64, pipe: u64, threshold: u64, extra: u64) -> u64 {
        self.delivered += delivered;
        if pipe > threshold {
            let share = u128::from(self.delivered) * u128::from(threshold);
            let share = share.div_ceil(self.flight.max(1).into()) as u64;
            return share.saturating_sub(self.sent);
        }
        let limit = self.delivered.saturating_sub(self.sent);
        (limit.max(delivered) + extra).min(threshold - pipe)
    }
}
