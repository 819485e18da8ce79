//! `wire p4 run --engine xdp`: the kernel forwards, and this process brings it what the control plane says.

use super::control::said;
use crate::Verdict;
use crate::complaints::Complaints;
use crate::control::Listener;
use crate::report::{begin, put};
use ::capture::clock::now_ns;
use ::capture::signal;
use ::pipeline::control::Control;
use ::pipeline::environment::{Environment, Unsupported};
use anyhow::{Context, anyhow, bail};
use confine::Service;
use live::ebpf::Mode;
use live::interface;
use live::port::PortSpec;
use node::Time;
use p4::compile::Compiled;
use p4runtime::{Device, DeviceError, Running, Settings, serve};
use parking_lot::Mutex;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use xdp::{Counts, Error, Interface, Object, Switch};

/// The entries of packets are read once in this many polls.
const POLLS_PER_READ: u32 = 5;

/// Fields of the run's report.
pub struct Report<'a> {
    pub name: &'a str,
    pub duration: Option<Time>,
    pub json: bool,
    pub complaints: &'a Complaints,
}

/// Interval at which the process checks whether it must stop.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Number of such polls between two checks that the interfaces still exist.
const POLLS_PER_INTERFACE_CHECK: u32 = 25;

/// The kernel as P4Runtime steers it.
struct Steered(Arc<Mutex<Switch>>);

impl Device for Steered {
    fn install(&self, environment: &Arc<Environment>) -> Result<(), Unsupported> {
        self.0
            .lock()
            .replace(environment)
            .map_err(|error| error.to_string().into())
    }

    fn now(&self) -> Time {
        Time::from_ns(now_ns())
    }

    fn refresh(&self) -> Result<(), DeviceError> {
        let mut switch = self.0.lock();
        let read = switch.tick(self.now()).and_then(|()| switch.read());
        read.map_err(|error| format!("the kernel did not tell its state: {error}").into())
    }

    fn settle(&self) -> Result<(), DeviceError> {
        self.0
            .lock()
            .bring()
            .map_err(|error| format!("the kernel did not take the change: {error}").into())
    }
}

/// Serves P4Runtime before the kernel: where, for which program, and how.
pub struct Served {
    pub listener: TcpListener,
    pub described: p4runtime::Pipeline,
    pub settings: Settings,
}

/// Runs the program of an environment on interfaces until a signal, or for the duration.
///
/// # Errors
/// When a port is no interface, or the kernel does not run the program.
pub fn run(
    environment: &Arc<Environment>,
    compiled: &Compiled,
    on: &[PortSpec],
    service: Service<'_>,
    served: Option<Served>,
    report: &Report<'_>,
) -> anyhow::Result<Verdict> {
    let interfaces = on
        .iter()
        .map(interface)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let names: Vec<String> = on.iter().map(ToString::to_string).collect();
    let switch = Switch::new(environment, &interfaces).map_err(|error| match error {
        Error::Taken(index) => {
            let place = interfaces.iter().position(|interface| interface.index == index);
            let name = place.map_or("the interface", |place| &names[place]);
            anyhow!("{name} has a program of XDP already; take it off with `ip link set dev {name} xdp off`, or end what has put it there")
        }
        error => told(error, compiled),
    })?;
    let behind = switch.modes().contains(&Mode::Generic);
    let switch = Arc::new(Mutex::new(switch));
    let own = Control::new(Arc::clone(environment));
    let control = service.control.map(Listener::open).transpose()?;
    // Ports in the kernel are not this process's.
    let _kept = confine::server(std::iter::empty::<&PortSpec>(), service)?;
    let steered = Steered(Arc::clone(&switch));
    let running = served.map(|served| {
        let encrypted = served.settings.tls.is_some();
        let device = Steered(Arc::clone(&switch));
        let running = serve(
            served.listener,
            device,
            Some(served.described),
            served.settings,
        )?;
        listening(report.name, &running, encrypted);
        io::Result::Ok(running)
    });
    let running = running.transpose()?;
    let current = running.as_ref().map(Running::current);
    let control = control.map(|control| {
        control.start(move |line| {
            steered.refresh().map_err(|error| error.to_string())?;
            let current = current.as_ref().and_then(|current| current());
            let answer = said(&current.unwrap_or_else(|| own.clone()), line);
            // The answer comes when packets see what was changed.
            steered.settle().map_err(|error| error.to_string())?;
            answer
        })
    });
    let _control = control.transpose()?;
    let place = if behind {
        "in the kernel, behind the driver"
    } else {
        "in the kernel"
    };
    begin(&format!("{} {place}", report.name), &names, report.duration);
    let begun = now_ns();
    let over = || {
        report
            .duration
            .is_some_and(|most| now_ns() - begun >= most.as_ns())
    };
    let mut looks = 0;
    while !signal::stop_requested() && !over() {
        std::thread::park_timeout(STOP_POLL_INTERVAL);
        looks += 1;
        if looks % POLLS_PER_INTERFACE_CHECK == 0 {
            // The kernel has taken the program off an interface that was removed, and says nothing.
            for (port, (name, interface)) in names.iter().zip(&interfaces).enumerate() {
                let found = interface::find(name).ok().flatten();
                let found = found.filter(|found| found.index == interface.index);
                let found = found.with_context(|| format!("{name} was removed, and with it the program on it; start the command again when it is back"))?;
                switch
                    .lock()
                    .set_mtu(port, found.mtu)
                    .context("telling the kernel an MTU")?;
            }
        }
        // Digests wait in a ring that has an end.
        switch.lock().hear();
        if looks % POLLS_PER_READ == 0 {
            switch
                .lock()
                .tick(Time::from_ns(now_ns()))
                .context("bringing the entries that packets added")?;
        }
    }
    if let Some(told) = running.as_ref().and_then(Running::summary) {
        eprintln!("wire: {told}");
    }
    let counts = switch
        .lock()
        .counts()
        .context("reading the kernel's counters")?;
    tell(&counts, &names, report)?;
    let lost = counts.lost() + counts.copies_lost;
    let what = format_args!("{lost} packets or copies were lost in the kernel");
    report.complaints.lost(lost, what);
    let done = report.duration.is_none() || over();
    Ok(report.complaints.finish().max(Verdict::if_done(done)))
}

