//! A port as the mount serves it: its streams for readers, its outbox for writers, what it counts.

mod file;

pub use file::File;

use super::outbox::{Batch, Outbox, Turn};
use super::stream::{Form, Stream, Waiting};
use super::tree::Owner;
use super::writer::{Fault, Taker};
use super::{Kernel, Settings};
use crate::kernel::thread::lock;
use crate::port::pace::{PaceReport, Pacer, Watch};
use crate::port::{PortError, PortInfo, Receive, Received, RxCounters, Transmit};
use packet::{Departure, Packet, Stamp, Tick, line, record};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::Thread;
use std::time::Duration;

/// Bytes gathered before readers get to see them while more comes in.
const GATHER: usize = 64 * 1024;
/// How long a thread waits before it looks whether it is to stop.
const WAIT: Duration = Duration::from_millis(100);
/// Faults whose text is kept.
const FAULTS: usize = 16;

/// A port of the mount.
pub struct Served {
    /// What is known of it.
    pub info: PortInfo,
    /// Who may use it.
    pub owner: Mutex<Owner>,
    /// Line forms without and with time and hash, then records; see [`index`].
    streams: [Stream<Arc<File>>; 5],
    /// Packets to send.
    pub outbox: Outbox<Arc<File>>,
    /// Open files that read, for the `readers` file.
    pub readers: Mutex<BTreeMap<u64, Weak<File>>>,
    /// New readers get the timestamp.
    pub time: AtomicBool,
    /// New readers get the hash.
    pub hash: AtomicBool,
    /// A line that is no packet is an error of the write.
    pub strict: AtomicBool,
    /// A last line that ends before its IP packet does is sent as it is.
    pub cut: AtomicBool,
    /// Programs that write lines are to write each one at once.
    pub line_buffered: AtomicBool,
    /// Lines and records that were no packets.
    pub bad: AtomicU64,
    /// Packets cut off by the close of their file.
    pub torn: AtomicU64,
    faults: Mutex<VecDeque<String>>,
    told: Mutex<Progress>,
    /// The receiving thread.
    receiver: OnceLock<Thread>,
    /// The pacing thread's timers and counters.
    pub watch: Watch,
}

/// What the port's threads have told.
#[derive(Clone, Copy, Default)]
struct Progress {
    rx: RxCounters,
    gone: bool,
}

/// The place of a form among the streams.
fn index(form: Form) -> usize {
    match form {
        Form::Line(form) => usize::from(form.time) | usize::from(form.hash) << 1,
        Form::Record => 4,
    }
}

impl Served {
    /// A port with these settings; its pacing thread is `watch`ed.
    pub fn new(info: PortInfo, settings: &Settings, owner: Owner, watch: Watch) -> Served {
        let stream =
            |time, hash| Stream::new(Form::Line(line::Form { time, hash }), settings.buffer);
        Served {
            info,
            owner: Mutex::new(owner),
            streams: [
                stream(false, false),
                stream(true, false),
                stream(false, true),
                stream(true, true),
                Stream::new(Form::Record, settings.buffer),
            ],
            outbox: Outbox::default(),
            readers: Mutex::default(),
            time: AtomicBool::new(settings.time),
            hash: AtomicBool::new(settings.hash),
            strict: AtomicBool::new(settings.strict),
            cut: AtomicBool::new(settings.cut),
            line_buffered: AtomicBool::new(true),
            bad: AtomicU64::new(0),
            torn: AtomicU64::new(0),
            faults: Mutex::default(),
            told: Mutex::default(),
            receiver: OnceLock::new(),
            watch,
        }
    }

    /// The form in which a line file speaks now.
    pub fn form(&self) -> Form {
        let load = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        Form::Line(line::Form {
            time: load(&self.time),
            hash: load(&self.hash),
        })
    }

    /// The stream of this form.
    pub fn stream(&self, form: Form) -> &Stream<Arc<File>> {
        &self.streams[index(form)]
    }

    pub fn streams(&self) -> &[Stream<Arc<File>>] {
        &self.streams
    }

    /// What the receiving half has counted, and whether the port is gone.
    pub fn received(&self) -> (RxCounters, bool) {
        let told = *lock(&self.told);
        (told.rx, told.gone)
    }

    /// The faults kept, oldest first.
    pub fn faults(&self) -> Vec<String> {
        lock(&self.faults).iter().cloned().collect()
    }

    /// Counts a fault and keeps its text.
    pub fn note(&self, pid: u32, fault: &Fault) {
        match fault {
            Fault::Torn { .. } => self.torn.fetch_add(1, Ordering::Relaxed),
            _ => self.bad.fetch_add(1, Ordering::Relaxed),
        };
        self.say(format!("process {pid}: {fault}"));
    }

    /// Keeps a text among the faults.
    pub fn say(&self, text: String) {
        let mut faults = lock(&self.faults);
        if faults.len() == FAULTS {
            faults.pop_front();
        }
        faults.push_back(text);
    }

