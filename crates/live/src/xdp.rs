//! Ports over AF_XDP, on request: `xdp:IFACE`.
//!
//! **It takes the interface's traffic from the stack**: what arrives comes here and nowhere else, until
//! the port is closed. In exchange a frame costs less. Frames come as the driver has them: stamps are
//! this program's own, a tag that a card has taken off and a checksum that a local stack has left to a
//! card stay so. Frames are at most 3,520 bytes.
//!
//! The program that redirects frames and the sockets' memory go with the process, however it ends.

mod program;
mod ring;

use crate::clock::{self, now_ns};
use crate::interface::Interface;
use crate::port::{
    Options, Port, PortError, PortInfo, Receive, Received, RxCounters, Stamps, Transmit, TxCounters,
};
use crate::{interface, raw, wait};
use packet::SHORTEST;
use program::{Mode, Sockets};
use ring::{Mapping, Offsets, Ring};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a frame's place in the shared memory: the kernel's page.
const PLACE: usize = 4096;
/// The longest frame: a place without the kernel's own headroom and tail.
const LONGEST: usize = 3520;
/// Places for frames of each direction, and entries of each ring.
const PLACES: u32 = 2048;
/// Frames given in one call, so that other ports have their turn.
const BATCH: usize = 64;
/// The lowest queue is the one that frames are sent by.
const QUEUE: u32 = 0;
/// Queues that are listened to at most.
const MOST_QUEUES: u32 = 64;

const XDP_MMAP_OFFSETS: i32 = 1;
const XDP_RX_RING: i32 = 2;
const XDP_TX_RING: i32 = 3;
const XDP_UMEM_REG: i32 = 4;
const XDP_UMEM_FILL_RING: i32 = 5;
const XDP_UMEM_COMPLETION_RING: i32 = 6;
const XDP_STATISTICS: i32 = 7;
const XDP_PGOFF_TX_RING: i64 = 0x8000_0000;
const XDP_UMEM_PGOFF_FILL_RING: i64 = 0x1_0000_0000;
const XDP_UMEM_PGOFF_COMPLETION_RING: i64 = 0x1_8000_0000;
const XDP_COPY: u16 = 1 << 1;
const XDP_USE_NEED_WAKEUP: u16 = 1 << 3;

/// struct xdp_umem_reg.
#[repr(C)]
#[derive(Clone, Copy)]
struct Memory {
    at: u64,
    len: u64,
    place: u32,
    headroom: u32,
    flags: u32,
    metadata: u32,
}

/// struct sockaddr_xdp.
#[repr(C)]
#[derive(Clone, Copy)]
struct Address {
    family: u16,
    flags: u16,
    interface: u32,
    queue: u32,
    shared: u32,
}

/// struct xdp_desc.
#[repr(C)]
#[derive(Clone, Copy)]
struct Descriptor {
    at: u64,
    len: u32,
    options: u32,
}

/// Opens `xdp:IFACE`.
///
/// # Errors
/// As for the interface itself; when the process lacks CAP_NET_RAW, CAP_NET_ADMIN or CAP_BPF; when the
/// interface has another XDP program already, or its MTU is too large.
pub fn open(name: &str, options: &Options) -> Result<Port, PortError> {
    let interface = raw::usable(name)?;
    let longest = interface.mtu as usize + 14 + 8;
    if longest > LONGEST {
        return Err(PortError::Unsupported {
            name: name.into(),
            why: "its MTU is more than the 3,498 bytes that AF_XDP carries here; lower it, or leave `xdp:` out",
        });
    }
    let failed = |doing, error| PortError::from_io(name, doing, CAPABILITY, error);
    let queues = interface::queues(name).unwrap_or(1).clamp(1, MOST_QUEUES);
    let map = Sockets::new(queues).map_err(|error| failed("making an XDP map", error))?;
    let mut lanes = Vec::new();
    let mut sender = None;
    for queue in 0..queues {
        let (lane, tx) = make_lane(&interface, queue)
            .map_err(|error| failed("making an AF_XDP socket", error))?;
        map.set(queue, &lane.area.socket)
            .map_err(|error| failed("filling the XDP map", error))?;
        lanes.push(lane);
        sender = sender.or(tx);
    }
    let (link, method) = match map.attach(interface.index, Mode::Driver) {
        Ok(link) => (link, "af_xdp, driver"),
        Err(_) => {
            let link = map
                .attach(interface.index, Mode::Generic)
                .map_err(|error| failed("attaching an XDP program", error))?;
            (link, "af_xdp, generic")
        }
    };
    let program = Arc::new(Program {
        _link: link,
        _map: map,
    });
    let watch = Watch::new(&lanes).map_err(|error| failed("watching the sockets", error))?;
    let sender = sender.expect("there is a lowest queue");
    Ok(Port {
        info: info(&interface, options, method),
        rx: Box::new(Receiver {
            name: name.into(),
            lanes,
            watch,
            counters: RxCounters::default(),
            _program: program.clone(),
        }),
        tx: Box::new(Sender {
            name: name.into(),
            mtu: interface.mtu,
            lane: sender,
            counters: TxCounters::default(),
            _program: program,
        }),
    })
}

