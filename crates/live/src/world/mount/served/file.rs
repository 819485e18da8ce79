//! An open file of a port: where its reader is, and what its writer has half written.

use super::{Into, Served};
use crate::kernel::thread::lock;
use crate::world::mount::Kernel;
use crate::world::mount::outbox::{Parked, Turn};
use crate::world::mount::protocol::Request;
use crate::world::mount::stream::{Cursor, Form, Found, Waiting};
use crate::world::mount::writer::{Got, Writer};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// An open line or record file.
pub struct File {
    /// The port.
    pub served: Arc<Served>,
    /// The number of its inode, which no other open file has.
    pub node: u64,
    /// The process that opened it.
    pub pid: u32,
    /// What it reads.
    pub form: Form,
    /// The access mode of open(2).
    access: i32,
    reader: Option<Mutex<Option<Cursor>>>,
    writer: Mutex<Writer>,
    /// The process that wrote last; 0 before the first write.
    written_by: AtomicU32,
}

impl File {
    /// Opens a port's file with these flags of open(2).
    pub fn open(served: Arc<Served>, request: &Request<'_>, form: Form, flags: u32) -> File {
        let access = flags as i32 & libc::O_ACCMODE;
        let reads = access != libc::O_WRONLY;
        let reader = reads.then(|| Mutex::new(Some(served.stream(form).open())));
        let writer = match form {
            Form::Line(_) => Writer::of_lines(),
            Form::Record => Writer::of_records(),
        };
        File {
            served,
            node: request.node,
            pid: request.pid,
            form,
            access,
            reader,
            writer: Mutex::new(writer),
            written_by: AtomicU32::new(0),
        }
    }

    /// Whether a position counts: it was opened for reading alone.
    pub fn is_seekable(&self) -> bool {
        self.access == libc::O_RDONLY
    }

    /// Whether lines are written to it, each at once: it was opened for writing alone, and its port is `line_buffered`.
    pub fn is_line_buffered(&self) -> bool {
        self.access == libc::O_WRONLY
            && matches!(self.form, Form::Line(_))
            && self.served.line_buffered.load(Ordering::Relaxed)
    }

    /// Bytes read and packets lost so far, if it reads.
    pub fn progress(&self) -> Option<(u64, u64)> {
        let cursor = lock(self.reader.as_ref()?);
        cursor
            .as_ref()
            .map(|cursor| (cursor.position(), cursor.lost()))
    }

    /// Answers a read, now or when there is something.
    pub fn read(
        self: &Arc<File>,
        kernel: &dyn Kernel,
        (unique, offset, size): (u64, u64, u32),
        nonblocking: bool,
    ) {
        let waiting = Waiting {
            unique,
            size: size as usize,
            who: self.clone(),
        };
        let offset = self.is_seekable().then_some(offset);
        self.find(kernel, waiting, offset, nonblocking);
    }

    /// Answers a read that has waited, or lets it wait on.
    pub fn resume_read(self: &Arc<File>, waiting: Waiting<Arc<File>>, kernel: &dyn Kernel) {
        self.find(kernel, waiting, None, false);
    }

    fn find(
        &self,
        kernel: &dyn Kernel,
        waiting: Waiting<Arc<File>>,
        offset: Option<u64>,
        nonblocking: bool,
    ) {
        let (unique, size) = (waiting.unique, waiting.size);
        let found = {
            let mut guard = self.reader.as_ref().map(lock);
            let Some(cursor) = guard.as_mut().and_then(|guard| guard.as_mut()) else {
                return kernel.answer(unique, libc::EBADF, &[]);
            };
            if let Some(offset) = offset {
                cursor.seek(offset);
            }
            let wait = (!nonblocking).then_some(waiting);
            self.served.stream(self.form).read(cursor, size, wait)
        };
        match found {
            Found::Bytes(chunk, range) => kernel.answer(unique, 0, &chunk.bytes()[range]),
            Found::End => kernel.answer(unique, 0, &[]),
            Found::Nothing if nonblocking => kernel.answer(unique, libc::EAGAIN, &[]),
            Found::Nothing => self.served.ask(),
        }
    }

