//! HTTP server of the page and its API.
//!
//! | request | response |
//! |---|---|
//! | `GET /` | the page |
//! | `GET /api/lab` | the network |
//! | `GET /api/events` | server-sent events `figures`: samples |
//! | `POST /api/order` with an order | its answer; 400 with `{"error": "..."}` |
//! | `/api/stream/...` | the database of streams, see [`stream::http`] |

use crate::Shown;
use crate::order::Order;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use listen::http::Version;
use listen::http::origin::{self, Names};
use listen::{Gate, REST, REST_MEMORY, Visitor};
use node::budget::{Account, Budget};
use page::feed::{Feed, Source};
use page::{File, HTML, SCRIPT, STYLE, secure};
use serde_json::json;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Maximum length of an order, bytes.
const MAX_ORDER_LEN: usize = 4 << 10;
/// Memory of a request while it is answered.
const MEMORY: usize = 128 << 10;

const FILES: [File; 7] = [
    ("/", HTML, include_bytes!("../web/index.html")),
    ("/watch.js", SCRIPT, include_bytes!("../web/watch.js")),
    ("/network.js", SCRIPT, include_bytes!("../web/network.js")),
    ("/watch.css", STYLE, include_bytes!("../web/watch.css")),
    (
        "/icon.svg",
        "image/svg+xml",
        include_bytes!("../web/icon.svg"),
    ),
    page::FEED,
    page::ELEMENTS,
];

/// Source of events: the last sample.
struct Samples(Arc<Shown>);

impl Source for Samples {
    fn last(&self) -> u64 {
        0
    }

    // Figures contain everything; there is no news.
    fn news(&self, _: u64) -> Option<(u64, Option<String>)> {
        Some((0, None))
    }

    fn figures(&self) -> String {
        self.0.figures.lock().clone()
    }
}

#[derive(Clone)]
struct App {
    shown: Arc<Shown>,
    feed: Arc<Feed<Samples>>,
}

/// A server on its own thread. Dropping it stops the server.
pub struct Server {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts the server, which sends samples at this interval.
    pub fn start(socket: TcpListener, shown: Arc<Shown>, every: Duration) -> io::Result<Server> {
        let at = socket.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(2)
            .build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        // Event ids differ between runs, so that a page of an earlier run reloads.
        let epoch = format!("{}", std::process::id());
        let app = App {
            feed: Arc::new(Feed::new(Samples(Arc::clone(&shown)), epoch)),
            shown,
        };
        let thread = std::thread::Builder::new().name("page".into());
        let thread = thread.spawn(move || {
            runtime.block_on(async move {
                // `open` has made the socket non-blocking.
                let Ok(socket) = tokio::net::TcpListener::from_std(socket) else {
                    return;
                };
                let feed = Arc::clone(&app.feed);
                let gate = Gate::new(format!("page at {at}"), REST);
                let budget = Budget::new(REST_MEMORY);
                let router = router(app);
                tokio::select! {
                    never = feed.sample(every) => match never {},
                    () = listen::http::serve(socket, gate, budget, None, Version::One, router) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Server {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn router(app: App) -> Router {
    let database = app.shown.database.clone();
    let mut router = Router::new()
        .route("/api/lab", get(lab))
        .route("/api/events", get(events))
        .route("/api/order", post(order))
        .nest_service("/api/stream", stream::http::router(database));
    for (path, kind, content) in FILES {
        let answer =
            move || async move { ([(header::CONTENT_TYPE, kind)], Bytes::from_static(content)) };
        router = router.route(path, get(answer));
    }
    router
        .fallback(async || failed(StatusCode::NOT_FOUND, "no such call"))
        .layer(DefaultBodyLimit::max(MAX_ORDER_LEN))
        .layer(from_fn(check))
        .with_state(app)
}

fn failed(code: StatusCode, why: &str) -> Response {
    (code, Json(json!({"error": why}))).into_response()
}

/// Refuses requests from pages of other sites, and requests for host names that other sites can use.
async fn check(request: Request, next: Next) -> Response {
    let mut answer = match refusal(&request) {
        Some(why) => failed(StatusCode::FORBIDDEN, why),
        None => {
            let visitor = request.extensions().get::<Visitor>().cloned();
            let _busy = visitor.as_ref().map(Visitor::busy);
            let account = request.extensions().get::<Account>();
            let held = account.map(|account| account.hold(MEMORY));
            match held {
                Some(Err(exhausted)) => {
                    failed(StatusCode::SERVICE_UNAVAILABLE, &exhausted.to_string())
                }
                _ => next.run(request).await,
            }
        }
    };
    secure(&mut answer);
    answer
}

fn refusal(request: &Request) -> Option<&'static str> {
    let headers = request.headers();
    let Some(host) = Names::default().host(request) else {
        return Some("the request names another host; use the address, or localhost");
    };
    if !request.uri().path().starts_with("/api/") {
        return None;
    }
    let is_ours = origin::is_same(headers, "http", host);
    (!is_ours).then_some("the request comes from a web page of another origin")
}

async fn lab(State(app): State<App>) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (kind, app.shown.overview.clone()).into_response()
}

async fn events(State(app): State<App>, visitor: Option<Extension<Visitor>>) -> Response {
    let busy = visitor.map(|Extension(visitor)| visitor.busy());
    // There are no sessions to end: the sender stays open and sends nothing.
    let (silent, unchanged) = watch::channel(());
    let reader = app.feed.read(None, unchanged, || true, (busy, silent));
    reader.unwrap_or_else(|| {
        failed(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many pages are open; close one",
        )
    })
}

async fn order(State(app): State<App>, Json(order): Json<Order>) -> Response {
    let busy = || {
        failed(
            StatusCode::SERVICE_UNAVAILABLE,
            "the run is busy, or has ended; try again",
        )
    };
    let Some(answer) = app.shown.asked.give(order) else {
        return busy();
    };
    match answer.await {
        Ok(Ok(value)) => Json(value).into_response(),
        Ok(Err(why)) => failed(StatusCode::BAD_REQUEST, &why),
        Err(_) => busy(),
    }
}
