//! Messages of packets to controllers: packet-ins, digests and idle timeouts.

use super::Server;
use crate::arbitration::StreamId;
use crate::messages::runtime::{self as pb, StreamMessageResponse, stream_message_response as to};
use crate::packets;
use crate::pipeline_state::Pipeline;
use crate::read::bare;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;
use tokio::sync::Notify;

/// Interval of checks for due digest lists while messages are gathered.
const POLL: Duration = Duration::from_millis(1);

/// Wakes the server when packets have queued messages.
#[derive(Default)]
pub(super) struct News(Notify);

impl std::task::Wake for News {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify_one();
    }
}

impl News {
    /// Wakes the server.
    pub fn call(&self) {
        self.0.notify_one();
    }
}

impl Server {
    /// Sends messages of packets to controllers, forever.
    pub(super) async fn poll(self: Arc<Self>) {
        loop {
            let news = self.news.0.notified();
            if self.hand_on() {
                let _ = tokio::time::timeout(POLL, news).await;
            } else {
                news.await;
            }
        }
    }

    /// Sends messages of packets to controllers. Returns whether digests wait for a later time.
    pub(super) fn hand_on(&self) -> bool {
        let Ok(pipeline) = self.pipeline() else {
            return false;
        };
        let environment = pipeline.control.environment();
        let now = self.device.now();
        while let Some(bytes) = environment.packet_ins.pop() {
            let packet = packets::packet_in(&pipeline.info, &pipeline.translations, &bytes);
            self.to_primaries(&to::Update::Packet(packet));
        }
        let (lists, gathers) = {
            let mut digests = self.digests.lock();
            while let Some(message) = environment.digests.pop() {
                digests.add(&pipeline, message, now);
            }
            (digests.due(&pipeline, now), digests.gathers())
        };
        for list in lists {
            self.to_primaries(&to::Update::Digest(list));
        }
        let mut entries = Vec::new();
        while let Some(idle) = environment.idles.pop() {
            let mut entry = bare(&pipeline, idle.table, &idle.entry);
            let installed = &idle.entry.entry;
            entry.idle_timeout_ns = installed.idle_timeout.map_or(0, |time| time.as_ns() as i64);
            entry.metadata = installed.metadata.to_vec();
            entries.push(entry);
        }
        if !entries.is_empty() {
            self.to_primaries(&to::Update::IdleTimeoutNotification(
                pb::IdleTimeoutNotification {
                    table_entry: entries,
                    timestamp: now.as_ns() as i64,
                },
            ));
        }
        gathers
    }

    pub(super) fn to_primaries(&self, update: &to::Update) {
        let primaries: Vec<StreamId> = self.arbiter.lock().primaries().collect();
        for stream in primaries {
            self.send(stream, update.clone());
        }
    }

    pub(super) fn send(&self, stream: StreamId, update: to::Update) {
        if let Some((sender, _)) = self.streams.lock().open.get(&stream) {
            // A controller that does not read loses messages; the device does not wait.
            let _ = sender.try_send(Ok(StreamMessageResponse {
                update: Some(update),
            }));
        }
    }
}

/// Lets queued messages of a program's packets wake the server.
pub(super) fn hear(pipeline: &Pipeline, news: &Arc<News>) {
    let (environment, waker) = (
        pipeline.control.environment(),
        Waker::from(Arc::clone(news)),
    );
    environment.packet_ins.set_waker(&waker);
    environment.digests.set_waker(&waker);
    environment.idles.set_waker(&waker);
}
