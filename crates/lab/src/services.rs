//! Services that instruments offer to the nodes of a run and to each other, each found by its type.

use std::any::Any;
use std::sync::Arc;

/// Services of a run, at most one of each type. A clone shares them.
#[derive(Clone, Default)]
pub(crate) struct Services(Vec<Arc<dyn Any + Send + Sync>>);

impl Services {
    /// Adds a service, in place of one of the same type.
    pub fn provide<T: Any + Send + Sync>(&mut self, service: T) {
        self.0.retain(|known| !known.is::<T>());
        self.0.push(Arc::new(service));
    }

    /// The service of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.iter().find_map(|known| known.downcast_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_found_by_its_type_and_clones_share_it() {
        let mut services = Services::default();
        assert_eq!(services.get::<u8>(), None);
        services.provide(1u8);
        services.provide("one");
        services.provide(2u8);
        let copy = services.clone();
        assert_eq!(
            (copy.get::<u8>(), copy.get::<&str>()),
            (Some(&2), Some(&"one"))
        );
    }
}
