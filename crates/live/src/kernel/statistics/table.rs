//! Routes and neighbours: what was told of them, and what has changed since.

use super::interface::InterfaceStatistics;
use node::Port;
use node::event::{Neighbour, Route, What};
use std::net::IpAddr;

/// Routes, and neighbours, that are known at most; others are left out.
pub const LIMIT: usize = 4096;

/// What was told, and what is yet to be.
#[derive(Default)]
pub struct Table {
    routes: Vec<(Port, Route)>,
    fresh: Vec<(Port, Route)>,
    neighbours: Vec<(Port, Neighbour)>,
    /// For each of these whether it is still there, while all are read anew.
    kept: Vec<bool>,
    /// To be told.
    pub changes: Vec<(Port, What)>,
}

/// What makes a route the same one.
fn key(entry: &(Port, Route)) -> (u16, IpAddr, u8, u32, Option<IpAddr>) {
    let (port, route) = entry;
    (port.0, route.to, route.prefix, route.metric, route.via)
}

impl Table {
    /// A route that is there, by the interface of this number.
    pub fn route(&mut self, interfaces: &[InterfaceStatistics], index: u32, route: Route) {
        for interface in interfaces
            .iter()
            .filter(|interface| interface.index == Some(index))
        {
            if self.fresh.len() < LIMIT {
                self.fresh.push((interface.port, route));
            }
        }
    }

    /// All routes were told by now: what has changed.
    pub fn routes_read(&mut self) {
        self.fresh.sort_unstable_by_key(key);
        self.fresh.dedup_by_key(|entry| key(entry));
        let search = |list: &[(Port, Route)], entry| list.binary_search_by_key(&key(entry), key);
        for entry in &self.routes {
            if search(&self.fresh, entry).is_err() {
                let gone = Route {
                    there: false,
                    ..entry.1
                };
                self.changes.push((entry.0, What::Route(gone)));
            }
        }
        for entry in &self.fresh {
            if search(&self.routes, entry).is_err() {
                self.changes.push((entry.0, What::Route(entry.1)));
            }
        }
        std::mem::swap(&mut self.routes, &mut self.fresh);
        self.fresh.clear();
    }

    /// All neighbours are read anew.
    pub fn neighbours_begin(&mut self) {
        self.kept.clear();
        self.kept.resize(self.neighbours.len(), false);
    }

    /// Those that were not met again are gone.
    pub fn neighbours_read(&mut self) {
        let mut kept = self.kept.iter();
        let changes = &mut self.changes;
        self.neighbours.retain(|entry| {
            // New ones are at the end, beyond those that were marked.
            let stays = kept.next().copied().unwrap_or(true);
            if !stays {
                changes.push(vanished(entry));
            }
            stays
        });
        self.kept.clear();
    }

    /// A neighbour as it is now, on the interface of this number, or one that is gone.
    pub fn neighbour(
        &mut self,
        interfaces: &[InterfaceStatistics],
        index: u32,
        neighbour: Neighbour,
        gone: bool,
    ) {
        for interface in interfaces
            .iter()
            .filter(|interface| interface.index == Some(index))
        {
            let same = |entry: &(Port, Neighbour)| {
                entry.0 == interface.port && entry.1.address == neighbour.address
            };
            let place = self.neighbours.iter().position(same);
            let entry = (interface.port, neighbour);
            match place {
                Some(place) if gone => {
                    let before = self.neighbours.remove(place);
                    if place < self.kept.len() {
                        self.kept.remove(place);
                    }
                    self.changes.push(vanished(&before));
                }
                Some(place) => {
                    if let Some(kept) = self.kept.get_mut(place) {
                        *kept = true;
                    }
                    if self.neighbours[place] != entry {
                        self.neighbours[place] = entry;
                        self.changes
                            .push((interface.port, What::Neighbour(neighbour)));
                    }
                }
                None if gone || self.neighbours.len() >= LIMIT => {}
                None => {
                    self.neighbours.push(entry);
                    self.changes
                        .push((interface.port, What::Neighbour(neighbour)));
                }
            }
        }
    }
}

fn vanished(entry: &(Port, Neighbour)) -> (Port, What) {
    let gone = Neighbour {
        mac: None,
        reachable: false,
        ..entry.1
    };
    (entry.0, What::Neighbour(gone))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::statistics::message::Link;

    fn interfaces() -> Vec<InterfaceStatistics> {
        let interface = |port: u16, index: u32| {
            let mut interface = InterfaceStatistics::new(Port(port), "eth");
            let link = Link {
                index,
                name: b"eth",
                flags: 0,
                mtu: 0,
            };
            interface.found(&link, None);
            interface
        };
        vec![interface(0, 5), interface(1, 6)]
    }

    fn route(last: u8, via: u8) -> Route {
        Route {
            to: [10, 0, last, 0].into(),
            prefix: 24,
            via: Some([10, 9, 9, via].into()),
            metric: 0,
            there: true,
        }
    }

    #[test]
    fn only_changes_of_routes_are_told() {
        let (interfaces, mut table) = (interfaces(), Table::default());
        let mut read = |routes: &[(u32, Route)]| {
            for (index, route) in routes {
                table.route(&interfaces, *index, *route);
            }
            table.routes_read();
            std::mem::take(&mut table.changes)
        };
        // One leads out of another interface.
        let told = read(&[(5, route(1, 1)), (6, route(2, 1)), (7, route(3, 1))]);
        assert_eq!(
            told,
            [
                (Port(0), What::Route(route(1, 1))),
                (Port(1), What::Route(route(2, 1)))
            ]
        );
        assert_eq!(read(&[(6, route(2, 1)), (5, route(1, 1))]), []);
        // By another router now, and one no more.
        let gone = |route| Route {
            there: false,
            ..route
        };
        let told = [
            (Port(0), What::Route(gone(route(1, 1)))),
            (Port(1), What::Route(gone(route(2, 1)))),
            (Port(0), What::Route(route(1, 2))),
        ];
        assert_eq!(read(&[(5, route(1, 2))]), told);
    }

    #[test]
    fn only_changes_of_neighbours_are_told() {
        let (interfaces, mut table) = (interfaces(), Table::default());
        let at = |last: u8, reachable| Neighbour {
            address: [10, 0, 0, last].into(),
            mac: Some([2; 6]),
            reachable,
        };
        let gone = |last: u8| Neighbour {
            mac: None,
            ..at(last, false)
        };
        table.neighbour(&interfaces, 5, at(1, true), false);
        table.neighbour(&interfaces, 5, at(1, true), false);
        table.neighbour(&interfaces, 5, at(2, true), false);
        table.neighbour(&interfaces, 9, at(3, true), false);
        table.neighbour(&interfaces, 5, at(1, false), false);
        table.neighbour(&interfaces, 5, at(2, true), true);
        let told: Vec<What> = table.changes.drain(..).map(|(_, what)| what).collect();
        let told_of = [at(1, true), at(2, true), at(1, false), gone(2)];
        assert_eq!(told, told_of.map(What::Neighbour));
        // All anew, with one there for the first time and one no more.
        table.neighbours_begin();
        table.neighbour(&interfaces, 5, at(4, true), false);
        table.neighbours_read();
        let told: Vec<What> = table.changes.drain(..).map(|(_, what)| what).collect();
        assert_eq!(told, [at(4, true), gone(1)].map(What::Neighbour));
    }
}
