//! How the next sending rate follows from what came of the last one: RFC 9097 section 8.1, and algorithm C of RFC 9946.

use super::Settings;
use super::rates::{HIGH_SPEED, ROWS};
use packet::udpstp::Algorithm;

/// Fast steps by which the rate falls when congestion is confirmed.
const BACK: usize = 3;
/// Algorithm C: single steps until it tries fast ones again.
const RETRY: u32 = 5;

/// A search over the rows of the table.
#[derive(Clone, Debug)]
pub struct Search {
    settings: Settings,
    row: usize,
    most: usize,
    /// Trials with congestion.
    congested: u32,
    /// Algorithm C: whether this good trial doubles the row, which every second one does.
    doubles: bool,
    /// Algorithm C: single steps, and after how many fast ones are tried again.
    single: u32,
    retry: u32,
}

impl Search {
    /// From the row where it is to begin, or with one that is given all the time; never beyond `most`, the last row that may be.
    pub fn new(settings: &Settings, most: usize) -> Search {
        let row = usize::from(settings.row.unwrap_or(settings.start));
        Search {
            settings: *settings,
            row: row.min(most),
            most,
            congested: 0,
            doubles: false,
            single: 0,
            retry: RETRY,
        }
    }

    /// The row to send with.
    pub fn row(&self) -> usize {
        self.row
    }

    /// A trial is over: datagrams lost, out of order and come again, and by how many ms delay varied, if it was measured.
    pub fn trial(&mut self, errors: [u32; 3], variation: Option<u32>) {
        if self.settings.row.is_some() {
            return;
        }
        let [lost, disordered, again] = errors;
        let errors = match self.settings.ignore_reordered {
            true => lost,
            false => lost.saturating_add(disordered).saturating_add(again),
        };
        let many = errors > u32::from(self.settings.error_threshold);
        let (low, upper) = (self.settings.low_threshold, self.settings.upper_threshold);
        // What was not measured changes nothing.
        let variation = variation.unwrap_or(u32::from(low));
        if !many && variation < u32::from(low) {
            self.good();
            self.row = self.row.min(self.most);
        } else if many || variation > u32::from(upper) {
            self.bad();
        }
    }

    fn is_fast(&self) -> bool {
        self.row < HIGH_SPEED && self.congested < u32::from(self.settings.slow_threshold)
    }

    fn good(&mut self) {
        let step = usize::from(self.settings.fast_step);
        match (self.is_fast(), self.settings.algorithm) {
            (true, Algorithm::B) => self.row = (self.row + step).min(HIGH_SPEED),
            (true, Algorithm::C) => self.double(),
            (false, algorithm) => {
                if self.row < ROWS - 1 {
                    self.row += 1;
                    self.single += 1;
                }
                if algorithm == Algorithm::C && self.single >= self.retry {
                    (self.congested, self.single) = (0, 0);
                    self.retry += RETRY;
                }
                return;
            }
        }
        self.congested = 0;
    }

    /// Every second time, so that it is half as fast.
    fn double(&mut self) {
        if self.row * 2 > HIGH_SPEED {
            self.row = HIGH_SPEED;
            return;
        }
        self.row = self.row.max(1);
        if self.doubles {
            self.row *= 2;
        }
        self.doubles = !self.doubles;
    }

