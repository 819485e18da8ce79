//! Table features as controllers are told them and may set them (1.3.5 section 7.3.5.5).
//!
//! From the start a table takes all that the switch can do. A request narrows tables, so that the switch is like one whose tables are
//! of hardware, and takes tables that it does not name out of the pipeline; a later request widens them again.

use super::Switch;
use super::datapath::Datapath;
use super::features::Features;
use super::field_list::FieldList;
use crate::channel::Peer;
use crate::fault::Fault;
use crate::instruction::Instruction;
use crate::list::List;
use crate::matching::Match;
use crate::message::{Header, TableFeatures, TableProperty};
use crate::port::Name;
use crate::table::Filter;
use crate::version::Version;
use alloc::vec::Vec;
use node::Time;
use node::budget::Held;

/// A table as a request wants it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requested {
    table: u8,
    name: Name<32>,
    limit: usize,
    /// It says which tables follow; else those do that are left.
    names_next: bool,
    features: Features,
}

/// Tables that are wanted, of a request that comes in several messages, and its number.
#[derive(Debug)]
pub(super) struct Request {
    xid: u32,
    tables: Vec<Requested>,
    /// A part of it was refused, and with that all of it.
    refused: bool,
    /// The memory of the tables.
    held: Option<Held>,
}

impl Datapath {
    /// Whether a table is in the pipeline.
    pub(super) fn has_table(&self, table: u8) -> bool {
        let features = self.features.get(usize::from(table));
        features.is_some_and(|features| features.present)
    }

    /// Whether a table takes entries that match this.
    pub(super) fn check_match(
        &self,
        table: u8,
        matching: &Match<'_>,
        is_miss: bool,
    ) -> Result<(), Fault> {
        match &self.features[usize::from(table)] {
            Features { whole: true, .. } => Ok(()),
            features => features.check_match(matching, is_miss),
        }
    }

    /// Whether a table takes entries that do this.
    pub(super) fn check_abilities<'a>(
        &self,
        table: u8,
        instructions: List<'a, Instruction<'a>>,
        is_miss: bool,
    ) -> Result<(), Fault> {
        match &self.features[usize::from(table)] {
            Features { whole: true, .. } => Ok(()),
            features => features.check_instructions(instructions, is_miss),
        }
    }

    /// Entries that their table does not take any more go, without a word to controllers.
    fn drop_unfit(&mut self, now: Time) {
        for table in 0..self.tables.len() as u8 {
            let features = self.features[usize::from(table)];
            if features.whole {
                continue;
            }
            let mut unfit = Vec::new();
            let filter = Filter {
                table: Some(table),
                pattern: Default::default(),
                strict: None,
                cookie: 0,
                cookie_mask: 0,
            };
            self.flows.select(&filter, |id| {
                let fields = FieldList::of(&self.flows.pattern(id), Version::V13);
                let is_miss = self.flows.flow(id).is_table_miss;
                let program = self.programs.get(self.flows.hot(id).program);
                let fits = features.present
                    && features.check_match(&fields.matching(), is_miss).is_ok()
                    && (features.check_instructions(program.instructions(), is_miss)).is_ok();
                if !fits {
                    unfit.push(id);
                }
            });
            for id in unfit {
                self.take_out(now, id, None);
            }
        }
    }
}

impl Switch {
    /// Takes a part of a request for other tables, and with the last one makes them so: all, or with an error none.
    pub(super) fn set_table_features(
        &mut self,
        now: Time,
        peer: Peer,
        xid: u32,
        wanted: List<'_, TableFeatures<'_>>,
        more: bool,
    ) -> Result<(), Fault> {
        let pending = self.session(peer).and_then(|session| session.tables.take());
        // Of one with another number the end never came.
        let mut request = pending
            .filter(|pending| pending.xid == xid)
            .unwrap_or(Request {
                xid,
                tables: Vec::new(),
                refused: false,
                held: None,
            });
        if request.refused {
            return Err(Fault::FeaturesEperm);
        }
        for wanted in wanted.iter() {
            if request.tables.iter().any(|one| one.table == wanted.table) {
                return Err(Fault::FeaturesBadTable);
            }
            request.tables.push(self.wanted(&wanted)?);
        }
        if more {
            if let Some(session) = self.session(peer) {
                // For all tables, when the first part has come.
                if request.held.is_none() {
                    let size = size_of::<Requested>() * usize::from(u8::MAX);
                    let held = session.account.hold(size);
                    request.held = Some(held.map_err(|_| Fault::MultipartBufferOverflow)?);
                }
                session.tables = Some(request);
            }
            return Ok(());
        }
        let mut new = self.datapath.features.clone();
        for (features, table) in new.iter_mut().zip(0..self.config.tables) {
            let wanted = request.tables.iter().find(|one| one.table == table);
            match wanted {
                Some(wanted) => *features = wanted.features,
                None => {
                    *features = Features::whole(table, self.config.tables);
                    (features.present, features.whole) = (false, false);
                }
            }
        }
        // Packets begin in the first table.
        if !new[0].present {
            return Err(Fault::FeaturesBadTable);
        }
        let mut present = [0; 4];
        for wanted in &request.tables {
            present[usize::from(wanted.table / 64)] |= 1 << (wanted.table % 64);
        }
        for wanted in &request.tables {
            let features = &mut new[usize::from(wanted.table)];
            for can in [&mut features.entries, &mut features.miss] {
                let kept = core::array::from_fn(|at| can.next[at] & present[at]);
                if kept == can.next {
                    continue;
                }
                if wanted.names_next {
                    return Err(Fault::FeaturesBadArgument);
                }
                can.next = kept;
                features.whole = false;
            }
        }
        for wanted in &request.tables {
            let own = &mut self.datapath.tables[usize::from(wanted.table)];
            (own.name, own.limit) = (wanted.name, wanted.limit);
        }
        self.datapath.features = new;
        self.datapath.drop_unfit(now);
        Ok(())
    }

    /// Whether parts of a request of this number have come.
    pub(super) fn is_setting_tables(&mut self, peer: Peer, xid: u32) -> bool {
        let session = self.session(peer);
        session.is_some_and(|session| session.tables.as_ref().is_some_and(|one| one.xid == xid))
    }

    /// What follows a part of a request for tables that was refused is refused too.
    pub(super) fn forget_tables(&mut self, peer: Peer, header: Header, bytes: &[u8]) {
        let Some(session) = self.session(peer) else {
            return;
        };
        // The types of a multipart request and of one for table features; the flag of more to come.
        if header.kind == 18 && bytes.get(8..10) == Some(&[0, 12]) {
            session.tables = (bytes.get(11).is_some_and(|flags| flags & 1 == 1)).then(|| Request {
                xid: header.xid,
                tables: Vec::new(),
                refused: true,
                held: None,
            });
        }
    }

    fn wanted(&self, table: &TableFeatures<'_>) -> Result<Requested, Fault> {
        if table.table >= self.config.tables {
            return Err(Fault::FeaturesBadTable);
        }
        // Bits that earlier versions gave a meaning to, as in a table-mod.
        let limit = table.max_entries as usize;
        if table.config & !3 != 0
            || limit > self.config.flows
            || limit < self.datapath.flows.len(table.table)
        {
            return Err(Fault::FeaturesBadArgument);
        }
        let whole = Features::whole(table.table, self.config.tables);
        Ok(Requested {
            table: table.table,
            name: table.name,
            limit,
            names_next: (table.properties.iter())
                .any(|property| matches!(property, TableProperty::NextTables { .. })),
            features: Features::narrowed(&whole, table)?,
        })
    }
}
