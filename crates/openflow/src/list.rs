//! Lists that borrow: the bytes of a message that was read, or a slice of what is to be written.

use crate::bytes::Reader;
use crate::fault::Fault;
use crate::version::{Unsupported, Version};
use alloc::vec::Vec;
use core::fmt;

/// What lists are made of.
pub trait Element<'a>: Copy + 'a {
    /// Takes the next one off the bytes.
    ///
    /// # Errors
    /// The fault that the specification names.
    #[doc(hidden)]
    fn read(version: Version, reader: &mut Reader<'a>) -> Result<Self, Fault>;

    /// Appends it.
    ///
    /// # Errors
    /// When the version has no form for it.
    fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported>;

    /// The fault when the bytes end within an element.
    #[doc(hidden)]
    const SHORT: Fault = Fault::BadLen;

    /// Checks what no element shows alone.
    #[doc(hidden)]
    fn check_all(_list: List<'a, Self>) -> Result<(), Fault> {
        Ok(())
    }

    /// Appends all, in a version other than that of the bytes, or from a slice.
    #[doc(hidden)]
    fn write_all(
        list: List<'a, Self>,
        version: Version,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsupported> {
        list.iter()
            .try_for_each(|element| element.write(version, out))
    }
}

/// A list: in a message that was decoded, its bytes, which are checked; in one to encode, a slice.
///
/// Iterating allocates nothing. Two lists are equal when their elements are.
#[derive(Clone, Copy)]
pub struct List<'a, T>(Form<'a, T>);

#[derive(Clone, Copy)]
enum Form<'a, T> {
    Wire(Version, &'a [u8]),
    Items(&'a [T]),
}

impl<'a, T> List<'a, T> {
    /// Without elements.
    pub const EMPTY: List<'a, T> = List(Form::Items(&[]));
}

impl<'a, T: Element<'a>> List<'a, T> {
    /// The list in these bytes, without a header or the padding behind it.
    ///
    /// # Errors
    /// The fault that the specification names.
    pub fn from_wire(version: Version, bytes: &'a [u8]) -> Result<List<'a, T>, Fault> {
        let mut reader = Reader::new(bytes, T::SHORT);
        while !reader.is_empty() {
            T::read(version, &mut reader)?;
        }
        let list = List(Form::Wire(version, bytes));
        T::check_all(list)?;
        Ok(list)
    }

    /// From bytes that [`List::from_wire`] or [`List::write`] has made sure of; what cannot be read ends the list.
    pub fn from_checked(version: Version, bytes: &'a [u8]) -> List<'a, T> {
        List(Form::Wire(version, bytes))
    }

    /// The elements, in order.
    pub fn iter(&self) -> Iter<'a, T> {
        Iter(match self.0 {
            Form::Wire(version, bytes) => IterForm::Wire(version, Reader::new(bytes, T::SHORT)),
            Form::Items(items) => IterForm::Items(items),
        })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        match self.0 {
            Form::Wire(_, bytes) => bytes.is_empty(),
            Form::Items(items) => items.is_empty(),
        }
    }

    /// How many there are, by counting.
    pub fn len(&self) -> usize {
        match self.0 {
            Form::Wire(..) => self.iter().count(),
            Form::Items(items) => items.len(),
        }
    }

    /// The bytes, if it was read from a message of this version.
    pub fn wire(&self, version: Version) -> Option<&'a [u8]> {
        match self.0 {
            Form::Wire(own, bytes) if own == version => Some(bytes),
            _ => None,
        }
    }

    /// Appends the elements in the form of this version.
    ///
    /// # Errors
    /// When an element has no such form; then some may have been appended.
    pub fn write(&self, version: Version, out: &mut Vec<u8>) -> Result<(), Unsupported> {
        match self.wire(version) {
            Some(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            None => T::write_all(*self, version, out),
        }
    }
}

impl<'a, T> From<&'a [T]> for List<'a, T> {
    fn from(items: &'a [T]) -> List<'a, T> {
        List(Form::Items(items))
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for List<'a, T> {
    fn from(items: &'a [T; N]) -> List<'a, T> {
        List(Form::Items(items))
    }
}

impl<'a, T> From<&'a Vec<T>> for List<'a, T> {
    fn from(items: &'a Vec<T>) -> List<'a, T> {
        List(Form::Items(items))
    }
}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        List::EMPTY
    }
}

impl<'a, T: Element<'a> + PartialEq> PartialEq for List<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Element<'a> + Eq> Eq for List<'a, T> {}

impl<'a, T: Element<'a> + fmt::Debug> fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Element<'a>> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// The elements of a [`List`].
#[derive(Clone)]
pub struct Iter<'a, T>(IterForm<'a, T>);

#[derive(Clone)]
enum IterForm<'a, T> {
    Wire(Version, Reader<'a>),
    Items(&'a [T]),
}

impl<'a, T: Element<'a>> Iterator for Iter<'a, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        match &mut self.0 {
            IterForm::Wire(_, reader) if reader.is_empty() => None,
            IterForm::Wire(version, reader) => {
                let element = T::read(*version, reader);
                if element.is_err() {
                    reader.take_rest();
                }
                element.ok()
            }
            IterForm::Items(items) => {
                let (first, rest) = items.split_first()?;
                *items = rest;
                Some(*first)
            }
        }
    }
}
