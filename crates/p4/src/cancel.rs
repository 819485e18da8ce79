//! Compiling that is given up before its end.

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use alloc::sync::Arc;
use core::fmt;

/// Says, whenever it is asked, whether compiling is to be given up: since nobody waits for it any more, or since it took too long.
#[derive(Clone)]
pub struct Cancel(Arc<dyn Fn() -> bool + Send + Sync>);

impl Cancel {
    /// `requested` is called some thousand times a second.
    pub fn new(requested: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Cancel(Arc::new(requested))
    }

    /// Whether it is time.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cancel")
    }
}

/// What is told when compiling was given up.
pub(crate) fn stopped() -> Diagnostic {
    let message = "compiling was stopped before its end";
    Diagnostic::error("stopped", Span::default(), message)
}
