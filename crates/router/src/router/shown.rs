//! Counters and tables of the router.

use super::Router;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use node::outcome::Table;
use node::{Statistics, Time};

/// Maximum number of neighbours in the table of neighbours.
const MAX_SHOWN: usize = 4096;

impl Router {
    /// Its counters.
    pub(super) fn counted(&self) -> Statistics {
        let own = self.vrfs.iter().map(|vrf| vrf.own.counters());
        let pings = own.map(|counters| counters.pings).sum();
        let mut all = Statistics::from([
            ("forwarded", self.counters.forwarded),
            ("labelled", self.counters.labelled),
            ("fragmented", self.counters.fragmented),
            ("delivered", self.counters.delivered),
            ("pings", pings),
            ("errors", self.counters.errors),
            ("redirects", self.counters.redirects),
            ("ignored", self.counters.ignored),
        ]);
        if let Some(border) = &self.border {
            for (name, count) in border.nat.counters().named() {
                all.counter(&format!("nat_{name}"), count);
            }
            let server = border.server.iter();
            for (name, count) in server.flat_map(|server| server.counters().named()) {
                all.counter(&format!("port_mapping_{name}"), count);
            }
        }
        if let Some(crossing) = &self.crossing {
            crossing.count(&mut all);
        }
        for vrf in self.vrfs.iter().filter(|vrf| !vrf.services.is_empty()) {
            vrf.services.count(&mut all);
        }
        if self.vrfs.iter().any(|vrf| !vrf.services.is_empty()) {
            all.counter("refused_changes", self.counters.refused_changes);
        }
        if let Some(filter) = &self.filter {
            filter.count(&mut all);
        }
        all
    }

    /// Its tables.
    pub(super) fn shown(&self, now: Time) -> Vec<Table> {
        let routes = self.vrfs.iter().map(|vrf| Table {
            name: match &vrf.name {
                Some(name) => format!("routes of {name}"),
                None => String::from("routes"),
            },
            entries: vrf
                .tables
                .routes()
                .map(|route| format!("{route}"))
                .collect(),
        });
        let neighbours = self.ports.iter().enumerate().flat_map(|(number, port)| {
            let all = port.interface.all_neighbours(now);
            all.map(move |(who, mac, state)| {
                format!(
                    "{who} dev {number} lladdr {} {state:?}",
                    packet::ethernet::Mac(mac)
                )
            })
        });
        let neighbours = Table {
            name: String::from("neighbours"),
            entries: neighbours.take(MAX_SHOWN).collect(),
        };
        let border = self.border.iter().flat_map(|border| {
            let server = border.server.as_ref().map(|server| server.table(now));
            border.nat.tables(now).into_iter().chain(server)
        });
        let labels = (!self.config.mpls.is_empty()).then(|| Table {
            name: String::from("labels"),
            entries: self
                .config
                .mpls
                .iter()
                .map(|one| format!("{one}"))
                .collect(),
        });
        let services = self.vrfs.iter().flat_map(|vrf| vrf.services.tables(now));
        let crossing = self.crossing.iter();
        let crossing = crossing.flat_map(|crossing| crossing.tables(now));
        let all = routes.chain(labels).chain([neighbours]).chain(border);
        let filter = self.filter.iter().flat_map(|filter| filter.tables(now));
        all.chain(crossing).chain(filter).chain(services).collect()
    }
}
