//! Registers and counters: memories that packets read and write.
//!
//! All that one packet does with an object happens in one cycle wherever that can be, so that the next packet, a cycle
//! later, sees it done.

use crate::graph::{Id, Two};
use crate::map::{DigestMap, meter};
use crate::state::{Access, State, Walk};
use alloc::format;
use alloc::vec::Vec;
use p4::ir::{LValue, ObjectId, Unit};
use pipeline::environment::{Object, Unsupported};

/// How many bits a cell has, and how many cells there are.
pub(crate) fn shape(object: &Object) -> Option<(u32, usize)> {
    match object {
        Object::Register(register) => {
            let width = register.fields.iter().map(|(_, ty)| ty.width()).sum();
            Some((width, register.size()))
        }
        // Bytes above packets.
        Object::Counter(counter) => Some((128, counter.size())),
        Object::Meter(of) => Some((meter::WIDTH, of.size())),
        _ => None,
    }
}

impl Walk<'_> {
    /// An index of a memory of so many cells, and whether it is one.
    fn index(&mut self, index: Id, size: usize) -> (Id, Id) {
        let bits = (usize::BITS - size.saturating_sub(1).leading_zeros()).max(1);
        let width = self.graph.width(index);
        let wide = self.graph.resize(index, width.max(bits + 1));
        let limit = self.graph.constant(width.max(bits + 1), size as u64);
        let inside = match self.graph.most(index) < size as u64 {
            true => self.graph.bit(true),
            false => self.graph.two(Two::Less, wide, limit),
        };
        (self.graph.resize(index, bits), inside)
    }

    /// Reads a cell: zero beyond the end.
    pub(crate) fn load(
        &mut self,
        object: ObjectId,
        index: Id,
        when: Id,
    ) -> Result<Id, Unsupported> {
        let Some((width, size)) = shape(&self.environment.objects[object.index()]) else {
            return self.cannot("this object keeps nothing");
        };
        if size == 0 || width == 0 {
            return Ok(self.graph.constant(width, 0u8));
        }
        let (index, inside) = self.index(index, size);
        let when = self.graph.and(when, inside);
        // What the packet itself wrote before.
        let mut value = self.graph.read(self.accesses.len() as u32, width);
        let result = Some(value);
        let earlier: Vec<(Id, Id, Id)> = self
            .accesses
            .iter()
            .filter(|access| access.object == object)
            .filter_map(|access| Some((access.when, access.index, access.data?)))
            .collect();
        for (wrote, at, data) in earlier {
            if self.graph.exclude(wrote, when) {
                continue;
            }
            let same = self.graph.two(Two::Equal, at, index);
            let same = self.graph.and(wrote, same);
            value = self.graph.choose(same, data, value);
        }
        self.accesses.push(Access {
            object,
            when,
            index,
            data: None,
            result,
            span: self.span,
            second: self.split.is_some(),
        });
        let zero = self.graph.constant(width, 0u8);
        Ok(self.graph.choose(inside, value, zero))
    }

    pub(crate) fn store(
        &mut self,
        object: ObjectId,
        index: Id,
        data: Id,
        when: Id,
    ) -> Result<(), Unsupported> {
        let Some((width, size)) = shape(&self.environment.objects[object.index()]) else {
            return self.cannot("this object keeps nothing");
        };
        if size == 0 || width == 0 {
            return Ok(());
        }
        let (index, inside) = self.index(index, size);
        let when = self.graph.and(when, inside);
        if !self.graph.is_false(when) {
            self.accesses.push(Access {
                object,
                when,
                index,
                data: Some(data),
                result: None,
                span: self.span,
                second: self.split.is_some(),
            });
        }
        Ok(())
    }

    /// `register.read(result, index)`
    pub(crate) fn register_read(
        &mut self,
        object: ObjectId,
        index: Id,
        results: &[LValue],
        when: Id,
        state: &mut State,
    ) -> Result<(), Unsupported> {
        let value = self.load(object, index, when)?;
        let mut above = self.graph.width(value);
        for result in results {
            let width = result.ty(&self.program.slots).width();
            if width > above {
                return self.cannot(format!(
                    "`{}` is read into more bits than it has",
                    self.program.objects[object.index()].name
                ));
            }
            let part = self.graph.slice(value, above - 1, above - width);
            above -= width;
            self.assign(result, part, None, state)?;
        }
        Ok(())
    }

    /// `register.write(index, value)`
    pub(crate) fn register_write(
        &mut self,
        object: ObjectId,
        index: Id,
        values: &[Id],
        when: Id,
    ) -> Result<(), Unsupported> {
        let data = self.graph.concat(values);
        if let Some((width, _)) = shape(&self.environment.objects[object.index()])
            && width != self.graph.width(data)
        {
            return self.cannot(format!(
                "`{}` is written with {} bits and has {width}: a varbit cannot be kept in this hardware",
                self.program.objects[object.index()].name,
                self.graph.width(data)
            ));
        }
        self.store(object, index, data, when)
    }

    /// A counter counts the packet.
    pub(crate) fn count(
        &mut self,
        object: ObjectId,
        index: Id,
        when: Id,
    ) -> Result<(), Unsupported> {
        let Object::Counter(counter) = &self.environment.objects[object.index()] else {
            return self.cannot("this object does not count");
        };
        let unit = counter.unit;
        let value = self.load(object, index, when)?;
        if self.graph.width(value) == 0 || counter.size() == 0 {
            return Ok(());
        }
        let (bytes, packets) = (
            self.graph.slice(value, 127, 64),
            self.graph.slice(value, 63, 0),
        );
        let one = self.graph.constant(64, 1u8);
        let packets = self.graph.two(Two::Add, packets, one);
        let bytes = match unit {
            Unit::Packets => bytes,
            Unit::Bytes | Unit::Both => {
                let length = self.length();
                let length = self.graph.resize(length, 64);
                self.graph.two(Two::Add, bytes, length)
            }
        };
        let data = self.graph.concat(&[bytes, packets]);
        self.store(object, index, data, when)
    }

    /// Sends a message to the controller: into a queue of its own, which the controller reads.
    pub(crate) fn digest(&mut self, digest: DigestMap, data: Id, when: Id) {
        // Behind all objects.
        let place = self.environment.objects.len() + self.digests.len();
        self.digests.push(digest);
        self.accesses.push(Access {
            object: ObjectId(place as u32),
            when,
            index: self.graph.bit(false),
            data: Some(data),
            result: None,
            span: self.span,
            second: self.split.is_some(),
        });
    }

    /// Makes one write of those that never come together, so that the memory needs fewer ports.
    pub(crate) fn join_writes(&mut self) {
        let mut joined: Vec<Access> = Vec::new();
        for access in &mut self.accesses {
            let Some(data) = access.data else {
                continue;
            };
            let graph = &mut self.graph;
            let last = joined
                .iter_mut()
                .rev()
                .find(|other| other.object == access.object);
            match last {
                Some(last)
                    if last.second == access.second && graph.exclude(last.when, access.when) =>
                {
                    let before = last.data.unwrap_or(data);
                    last.data = Some(graph.choose(access.when, data, before));
                    last.index = graph.choose(access.when, access.index, last.index);
                    last.when = graph.or(last.when, access.when);
                }
                _ => joined.push(Access {
                    result: None,
                    ..*access
                }),
            }
            // The reads keep their numbers.
            access.data = None;
            access.when = graph.bit(false);
        }
        self.accesses.extend(joined);
    }
}
