//! DCTCP's estimate of the share of bytes that are marked (RFC 8257 section 3.3).

use super::behind;

/// Weight of a new observation (RFC 8257 section 4.2, Linux's value).
const GAIN: f64 = 1.0 / 16.0;

/// See the [module](self).
#[derive(Clone, Copy)]
pub(super) struct Dctcp {
    /// Estimate of the share, 0 to 1.
    alpha: f64,
    /// End of the observation window; `None` before the first.
    end: Option<u32>,
    delivered: u64,
    marked: u64,
}

impl Dctcp {
    /// Begins with a share of 1, so that the first mark halves the window.
    pub fn new() -> Dctcp {
        Dctcp {
            alpha: 1.0,
            end: None,
            delivered: 0,
            marked: 0,
        }
    }

    /// Takes an acknowledgement of everything before `number`, which reports `delivered` bytes of which `marked` were marked.
    /// `next` is the end of what was sent.
    pub fn take(&mut self, number: u32, next: u32, delivered: u64, marked: u64) {
        self.delivered += delivered;
        self.marked += marked.min(delivered);
        let end = *self.end.get_or_insert(next);
        if behind(end, number) {
            return;
        }
        if self.delivered > 0 {
            let share = self.marked as f64 / self.delivered as f64;
            self.alpha += GAIN * (share - self.alpha);
        }
        (self.end, self.delivered, self.marked) = (Some(next), 0, 0);
    }

    /// Factor of the window after a mark.
    pub fn factor(&self) -> f64 {
        1.0 - self.alpha / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_falls_by_a_sixteenth_in_a_round_without_marks_and_approaches_their_share() {
        const WINDOW: u32 = 10_000;
        let mut dctcp = Dctcp::new();
        let mut number = u32::MAX - 5_000;
        dctcp.take(number, number.wrapping_add(WINDOW), 0, 0);
        // Ten acknowledgements a round, the first of which report marks.
        let mut round = |marks: u32| {
            for index in 0..10 {
                number = number.wrapping_add(WINDOW / 10);
                let marked = if index < marks { 1_000 } else { 0 };
                dctcp.take(number, number.wrapping_add(WINDOW), 1_000, marked);
            }
            2.0 - 2.0 * dctcp.factor()
        };
        for rounds in 1..60 {
            let wanted = libm::pow(15.0 / 16.0, rounds.into());
            assert!((round(0) - wanted).abs() < 1e-9, "after {rounds} rounds");
        }
        let after = (0..200).map(|_| round(3)).last();
        assert!(
            after.is_some_and(|alpha| (alpha - 0.3).abs() < 1e-4),
            "{after:?}"
        );
    }

    #[test]
    fn more_marks_than_bytes_count_as_all() {
        let mut dctcp = Dctcp::new();
        for round in 0..100 {
            dctcp.take(round, round + 1, 10, u64::MAX / 200);
        }
        assert_eq!(dctcp.factor(), 0.5);
    }
}
