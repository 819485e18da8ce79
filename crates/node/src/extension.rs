//! Reports of a node that have a type of their own, which this crate does not know.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt::Debug;

/// A report of a node: any value that can be printed and compared.
pub trait Extension: Any + Debug + Send + Sync {
    /// Whether `other` has the same type and is equal.
    fn equals(&self, other: &dyn Extension) -> bool;
}

impl<T: Any + Debug + PartialEq + Send + Sync> Extension for T {
    fn equals(&self, other: &dyn Extension) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<T>().is_some_and(|other| self == other)
    }
}

/// Reports of a node, at most one of each type. The crate of the node has the type, and a reader finds the report by it.
#[derive(Clone, Debug, Default)]
pub struct Extensions(Vec<Arc<dyn Extension>>);

impl Extensions {
    /// Adds a report, in place of one of the same type.
    pub fn insert<T: Extension>(&mut self, report: T) {
        self.0.retain(|known| !is::<T>(&**known));
        self.0.push(Arc::new(report));
    }

    /// The report of this type.
    pub fn get<T: Extension>(&self) -> Option<&T> {
        self.0.iter().find_map(|report| {
            let report: &dyn Any = &**report;
            report.downcast_ref()
        })
    }
}

fn is<T: Extension>(report: &dyn Extension) -> bool {
    let report: &dyn Any = report;
    report.is::<T>()
}

impl PartialEq for Extensions {
    fn eq(&self, other: &Extensions) -> bool {
        self.0.len() == other.0.len()
            && self
                .0
                .iter()
                .zip(&other.0)
                .all(|(own, other)| own.equals(&**other))
    }
}

impl Eq for Extensions {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_found_by_its_type_and_the_last_of_a_type_stays() {
        let mut reports = Extensions::default();
        assert_eq!(reports.get::<u8>(), None);
        reports.insert(1u8);
        reports.insert("one");
        reports.insert(2u8);
        assert_eq!(
            (reports.get::<u8>(), reports.get::<&str>()),
            (Some(&2), Some(&"one"))
        );
        assert_eq!(reports.get::<u16>(), None);
    }

    #[test]
    fn reports_are_equal_when_types_and_values_are() {
        let of = |value: u8| {
            let mut reports = Extensions::default();
            reports.insert(value);
            reports
        };
        let mut wider = Extensions::default();
        wider.insert(1u16);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_ne!(of(1), wider);
        assert_ne!(of(1), Extensions::default());
    }
}