    /// Answers a write, now or when there was room for all its packets.
    pub fn write(
        self: &Arc<File>,
        kernel: &dyn Kernel,
        (unique, pid): (u64, u32),
        data: &[u8],
        nonblocking: bool,
    ) {
        self.written_by.store(pid, Ordering::Relaxed);
        let mut writer = lock(&self.writer);
        let mut into = Into {
            served: &self.served,
            pid: self.pid,
            turn: Turn::New,
        };
        match writer.write(data, &mut into) {
            Got::All => kernel.answer_number(unique, data.len()),
            Got::Refused(_) => kernel.answer(unique, libc::EINVAL, &[]),
            Got::Full(_) if self.served.outbox.is_closed() => {
                kernel.answer(unique, libc::ENODEV, &[]);
            }
            Got::Full(0) if nonblocking => kernel.answer(unique, libc::EAGAIN, &[]),
            Got::Full(taken) if nonblocking => kernel.answer_number(unique, taken),
            Got::Full(taken) => {
                let rest = data[taken..].to_vec();
                self.served.outbox.park(Parked {
                    unique,
                    rest,
                    taken,
                    who: self.clone(),
                });
            }
        }
    }

    /// Whether this process writes lines to it, each at once.
    pub fn is_written_by(&self, pid: u32) -> bool {
        self.written_by.load(Ordering::Relaxed) == pid && self.is_line_buffered()
    }

    /// Sends a line that is complete but for its line feed.
    pub fn complete_line(&self) {
        let cut = self.served.cut.load(Ordering::Relaxed);
        let mut into = Into {
            served: &self.served,
            pid: self.pid,
            turn: Turn::New,
        };
        lock(&self.writer).complete_line(cut, &mut into);
    }

    /// Goes on with a write that has waited; gives it back if there is no room yet for all of it.
    pub fn resume_write(
        &self,
        mut parked: Parked<Arc<File>>,
        kernel: &dyn Kernel,
    ) -> Option<Parked<Arc<File>>> {
        let mut writer = lock(&self.writer);
        let mut into = Into {
            served: &self.served,
            pid: self.pid,
            turn: Turn::Waited,
        };
        match writer.write(&parked.rest, &mut into) {
            Got::All => kernel.answer_number(parked.unique, parked.taken + parked.rest.len()),
            Got::Refused(_) => kernel.answer(parked.unique, libc::EINVAL, &[]),
            Got::Full(_) if self.served.outbox.is_closed() => {
                kernel.answer(parked.unique, libc::ENODEV, &[]);
            }
            Got::Full(taken) => {
                parked.rest.drain(..taken);
                parked.taken += taken;
                return Some(parked);
            }
        }
        None
    }

    /// What poll(2) is to say; `wakeup` is remembered for what is not ready.
    pub fn poll(&self, events: u32, wakeup: Option<u64>) -> u32 {
        let wanted = |mask: libc::c_short| events & mask as u32;
        let (input, output) = (
            wanted(libc::POLLIN | libc::POLLRDNORM),
            wanted(libc::POLLOUT | libc::POLLWRNORM),
        );
        let mut ready = 0;
        if let Some(reader) = &self.reader
            && let Some(cursor) = lock(reader).as_ref()
        {
            let wakeup = wakeup.filter(|_| input != 0);
            match self.served.stream(self.form).poll(cursor, wakeup) {
                true => ready |= input,
                false => self.served.ask(),
            }
        }
        if self.served.outbox.poll(wakeup.filter(|_| output != 0)) {
            ready |= output;
        }
        ready
    }

    /// The last descriptor was closed.
    pub fn close(&self) {
        let mut into = Into {
            served: &self.served,
            pid: self.pid,
            turn: Turn::Last,
        };
        let cut = self.served.cut.load(Ordering::Relaxed);
        lock(&self.writer).finish(cut, &mut into);
        if let Some(cursor) = self.reader.as_ref().and_then(|reader| lock(reader).take()) {
            self.served.stream(self.form).close(cursor);
        }
    }
}
