//! Events for browsers, as server-sent events: numbered batches of news, and figures at intervals.
//!
//! A [`Source`] supplies news and figures as JSON. An event's id is `EPOCH-NUMBER`. A reader that
//! reconnects sends its last id (`Last-Event-ID`, or `?after=` at its start) and misses nothing. If the news after it is no longer
//! kept, or the server has restarted, the reader gets the event `reload`. A slow reader gets larger batches, not a longer queue.

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

/// Maximum number of readers at a time.
pub const MAX_READERS: usize = 24;
/// Minimum time between two batches of a reader. The first news after a pause is sent at once.
const BATCH_INTERVAL: Duration = Duration::from_millis(100);
/// Interval of comments that keep an idle connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Source of news and figures.
pub trait Source: Send + Sync + 'static {
    /// Number of the last news.
    fn last(&self) -> u64;
    /// News after a number: the last number, and the news as JSON, if there is any. `None` if some of it is no longer kept.
    fn news(&self, after: u64) -> Option<(u64, Option<String>)>;
    /// Figures that changed lately, as JSON.
    fn figures(&self) -> String;
}

/// The readers of a source.
pub struct Feed<S> {
    source: S,
    epoch: String,
    woken: watch::Sender<()>,
    figures: watch::Sender<String>,
    places: Arc<Semaphore>,
}

impl<S: Source> Feed<S> {
    /// A feed. `epoch` must differ at each start.
    pub fn new(source: S, epoch: String) -> Feed<S> {
        Feed {
            source,
            epoch,
            woken: watch::Sender::new(()),
            figures: watch::Sender::new(String::new()),
            places: Arc::new(Semaphore::new(MAX_READERS)),
        }
    }

    /// The source.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// A function to call when there is news.
    pub fn waker(&self) -> impl Fn() + Send + 'static {
        let woken = self.woken.clone();
        move || {
            woken.send_replace(());
        }
    }

    /// Id for a reader that reads the state after this call: events after the id cover all later changes.
    pub fn id(&self) -> String {
        self.id_of(self.source.last())
    }

    fn id_of(&self, number: u64) -> String {
        format!("{}-{number}", self.epoch)
    }

    /// Samples figures at interval `every` while there are readers. Never returns.
    pub async fn sample(&self, every: Duration) -> Infallible {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if self.figures.receiver_count() > 0 {
                self.figures.send_replace(self.source.figures());
            }
        }
    }

    /// Response that lasts until the reader disconnects or `is_allowed` returns false, which is checked again after `changed`.
    /// `None` if there are too many readers.
    pub fn read(
        self: Arc<Self>,
        after: Option<&str>,
        mut changed: watch::Receiver<()>,
        is_allowed: impl Fn() -> bool + Send + 'static,
        held: impl Send + 'static,
    ) -> Option<Response> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let number = match after {
            None => Some(self.source.last()),
            Some(id) => id
                .split_once('-')
                .filter(|(epoch, _)| *epoch == self.epoch)
                .and_then(|(_, number)| number.parse().ok())
                .filter(|number| *number <= self.source.last()),
        };
        let (sender, receiver) = mpsc::channel::<Bytes>(1);
        tokio::spawn(async move {
            let _held = (place, held);
            let (mut woken, mut figures) = (self.woken.subscribe(), self.figures.subscribe());
            let mut number = number;
            loop {
                if !is_allowed() {
                    let _ = sender.send(event("signed-out", None, "{}")).await;
                    return;
                }
                let text = match number.and_then(|number| self.source.news(number)) {
                    None => {
                        let last = self.source.last();
                        number = Some(last);
                        Some(event("reload", Some(&self.id_of(last)), "{}"))
                    }
                    Some((last, news)) => {
                        number = Some(last);
                        news.map(|news| event("news", Some(&self.id_of(last)), &news))
                    }
                };
                if let Some(text) = text {
                    if sender.send(text).await.is_err() {
                        return;
                    }
                    sleep(BATCH_INTERVAL).await;
                }
                let text = tokio::select! {
                    _ = sender.closed() => return,
                    _ = changed.changed() => None,
                    _ = woken.changed() => None,
                    _ = figures.changed() => {
                        let text = figures.borrow_and_update().clone();
                        Some(event("figures", None, &text))
                    }
                    () = sleep(KEEP_ALIVE) => Some(Bytes::from_static(b":\n\n")),
                };
                if let Some(text) = text
                    && sender.send(text).await.is_err()
                {
                    return;
                }
            }
        });
        let body = ReceiverStream::new(receiver).map(Ok::<_, Infallible>);
        let kind = [(header::CONTENT_TYPE, "text/event-stream")];
        Some((kind, Body::from_stream(body)).into_response())
    }
}

/// An event on one line: serialized JSON has no line breaks.
fn event(name: &str, id: Option<&str>, data: &str) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    Bytes::from(format!("event: {name}\n{id}data: {data}\n\n"))
}
