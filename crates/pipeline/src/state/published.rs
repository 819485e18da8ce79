//! A value that is read for every packet and changed now and then.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};
use spin::Mutex;

/// A value that is replaced as a whole. Who reads it for packets has a [`Reader`], which costs one load of an atomic while nothing changes.
#[derive(Debug, Default)]
pub struct Published<T> {
    version: AtomicU64,
    current: Mutex<Arc<T>>,
}

impl<T: Clone> Published<T> {
    /// The first value.
    pub fn new(value: T) -> Self {
        Published {
            version: AtomicU64::new(0),
            current: Mutex::new(Arc::new(value)),
        }
    }

    /// The value as it is now.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.current.lock())
    }

    /// Changes the value; readers see all of the change or nothing. An error leaves the value as it was, if `change` did.
    ///
    /// # Errors
    /// Whatever `change` says.
    pub fn change<R, E>(&self, change: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, E> {
        let mut current = self.current.lock();
        // Copies the value only when a reader has it.
        let result = change(Arc::make_mut(&mut current));
        drop(current);
        self.version.fetch_add(1, Ordering::Release);
        result
    }

    /// Replaces the value.
    pub fn set(&self, value: T) {
        *self.current.lock() = Arc::new(value);
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// A thread's own hold of a published value.
#[derive(Debug)]
pub struct Reader<T> {
    version: u64,
    current: Arc<T>,
}

impl<T: Clone> Reader<T> {
    /// The value as it is now.
    pub fn new(published: &Published<T>) -> Self {
        let version = published.version.load(Ordering::Acquire);
        Reader {
            version,
            current: published.get(),
        }
    }

    /// The value as it is now, or as it was if it is being changed at this moment.
    #[inline]
    pub fn get(&mut self, published: &Published<T>) -> &T {
        let version = published.version.load(Ordering::Acquire);
        if version != self.version {
            self.refresh(published, version);
        }
        &self.current
    }

    #[cold]
    fn refresh(&mut self, published: &Published<T>, version: u64) {
        // Never waits: whoever changes the value holds the lock, and the next packet will see it.
        if let Some(current) = published.current.try_lock() {
            self.current = Arc::clone(&current);
            self.version = version;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_a_change_and_never_waits_for_one() {
        let published = Published::new(1);
        let mut reader = Reader::new(&published);
        published
            .change(|value| {
                *value = 2;
                assert_eq!(*reader.get(&published), 1);
                Ok::<_, ()>(())
            })
            .unwrap();
        assert_eq!(*reader.get(&published), 2);
        published.set(3);
        assert_eq!(*reader.get(&published), 3);
    }
}
