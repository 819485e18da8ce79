//! The API and the board over HTTPS.
//!
//! | module | content |
//! |---|---|
//! | [`api`] | the calls: table 4.1 of the paper, and those of the board |
//! | [`sessions`] | the password and the sessions |
//! | `join` | the page for guests with an invitation |
//! | `guard`, `limit` | checks of requests; limits on wrong passwords |
//! | `certificate`, `files`, `views`, `watch` | the certificate, the board's files, devices as JSON, news and rates of a home |
//!
//! The resources of a peer without a session are bounded: connections and their duration by [`listen::REST`], memory of requests by
//! [`listen::REST_MEMORY`], bodies by [`MAX_BODY`], wrong passwords by address and in total. One password is hashed at a time.
//!
//! ```no_run
//! use home::{clock::Clock, plan::Plan, store::Store, web};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let clock = Clock::system();
//! let store = Store::open("home.db".as_ref(), clock.clone())?;
//! let mut home = home::Home::new(Plan::default(), store.journal());
//! store.restore(&mut home)?;
//! let mut options = web::Options::new(clock);
//! options.https.push("10.2.0.1:443".parse()?);
//! let web = web::Web::open(home.shared(), store, options)?;
//! if let Some(code) = web.setup_code() {
//!     println!("set the password at https://{}/#setup={code}", web.addresses()[0].0);
//! }
//! let running = web.start()?;
//! // Later:
//! running.stop();
//! # Ok(())
//! # }
//! ```

pub mod api;
mod certificate;
mod files;
mod guard;
mod join;
mod limit;
pub mod sessions;
mod views;
mod watch;

pub use certificate::CertificateError;

use crate::clock::Clock;
use crate::gateway::Settings;
use crate::home::Shared;
use crate::invitations::Invitations;
use crate::messages::{self, Messages};
use crate::store::{Store, StoreError};
use api::{App, Context};
use axum::Router;
use guard::Guard;
use listen::Gate;
use listen::http::{ServerConfig, Version};
use node::budget::Budget;
use page::feed::Feed;
use sessions::{Sessions, SignInError};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use stream::Database;
use tokio::sync::{Semaphore, oneshot};
use watch::Watch;

/// Maximum length of a request's body, bytes.
pub const MAX_BODY: usize = 4 << 10;

/// Interval of the devices' figures.
const FIGURES_INTERVAL: Duration = Duration::from_secs(1);

/// Options of the server.
#[derive(Clone)]
pub struct Options {
    /// Addresses for HTTPS. Port 0 takes a free one.
    pub https: Vec<SocketAddr>,
    /// Addresses for plain HTTP: of loopback alone, unless `plain` is set.
    pub http: Vec<SocketAddr>,
    /// Whether plain HTTP is allowed on other addresses than loopback, where the network can read the password.
    pub plain: bool,
    /// Names of the router, in addition to its addresses, such as `router.home.arpa`.
    pub names: Vec<String>,
    /// Clock of the home.
    pub clock: Clock,
    /// Database of streams for `/ws.v1/stream`.
    pub database: Option<Database>,
    /// Settings of the control program, with which rehearsals run.
    pub settings: Settings,
    /// How messages are sent.
    pub messages: messages::Options,
    /// Address of the page for guests, which devices that wait can reach over plain HTTP; none: no invitations.
    pub join: Option<SocketAddr>,
}

impl Options {
    /// No addresses, no names and no database.
    pub fn new(clock: Clock) -> Options {
        Options {
            https: Vec::new(),
            http: Vec::new(),
            plain: false,
            names: Vec::new(),
            clock,
            database: None,
            settings: Settings::default(),
            messages: messages::Options::default(),
            join: None,
        }
    }
}