    fn bad(&mut self) {
        self.congested = self.congested.saturating_add(1);
        if self.row < HIGH_SPEED && self.congested == u32::from(self.settings.slow_threshold) {
            let back = BACK * usize::from(self.settings.fast_step);
            self.row = self.row.saturating_sub(back);
        } else if self.row > 0 {
            self.row -= 1;
            self.single += 1;
            if self.settings.algorithm == Algorithm::C && self.single >= self.retry {
                (self.congested, self.single) = (0, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const GOOD: ([u32; 3], Option<u32>) = ([0; 3], Some(0));
    const LOST: ([u32; 3], Option<u32>) = ([11, 0, 0], Some(0));

    fn rows(algorithm: Algorithm, trials: &[([u32; 3], Option<u32>)]) -> Vec<usize> {
        let settings = Settings {
            algorithm,
            ..Settings::default()
        };
        let mut search = Search::new(&settings, ROWS - 1);
        let walk = trials.iter().map(|(errors, variation)| {
            search.trial(*errors, *variation);
            search.row()
        });
        walk.collect()
    }

    /// The flow chart of RFC 9097 figure 3: ten rows at a step, single ones behind the third congestion, which costs thirty.
    #[test]
    fn algorithm_b_climbs_fast_until_congestion_is_confirmed() {
        let mut trials = [GOOD; 10].to_vec();
        trials.extend([LOST; 4]);
        trials.extend([GOOD; 2]);
        let climb = (1..=10).map(|n| 10 * n);
        let expected: Vec<usize> = climb.chain([99, 98, 68, 67, 68, 69]).collect();
        assert_eq!(rows(Algorithm::B, &trials), expected);
    }

    #[test]
    fn one_congestion_alone_does_not_end_fast_steps() {
        let trials = [GOOD, LOST, GOOD, LOST, GOOD, LOST, GOOD];
        let expected = [10, 9, 19, 18, 28, 27, 37];
        assert_eq!(rows(Algorithm::B, &trials), expected);
    }

    #[test]
    fn between_the_thresholds_and_without_a_measurement_nothing_changes() {
        let between = ([0; 3], Some(60));
        let unknown = ([10, 0, 0], None);
        let delayed = ([0; 3], Some(91));
        let trials = [GOOD, between, unknown, delayed];
        assert_eq!(rows(Algorithm::B, &trials), [10, 10, 10, 9]);
    }

    #[test]
    fn what_is_out_of_order_counts_only_where_it_is_asked_for() {
        let settings = Settings {
            ignore_reordered: false,
            ..Settings::default()
        };
        let mut search = Search::new(&settings, ROWS - 1);
        search.trial(GOOD.0, GOOD.1);
        search.trial([0, 6, 5], Some(0));
        assert_eq!(search.row(), 9);
        assert_eq!(rows(Algorithm::B, &[GOOD, ([0, 6, 5], Some(0))]), [10, 20]);
    }

    #[test]
    fn above_1_gigabit_steps_are_single_and_the_table_has_an_end() {
        let rows = rows(Algorithm::B, &[GOOD; 300]);
        assert_eq!(rows[98..102], [990, 1000, 1001, 1002]);
        assert_eq!(rows[299], ROWS - 1);
    }

    #[test]
    fn algorithm_c_doubles_every_second_time_and_tries_again() {
        let mut trials = [GOOD; 8].to_vec();
        assert_eq!(rows(Algorithm::C, &trials), [1, 2, 2, 4, 4, 8, 8, 16]);
        trials.extend([LOST; 3]);
        trials.extend([GOOD; 6]);
        // Two single steps down, to the start, and single steps up until there were five of them.
        let expected = [15, 14, 0, 1, 2, 3, 3, 6, 6];
        assert_eq!(rows(Algorithm::C, &trials)[8..], expected);
    }

    #[test]
    fn a_row_that_is_given_stays() {
        let settings = Settings {
            row: Some(200),
            ..Settings::default()
        };
        let mut search = Search::new(&settings, ROWS - 1);
        search.trial(LOST.0, LOST.1);
        assert_eq!(search.row(), 200);
        assert_eq!(Search::new(&settings, 100).row(), 100);
    }

    #[test]
    fn a_search_begins_where_it_is_told_and_ends_at_the_last_row_that_may_be() {
        let settings = Settings {
            start: 85,
            ..Settings::default()
        };
        let mut search = Search::new(&settings, 100);
        let mut walk = Vec::new();
        for _ in 0..3 {
            walk.push(search.row());
            search.trial(GOOD.0, GOOD.1);
        }
        assert_eq!(walk, [85, 95, 100]);
    }
}