const CAPABILITY: &str = "CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF (add cap_bpf)";

fn info(interface: &Interface, options: &Options, method: &'static str) -> PortInfo {
    PortInfo {
        name: format!("xdp:{}", interface.name),
        tick: options.tick,
        stamps: Stamps::Software,
        mac: interface.mac,
        mtu: interface.mtu,
        method,
        driver: interface.driver.clone(),
        link: interface.link,
        hardware_stamps: interface.hardware_stamps,
        epoch_ns: clock::epoch_ns(),
    }
}

/// What keeps the interface's traffic coming here.
struct Program {
    _link: OwnedFd,
    _map: Sockets,
}

/// A socket, and the memory that it shares with the kernel.
struct Area {
    socket: OwnedFd,
    memory: Mapping,
}

impl Area {
    /// A frame's bytes.
    ///
    /// # Safety
    /// The place is this side's: taken from the ring of received frames, or not given to the kernel.
    #[expect(clippy::mut_from_ref, reason = "each place has one owner at a time")]
    unsafe fn bytes(&self, at: u64, len: usize) -> &mut [u8] {
        let at = at as usize;
        assert!(
            at + len <= self.memory.len(),
            "the kernel keeps within the memory it was given"
        );
        // SAFETY: within the mapping; that nobody else has it is the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.memory.start().add(at), len) }
    }

    fn set<T: Copy>(&self, option: i32, value: T) -> io::Result<()> {
        // SAFETY: the value is valid and its length is given.
        let result = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_XDP,
                option,
                (&raw const value).cast(),
                size_of::<T>() as u32,
            )
        };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn ask<T: Default>(&self, option: i32) -> io::Result<T> {
        let (mut value, mut len) = (T::default(), size_of::<T>() as u32);
        // SAFETY: the value is valid and its length is given; the kernel writes no more than that.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_XDP,
                option,
                (&raw mut value).cast(),
                &mut len,
            )
        };
        match result {
            0 => Ok(value),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The receiving side of a queue.
struct Lane {
    area: Arc<Area>,
    fill: Ring<u64>,
    received: Ring<Descriptor>,
}

/// Makes the socket of a queue; the lowest one can send as well.
fn make_lane(interface: &Interface, queue: u32) -> io::Result<(Lane, Option<SendLane>)> {
    // SAFETY: a plain system call; the result is checked before it is owned.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let sends = queue == QUEUE;
    // The first half is for frames received, the second for frames to send.
    let places = if sends { 2 * PLACES } else { PLACES };
    let memory = Mapping::new(places as usize * PLACE, None)?;
    let area = Area { socket, memory };
    area.set(
        XDP_UMEM_REG,
        Memory {
            at: area.memory.start() as u64,
            len: area.memory.len() as u64,
            place: PLACE as u32,
            headroom: 0,
            flags: 0,
            metadata: 0,
        },
    )?;
    for ring in [XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING] {
        area.set(ring, PLACES)?;
    }
    if sends {
        area.set(XDP_TX_RING, PLACES)?;
    }
    let [received, sent, fill, completion]: [Offsets; 4] = area.ask(XDP_MMAP_OFFSETS)?;
    let fd = &area.socket;
    let mut fill = Ring::map(fd, XDP_UMEM_PGOFF_FILL_RING, fill, PLACES)?;
    let received = Ring::map(fd, 0, received, PLACES)?;
    let completion = Ring::map(fd, XDP_UMEM_PGOFF_COMPLETION_RING, completion, PLACES)?;
    let sent = match sends {
        true => Some(Ring::map(fd, XDP_PGOFF_TX_RING, sent, PLACES)?),
        false => None,
    };
    let place = |index: u32| u64::from(index) * PLACE as u64;
    (0..PLACES).for_each(|index| fill.put(place(index)));
    fill.publish();
    let address = Address {
        family: libc::AF_XDP as u16,
        flags: XDP_COPY | XDP_USE_NEED_WAKEUP,
        interface: interface.index,
        queue,
        shared: 0,
    };
    // SAFETY: the address is valid and its length is given.
    let bound = unsafe {
        let len = size_of::<Address>() as u32;
        libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len)
    };
    if bound != 0 {
        return Err(io::Error::last_os_error());
    }
    let area = Arc::new(area);
    let sender = sent.map(|ring| SendLane {
        area: area.clone(),
        ring,
        completion,
        free: (PLACES..2 * PLACES).map(place).collect(),
    });
    let lane = Lane {
        area,
        fill,
        received,
    };
    Ok((lane, sender))
}