/// A server that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    /// An address cannot be bound.
    #[error("{0}: {1}")]
    Address(SocketAddr, io::Error),
    /// Plain HTTP on a network.
    #[error(
        "{0}: plain HTTP shows the password to the network; use HTTPS there, or allow plain HTTP by its option"
    )]
    Plain(SocketAddr),
    /// No thread could be started.
    #[error("starting the server: {0}")]
    Start(#[from] io::Error),
    /// The certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Sessions or the password.
    #[error(transparent)]
    Sessions(#[from] SignInError),
}

/// A server that is bound to its addresses, and not started yet.
pub struct Web {
    app: Arc<App>,
    listeners: Vec<Listener>,
    addresses: Vec<(SocketAddr, bool)>,
    fingerprint: Option<String>,
}

struct Listener {
    socket: TcpListener,
    gate: Arc<Gate>,
    tls: Option<Arc<ServerConfig>>,
    /// Whether it has the page for guests alone.
    is_for_guests: bool,
}

impl Web {
    /// Binds the addresses. The first start creates the certificate.
    ///
    /// # Errors
    /// When an address cannot be bound, plain HTTP is not allowed there, or the store fails.
    pub fn open(home: Shared, store: Store, options: Options) -> Result<Web, WebError> {
        let Options {
            https,
            http,
            plain,
            names,
            clock,
            database,
            settings,
            messages,
            join,
        } = options;
        if let Some(address) = http
            .iter()
            .find(|address| !plain && !address.ip().is_loopback())
        {
            return Err(WebError::Plain(*address));
        }
        let tls = match https.is_empty() {
            true => None,
            false => {
                let fixed = https.iter().map(|address| address.ip());
                let fixed = fixed
                    .filter(|ip| !ip.is_unspecified())
                    .map(|ip| ip.to_string());
                let named = names
                    .iter()
                    .cloned()
                    .chain(fixed)
                    .chain(["localhost".into()]);
                Some(certificate::config(&store, named.collect())?)
            }
        };
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        let mut join_at = None;
        let https = https.into_iter().map(|address| (address, true, false));
        let http = http.into_iter().map(|address| (address, false, false));
        let guests = join.into_iter().map(|address| (address, false, true));
        for (address, is_secure, is_for_guests) in https.chain(http).chain(guests) {
            let bound = || {
                let socket = TcpListener::bind(address)?;
                socket.set_nonblocking(true)?;
                Ok((socket.local_addr()?, socket))
            };
            let (at, socket) = bound().map_err(|error| WebError::Address(address, error))?;
            match is_for_guests {
                true => join_at = Some(at),
                false => addresses.push((at, is_secure)),
            }
            listeners.push(Listener {
                socket,
                gate: Gate::new(format!("web at {at}"), listen::REST),
                tls: tls
                    .as_ref()
                    .filter(|_| is_secure)
                    .map(|(tls, _)| Arc::clone(tls)),
                is_for_guests,
            });
        }
        let sessions = Sessions::open(store.clone(), clock.clone())?;
        let feed = Feed::new(
            Watch::new(Arc::clone(&home), clock.clone()),
            crate::secret::random::<4>().map_err(SignInError::from)?,
        );
        home.lock().on_notice(feed.waker());
        let messages = Messages::open(home.clone(), store.clone(), clock.clone(), messages)?;
        let invitations = Invitations::open(home.clone(), store.clone(), clock.clone())?;
        let app = App {
            invitations,
            join: join_at,
            messages,
            home,
            store,
            clock,
            sessions,
            guard: Guard::new(names),
            feed: Arc::new(feed),
            database,
            settings,
            rehearsals: Semaphore::new(1),
            gates: listeners
                .iter()
                .map(|each| Arc::clone(&each.gate))
                .collect(),
        };
        Ok(Web {
            app: Arc::new(app),
            listeners,
            addresses,
            fingerprint: tls.map(|(_, fingerprint)| fingerprint),
        })
    }

    /// The addresses, each with whether it speaks HTTPS.
    pub fn addresses(&self) -> &[(SocketAddr, bool)] {
        &self.addresses
    }

    /// Address of the page for guests.
    pub fn join_address(&self) -> Option<SocketAddr> {
        self.app.join
    }

    /// Messages to people who are not looking.
    pub fn messages(&self) -> &Messages {
        &self.app.messages
    }

    /// Code for setting the first password, while none is set. Show it only to the household.
    pub fn setup_code(&self) -> Option<String> {
        self.app.sessions.setup_code()
    }

    /// SHA-256 fingerprint of the certificate, to compare with the one that the browser shows.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// Serves until the future is dropped. Connections end with the runtime.
    ///
    /// # Errors
    /// When a socket cannot be handed to the runtime.
    pub async fn serve(self) -> io::Result<()> {
        let mut all = tokio::task::JoinSet::new();
        let feed = Arc::clone(&self.app.feed);
        all.spawn(async move { match feed.sample(FIGURES_INTERVAL).await {} });
        all.spawn(Arc::clone(&self.app.messages).run());
        for Listener {
            socket,
            gate,
            tls,
            is_for_guests,
        } in self.listeners
        {
            let socket = tokio::net::TcpListener::from_std(socket)?;
            let context = Context {
                app: Arc::clone(&self.app),
                is_secure: tls.is_some(),
            };
            let router: Router = match is_for_guests {
                true => join::router(Arc::clone(&self.app)),
                false => api::router(context),
            };
            let budget = Budget::new(listen::REST_MEMORY);
            all.spawn(async move {
                listen::http::serve(socket, gate, budget, tls, Version::One, router).await;
            });
        }
        while all.join_next().await.is_some() {}
        Ok(())
    }

    /// Serves on a thread of its own.
    ///
    /// # Errors
    /// When no thread or runtime can be made.
    pub fn start(self) -> Result<Running, WebError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(2)
            .build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("web".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        served = self.serve() => served,
                        _ = stopped => Ok(()),
                    }
                })
            })?;
        Ok(Running {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

/// A running server. Dropping it stops it.
pub struct Running {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Running {
    /// Stops it and closes all connections.
    pub fn stop(self) {}
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
