//! A pipeline as a node: a switch, or whatever its program makes of it, in any lab.

use crate::architecture::{Drop, Output, Pipeline};
use crate::context::Waiting;
use crate::control::Control;
use crate::control::commands::Command;
use crate::environment::Environment;
use crate::state::Queue;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::Waker;
use node::event::{Event, What};
use node::{Frame, Node, Out, Port, Properties, Statistics, Time};
use p4::ir::TableId;

/// Interval at which the node polls for the controller's packets in a world without wakers.
const POLL: Time = Time::from_ms(1);

/// How old what is known of queues may be, where the program reads it.
pub const QUEUE_AGE: Time = Time::from_ms(1);

/// A pipeline with so many ports.
///
/// Its drops are the [`Drop`]s of the program, `no such port` for packets that leave by a port that the node does not have, and what the program
/// sends to the CPU port goes to the controller. Time passes in the pipeline as in the world; what processing takes is a link's or a delay
/// node's business.
pub struct PipelineNode {
    pipeline: Pipeline,
    environment: Arc<Environment>,
    ports: usize,
    /// Whether a table has idle timeouts.
    ages: bool,
    /// Whether the node polls for the controller's packets.
    polls: bool,
    received: u64,
    sent: u64,
    to_controller: u64,
    from_controller: u64,
    next_wake: Option<Time>,
}

impl PipelineNode {
    /// A node with ports 0 to `ports` - 1.
    #[must_use]
    pub fn new(pipeline: Pipeline, ports: usize) -> Self {
        let environment = Arc::clone(pipeline.environment());
        PipelineNode {
            next_wake: environment.options.cpu_port.map(|_| Time::ZERO),
            polls: environment.options.cpu_port.is_some(),
            ages: environment
                .tables
                .forms()
                .iter()
                .any(|form| form.idle_timeout),
            environment,
            pipeline,
            ports,
            received: 0,
            sent: 0,
            to_controller: 0,
            from_controller: 0,
        }
    }

    pub fn pipeline(&mut self) -> &mut Pipeline {
        &mut self.pipeline
    }

    fn process(&mut self, now: Time, port: u32, frame: Frame, out: &mut Out) {
        let mut output = ToWorld {
            ports: self.ports,
            cpu_port: self.environment.options.cpu_port,
            packet_ins: &self.environment.packet_ins,
            arrived: frame.arrived(),
            out,
            sent: 0,
            to_controller: 0,
        };
        self.pipeline.process(now, port, &frame, &mut output);
        self.sent += output.sent;
        self.to_controller += output.to_controller;
        out.done(frame);
    }

    /// When an entry could next have been idle for too long.
    fn next_idle(&self, now: Time) -> Option<Time> {
        if !self.ages {
            return None;
        }
        // Not now again: an entry that was told of stays silent until it is hit.
        let tables = &self.environment.tables;
        let next = tables.next_idle().into_iter().chain(tables.next_expiry());
        next.min().map(|at| at.max(now + Time::from_ns(1)))
    }
}

/// Puts packets that leave into frames.
struct ToWorld<'a> {
    ports: usize,
    cpu_port: Option<u32>,
    packet_ins: &'a Queue<Vec<u8>>,
    arrived: Time,
    out: &'a mut Out,
    sent: u64,
    to_controller: u64,
}

impl ToWorld<'_> {
    fn frame(&mut self, bytes: &[u8]) -> Frame {
        let mut frame = self.out.frame();
        frame.extend(bytes);
        frame.set_arrived(self.arrived);
        frame
    }
}

impl Output for ToWorld<'_> {
    fn send(&mut self, port: u32, bytes: &[u8]) {
        if Some(port) == self.cpu_port {
            // The one case where a packet costs an allocation: its bytes change hands.
            self.to_controller += 1;
            self.packet_ins.push(bytes.to_vec());
            return;
        }
        let frame = self.frame(bytes);
        if (port as usize) < self.ports {
            self.sent += 1;
            self.out.send(Port(port as u16), frame);
        } else {
            self.out.drop(frame, "no such port");
        }
    }

    fn drop(&mut self, reason: Drop) {
        let frame = self.frame(&[]);
        self.out.drop(frame, reason.reason());
    }
}

impl Node for PipelineNode {
    fn properties(&self) -> Properties {
        Properties {
            may_lack_links: true,
            statistics_age: self.pipeline.reads_queues().then_some(QUEUE_AGE),
            endless: (self.environment.options.cpu_port).map(|_| "looks for packets at `cpu_port`"),
            ..Properties::of(self.ports)
        }
    }

    fn frames(&mut self, now: Time, port: Port, frames: &mut Vec<Frame>, out: &mut Out) {
        for frame in frames.drain(..) {
            self.received += 1;
            self.process(now, u32::from(port.0), frame, out);
            if self.ages && !self.polls {
                // The control plane may have added entries; a node that polls finds them anyway.
                self.next_wake = self.next_idle(now);
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out) {
        self.environment.tables.tick(now);
        if let Some(port) = self.environment.options.cpu_port {
            while let Some(packet) = self.environment.packet_outs.pop() {
                self.from_controller += 1;
                let mut frame = out.frame();
                frame.extend(&packet);
                self.process(now, port, frame, out);
            }
        }
        if self.ages {
            for idle in self.environment.tables.idle(now) {
                self.environment.idles.push(idle);
            }
            self.environment.expire(now);
        }
        let poll = self.polls.then(|| now + POLL);
        self.next_wake = match (poll, self.next_idle(now)) {
            (Some(poll), Some(idle)) => Some(poll.min(idle)),
            (poll, idle) => poll.or(idle),
        };
    }

    fn next_wake(&self) -> Option<Time> {
        self.next_wake
    }

    fn set_waker(&mut self, waker: &Waker) {
        self.environment.packet_outs.set_waker(waker);
        self.polls = false;
    }

    fn event(&mut self, _: Time, event: &Event, _: &mut Out) {
        if let What::Queue(queue) = event.what
            && queue.class == 0
        {
            let time = queue.wait().map_or(0, |wait| wait.as_ns() / 1000);
            let waiting = Waiting {
                packets: queue.packets,
                time: u32::try_from(time).unwrap_or(u32::MAX),
            };
            self.pipeline.set_waiting(event.port.0, waiting);
        }
    }

    fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        statistics.counter("received", self.received);
        statistics.counter("sent", self.sent);
        if self.environment.options.cpu_port.is_some() {
            statistics.counter("to controller", self.to_controller);
            statistics.counter("from controller", self.from_controller);
        }
        let messages = self.environment.digests.lost() + self.environment.packet_ins.lost();
        if messages > 0 {
            statistics.counter("messages lost", messages);
        }
        statistics
    }

    fn tables(&self, _: Time) -> Vec<node::outcome::Table> {
        let control = Control::new(Arc::clone(&self.environment));
        let tables = (0..).map(TableId).zip(&self.environment.program.tables);
        let dumped = tables.filter_map(|(id, table)| {
            let answer = control.run(&Command::Dump(Some(id))).ok()?;
            Some(node::outcome::Table {
                name: table.name.to_string(),
                entries: answer.rows.into_iter().map(|(text, _)| text).collect(),
            })
        });
        dumped.collect()
    }
}