/// One descriptor for all sockets.
struct Watch(OwnedFd);

impl Watch {
    fn new(lanes: &[Lane]) -> io::Result<Watch> {
        // SAFETY: a plain system call; the result is checked before it is owned.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given out this descriptor.
        let watch = unsafe { OwnedFd::from_raw_fd(fd) };
        for lane in lanes {
            let mut event = libc::epoll_event {
                events: libc::EPOLLIN as u32,
                u64: 0,
            };
            let socket = lane.area.socket.as_raw_fd();
            // SAFETY: both descriptors are open and the event is valid.
            if unsafe { libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, socket, &mut event) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Watch(watch))
    }
}

/// Whether the interface is still there and up, asked by one of its sockets.
fn state(name: &str, socket: &OwnedFd) -> Result<(), PortError> {
    let ask = interface::Ask::new(std::os::fd::AsFd::as_fd(socket), name);
    let why = match ask.flags() {
        Ok(flags) if flags & libc::IFF_UP != 0 => return Ok(()),
        Ok(_) => "was set down",
        Err(_) => "was removed",
    };
    let name = name.into();
    Err(PortError::Gone { name, why })
}

struct Receiver {
    name: String,
    lanes: Vec<Lane>,
    watch: Watch,
    counters: RxCounters,
    _program: Arc<Program>,
}