    /// The receiving thread: gives everything that comes in to the readers, until `stop`.
    pub fn receive(&self, mut rx: Box<dyn Receive>, kernel: &dyn Kernel, stop: &AtomicBool) {
        let mut writers = [const { Gathered::new() }; 5];
        let mut woken = Woken::default();
        self.receiver.get_or_init(std::thread::current);
        while !stop.load(Ordering::Acquire) {
            if self.info.on_demand && !self.streams.iter().any(Stream::is_awaited) {
                std::thread::park_timeout(WAIT);
                continue;
            }
            let result = rx.receive(WAIT, &mut |packet| {
                for (gathered, stream) in writers.iter_mut().zip(&self.streams) {
                    if stream.readers() > 0 {
                        gathered.push(stream, self.info.tick, packet);
                    }
                }
            });
            for (gathered, stream) in writers.iter_mut().zip(&self.streams) {
                gathered.flush(stream);
                woken.wake(stream, kernel);
            }
            lock(&self.told).rx = rx.counters();
            match result {
                Ok(_) => {}
                Err(error) if error.is_end() => {
                    self.say(error.to_string());
                    self.end(matches!(error, PortError::Gone { .. }), kernel);
                    return;
                }
                Err(error) => {
                    self.say(error.to_string());
                    #[allow(
                        clippy::disallowed_methods,
                        reason = "a fault that stays is not retried at once"
                    )]
                    std::thread::sleep(WAIT);
                }
            }
        }
        self.end(false, kernel);
    }

    /// Somebody waits for packets.
    pub fn ask(&self) {
        if self.info.on_demand
            && let Some(receiver) = self.receiver.get()
        {
            receiver.unpark();
        }
    }

    /// No more packets will come: readers get what there is, and then the end of the file.
    fn end(&self, gone: bool, kernel: &dyn Kernel) {
        lock(&self.told).gone = gone;
        if gone {
            self.outbox.close();
        }
        let mut woken = Woken::default();
        for stream in &self.streams {
            stream.end();
            woken.wake(stream, kernel);
        }
    }

    /// The sending thread: hands packets to the pacing thread in their order, until the outbox is
    /// closed and empty.
    pub fn send(&self, pacer: Pacer, kernel: &dyn Kernel) -> PaceReport {
        let mut batch = Batch::default();
        loop {
            let work = self.outbox.take(&mut batch, WAIT);
            for wakeup in work.polls {
                kernel.notify(wakeup);
            }
            let mut parked = work.parked;
            while let Some(next) = parked.pop_front() {
                let file = next.who.clone();
                if let Some(again) = file.resume_write(next, kernel) {
                    parked.push_front(again);
                    self.outbox.park_again(parked);
                    break;
                }
            }
            let packets = batch
                .packets()
                .map(|(departure, frame)| (pacer.as_stamped(departure), frame));
            let taken = pacer.submit_all(packets).is_ok();
            if !taken {
                self.outbox.close();
            }
            if self.outbox.is_closed() && (!taken || batch.is_empty()) {
                return pacer.finish();
            }
        }
    }
}

/// Starts the pacing thread of a sending half.
pub fn pace(tx: Box<dyn Transmit>, tick: Tick) -> std::io::Result<Pacer> {
    Pacer::start(tx, tick)
}

/// Packets written down and not yet shown.
struct Gathered {
    bytes: Vec<u8>,
    packets: u64,
}

impl Gathered {
    const fn new() -> Gathered {
        Gathered {
            bytes: Vec::new(),
            packets: 0,
        }
    }

    fn push(&mut self, stream: &Stream<Arc<File>>, tick: Tick, received: Received<'_>) {
        let word = tick.count(u128::from(received.at_ns) * 1000);
        let packet = Packet {
            stamp: Some(Stamp::Word(word)),
            hash: None,
            bytes: received.bytes,
        };
        let written = match stream.form {
            Form::Line(form) => line::encode(&packet, form, &mut self.bytes),
            Form::Record => record::encode(&packet, &mut self.bytes),
        };
        // Frames of a length that no format carries were refused by the port already.
        self.packets += u64::from(written.is_ok());
        if self.bytes.len() >= GATHER {
            self.flush(stream);
        }
    }

    fn flush(&mut self, stream: &Stream<Arc<File>>) {
        if self.packets > 0 {
            stream.append(&self.bytes, self.packets);
            self.bytes.clear();
            self.packets = 0;
        }
    }
}

/// Lists of those who waited, kept for their memory.
#[derive(Default)]
struct Woken {
    waiting: Vec<Waiting<Arc<File>>>,
    polls: Vec<u64>,
}

impl Woken {
    fn wake(&mut self, stream: &Stream<Arc<File>>, kernel: &dyn Kernel) {
        if stream.readers() == 0 {
            return;
        }
        stream.wake(&mut self.waiting, &mut self.polls);
        for waiting in self.waiting.drain(..) {
            let file = waiting.who.clone();
            file.resume_read(waiting, kernel);
        }
        for wakeup in self.polls.drain(..) {
            kernel.notify(wakeup);
        }
    }
}

/// Packets on their way from an open file into the outbox.
pub struct Into<'a> {
    /// The port.
    pub served: &'a Served,
    /// Who writes.
    pub pid: u32,
    /// Whose turn it is.
    pub turn: Turn,
}

impl Taker for Into<'_> {
    fn packet(&mut self, departure: Departure, bytes: &[u8]) -> bool {
        self.served.outbox.push(departure, bytes, self.turn)
    }

    fn fault(&mut self, fault: Fault) -> bool {
        self.served.note(self.pid, &fault);
        !self.served.strict.load(Ordering::Relaxed)
    }
}
