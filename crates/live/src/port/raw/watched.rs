//! A receiving socket and its interface's link, which comes and goes.

use super::socket::{Socket, Standing};
use crate::port::{Link, LinkWatch, Options, PortError};
use std::ops::Deref;
use std::time::Duration;

/// A receiving socket that outlives its link.
pub struct Watched {
    socket: Socket,
    watch: LinkWatch,
    /// Whether it outlives its interface too.
    returns: bool,
    removed: bool,
}

impl Deref for Watched {
    type Target = Socket;

    fn deref(&self) -> &Socket {
        &self.socket
    }
}

impl Watched {
    /// The link of a socket that is bound.
    pub fn new(socket: Socket, options: &Options) -> Watched {
        Watched {
            socket,
            watch: LinkWatch::default(),
            returns: options.returns,
            removed: false,
        }
    }

    /// The kernel has said that the interface cannot be used. It may be back by now.
    pub fn lost(&mut self) {
        self.watch.lost();
    }

    /// Waits for a frame, and no longer than until the next look at a link that is down.
    pub fn wait_for_frame(&self, wait: Duration) -> Result<(), PortError> {
        self.socket.wait(libc::POLLIN, self.watch.patience(wait))
    }

    /// What to tell who has got no frame: looks at a link that is down now and then.
    ///
    /// # Errors
    /// [`PortError::Gone`] when the interface was removed, and is not waited for.
    pub fn nothing_came(&mut self) -> Result<(), PortError> {
        // Told the next time: what came up to now is looked for once more before.
        let told = self.removed;
        if self.watch.is_due() {
            self.look();
        }
        match told && self.removed && !self.returns {
            true => Err(self.socket.gone()),
            false => Ok(()),
        }
    }

    /// Looks at the link.
    pub fn look(&mut self) -> Link {
        // Where the port ends with its interface, another of its name is none of its business.
        if self.returns || !self.removed {
            let standing = self.socket.look(self.returns);
            self.removed = standing == Standing::Removed;
            self.watch.see(standing == Standing::Up);
        }
        self.watch.link()
    }
}