impl Receiver {
    fn drain(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> usize {
        let mut given = 0;
        for lane in &mut self.lanes {
            let mut taken = 0;
            // One reading for a batch: they have come together.
            let at_ns = now_ns();
            while taken < BATCH
                && let Some(descriptor) = lane.received.take()
            {
                let len = descriptor.len as usize;
                // SAFETY: the kernel has just handed this place over.
                let bytes = unsafe { lane.area.bytes(descriptor.at, len) };
                if len < SHORTEST {
                    self.counters.refused += 1;
                } else {
                    self.counters.received += 1;
                    self.counters.bytes += len as u64;
                    given += 1;
                    sink(Received { bytes, at_ns });
                }
                // As many places as frames: there is always room for one that comes back.
                lane.fill.put(descriptor.at - descriptor.at % PLACE as u64);
                taken += 1;
            }
            if taken > 0 {
                lane.received.release();
                lane.fill.publish();
            }
            if lane.fill.needs_wakeup() {
                wake(&lane.area.socket);
            }
        }
        given
    }
}

/// Has the kernel look at the ring of free places.
fn wake(socket: &OwnedFd) {
    let none = std::ptr::null_mut();
    // SAFETY: nothing is read: the call is but a knock.
    unsafe {
        let flags = libc::MSG_DONTWAIT;
        libc::recvfrom(socket.as_raw_fd(), none, 0, flags, none.cast(), none.cast())
    };
}

impl Receive for Receiver {
    fn receive(
        &mut self,
        wait: Duration,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> Result<usize, PortError> {
        let mut given = self.drain(sink);
        if given == 0 && !wait.is_zero() {
            // In pieces: nothing tells us when the interface goes down.
            let piece = wait.min(Duration::from_millis(100));
            wait::for_event(self.watch.0.as_raw_fd(), libc::POLLIN, piece)
                .map_err(|error| PortError::from_io(&self.name, "waiting", CAPABILITY, error))?;
            given = self.drain(sink);
        }
        if given == 0 {
            state(&self.name, &self.lanes[0].area.socket)?;
        }
        Ok(given)
    }

    fn counters(&self) -> RxCounters {
        let lost = |lane: &Lane| {
            // struct xdp_statistics: dropped, two kinds of bad descriptor, ring full, no free place.
            let words: [u64; 6] = lane.area.ask(XDP_STATISTICS).unwrap_or_default();
            words[0] + words[3] + words[4]
        };
        RxCounters {
            dropped: self.lanes.iter().map(lost).sum(),
            ..self.counters
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.watch.0.as_raw_fd())
    }
}

/// The sending side of the lowest queue.
struct SendLane {
    area: Arc<Area>,
    ring: Ring<Descriptor>,
    completion: Ring<u64>,
    /// Places that hold no frame.
    free: Vec<u64>,
}

struct Sender {
    name: String,
    mtu: u32,
    lane: SendLane,
    counters: TxCounters,
    _program: Arc<Program>,
}

impl Sender {
    fn check(&self, frame: &[u8]) -> Result<(), PortError> {
        // One tag is not counted, as for any interface.
        let tag = 4 * usize::from(frame.get(12..14) == Some(&[0x81, 0x00]));
        let longest = self.mtu as usize + 14 + tag;
        match frame.len() {
            len @ ..SHORTEST => Err(PortError::TooShort { len }),
            len if len > longest => Err(PortError::TooLong {
                name: self.name.clone(),
                len,
                mtu: self.mtu,
                longest,
            }),
            _ => Ok(()),
        }
    }

    /// Has the kernel send what is in the ring.
    fn kick(&mut self) -> Result<(), PortError> {
        while self.lane.ring.room() < PLACES {
            // SAFETY: nothing is passed: the call is but a knock.
            let result = unsafe {
                libc::sendto(
                    self.lane.area.socket.as_raw_fd(),
                    std::ptr::null(),
                    0,
                    libc::MSG_DONTWAIT,
                    std::ptr::null(),
                    0,
                )
            };
            if result >= 0 {
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                // More is left than it sends in one go.
                Some(libc::EAGAIN | libc::EBUSY | libc::EINTR) => {}
                Some(libc::ENOBUFS) => {
                    self.counters.waited += 1;
                    std::thread::park_timeout(Duration::from_micros(50));
                }
                _ => {
                    state(&self.name, &self.lane.area.socket)?;
                    return Err(PortError::from_io(&self.name, "sending", CAPABILITY, error));
                }
            }
        }
        Ok(())
    }
}

impl Transmit for Sender {
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, PortError> {
        let mut sent = 0;
        while sent < frames.len() {
            while let Some(place) = self.lane.completion.take() {
                self.lane.free.push(place);
            }
            self.lane.completion.release();
            let mut batch = 0;
            for frame in frames[sent..].iter().take(BATCH) {
                match self.check(frame) {
                    Ok(()) => {}
                    Err(_) if sent + batch > 0 => break,
                    Err(error) => {
                        self.counters.refused += 1;
                        return Err(error);
                    }
                }
                let Some(at) = self.lane.free.pop() else {
                    break;
                };
                // SAFETY: the place is free, so the kernel does not have it.
                let bytes = unsafe { self.lane.area.bytes(at, frame.len()) };
                bytes.copy_from_slice(frame);
                self.lane.ring.put(Descriptor {
                    at,
                    len: frame.len() as u32,
                    options: 0,
                });
                self.counters.bytes += frame.len() as u64;
                batch += 1;
            }
            self.lane.ring.publish();
            self.kick()?;
            self.counters.sent += batch as u64;
            sent += batch;
            match frames.get(sent) {
                Some(frame) if self.check(frame).is_err() => return Ok(sent),
                // All places are under way: until some are back.
                Some(_) if batch == 0 => {
                    self.counters.waited += 1;
                    state(&self.name, &self.lane.area.socket)?;
                    std::thread::park_timeout(Duration::from_micros(50));
                }
                _ => {}
            }
        }
        Ok(sent)
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}