/// The program as the kernel is given it.
///
/// # Errors
/// All places of the program that the kernel cannot do.
pub fn program(environment: &Arc<Environment>, compiled: &Compiled) -> anyhow::Result<Object> {
    xdp::program(environment).map_err(|error| told(error, compiled))
}

/// Why the kernel does not run a program: all places, each in a line.
fn told(error: Error, compiled: &Compiled) -> anyhow::Error {
    match error {
        Error::Unsupported(faults) => {
            let faults = faults
                .iter()
                .map(|fault| lab::engine::describe(fault, compiled));
            anyhow!(faults.collect::<Vec<_>>().join("\n"))
        }
        error => error.into(),
    }
}

fn interface(spec: &PortSpec) -> anyhow::Result<Interface> {
    let PortSpec::Interface(name) = spec else {
        bail!("--on {spec}: the engine `xdp` runs on interfaces only, as in --on eth1 eth2");
    };
    let found = interface::find(name).with_context(|| name.clone())?;
    let found =
        found.with_context(|| format!("there is no interface `{name}`; `wire ports` shows all"))?;
    // A veth takes what is redirected to it in the driver only if its peer has asked for that.
    let mode = match found.driver.as_str() {
        "veth" | "dummy" | "" => Mode::Generic,
        _ => Mode::Driver,
    };
    Ok(Interface {
        index: found.index,
        mtu: found.mtu,
        mode,
    })
}

/// Says where P4Runtime is served.
pub fn listening(name: &str, running: &Running, encrypted: bool) {
    let at = running.address;
    eprintln!("{name}: P4Runtime at {at}");
    if !encrypted && !at.ip().is_loopback() {
        eprintln!(
            "wire: {at}: whoever reaches this address may change the program; --private-key, --certificate and \
             --ca-cert ask who it is"
        );
    }
}

/// What became of packets, and how it is told.
fn ends(counts: &Counts) -> [(&'static str, u64, &'static str); 9] {
    [
        ("no_port", counts.no_port, "for a port that is not there"),
        (
            "too_long",
            counts.too_long,
            "longer than the MTU: turn segmentation off where they come from (ethtool -K IFACE tx off tso off gso off)",
        ),
        ("left", counts.left, "to be copied, which the kernel cannot"),
        (
            "copies_lost",
            counts.copies_lost,
            "copies for ports that are not there",
        ),
        (
            "beyond",
            counts.beyond,
            "with more headers than the kernel reads or writes",
        ),
        (
            "no_room",
            counts.no_room,
            "grown or shrunk by more than the kernel allows",
        ),
        (
            "passes",
            counts.passes,
            "to begin anew more often than the 33 times that the kernel allows",
        ),
        (
            "messages_lost",
            counts.messages_lost,
            "messages to the control plane were lost",
        ),
        (
            "stopped",
            counts.stopped,
            "stopped by an assertion or after too many steps",
        ),
    ]
}

fn tell(counts: &Counts, names: &[String], report: &Report<'_>) -> anyhow::Result<()> {
    let Counts { sent, dropped, .. } = counts;
    let received = counts.received();
    if report.json {
        let mut line = json_line!("p4", "run", {
            "engine": "xdp", "ports": names, "received": received, "sent": sent, "dropped": dropped,
        });
        for (name, count, _) in ends(counts) {
            line[name] = count.into();
        }
        return put(&format!("{line}\n"), names);
    }
    let mut text =
        format!("{received} packets received, {sent} sent, {dropped} dropped by the program\n");
    for (_, count, what) in ends(counts).iter().filter(|(_, count, _)| *count > 0) {
        text.push_str(&format!("{count} {what}\n"));
    }
    put(&text, names)
}
