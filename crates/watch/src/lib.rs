//! A lab in simulated time on a web page, which shows it at work and steers it.
//!
//! | module | content |
//! |---|---|
//! | [`pace`] | simulated time by a clock: faster, slower, or as fast as possible |
//! | `drive` | runs the lab at its pace, obeys the page, samples |
//! | `sample` | links and frames as the page draws them |
//! | `tables` | the same as rows of a [stream database](stream) |
//! | `server` | the page and its calls over HTTP |
//!
//! Everybody on this machine may look and steer, and nobody else: it is served on loopback addresses only. Requests of other sites'
//! pages are refused ([`listen::http::origin`]); connections and their memory are bounded by [`listen::REST`].
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod drive;
mod order;
pub mod pace;
mod sample;
mod server;
mod tables;

use lab::{Lab, Session, SessionError};
use order::Orders;
use parking_lot::Mutex;
use server::Server;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use stream::{Database, SchemaError};
use tables::Tables;

/// A lab that cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// An address that others can reach.
    #[error(
        "{0}: everybody who reaches the page may steer the lab, so it is on loopback only, such as 127.0.0.1:{port}; \
         from elsewhere: ssh -L {port}:127.0.0.1:{port} HOST", port = .0.port()
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be bound.
    #[error("{0}: {1}")]
    Address(SocketAddr, io::Error),
    /// No thread could be started.
    #[error("starting the server: {0}")]
    Start(#[from] io::Error),
    /// No memory for the tables.
    #[error(transparent)]
    Tables(#[from] SchemaError),
    /// The lab cannot go on.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A bound address, where nothing is served yet.
#[derive(Debug)]
pub struct Opened {
    socket: TcpListener,
    address: SocketAddr,
}

/// Binds a loopback address. Port 0 takes a free one.
///
/// # Errors
/// When others could reach the address, or it cannot be bound.
pub fn open(address: SocketAddr) -> Result<Opened, WatchError> {
    if !address.ip().is_loopback() {
        return Err(WatchError::NotLoopback(address));
    }
    let bound = || {
        let socket = TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok((socket.local_addr()?, socket))
    };
    let (address, socket) = bound().map_err(|error| WatchError::Address(address, error))?;
    Ok(Opened { socket, address })
}

impl Opened {
    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the page of a lab.
    ///
    /// # Errors
    /// When there is no memory or no thread.
    pub fn start(self, lab: &Lab) -> Result<Watch, WatchError> {
        let (asked, orders) = order::queue();
        let tables = Tables::new()?;
        let shown = Arc::new(Shown {
            overview: sample::overview(lab),
            figures: Mutex::new("{}".into()),
            database: tables.database().clone(),
            asked,
        });
        let server = Server::start(self.socket, Arc::clone(&shown), sample::interval(lab))?;
        Ok(Watch {
            shown,
            orders,
            tables,
            _server: server,
        })
    }
}

/// What the server shows.
struct Shown {
    /// The network, as JSON.
    overview: String,
    /// The last sample, as JSON.
    figures: Mutex<String>,
    database: Database,
    asked: order::Asked,
}

/// The page of a lab that is served. Dropping it ends that.
pub struct Watch {
    shown: Arc<Shown>,
    orders: Orders,
    tables: Tables,
    _server: Server,
}

impl Watch {
    /// Runs a session at the pace that the page asks for, at first that of the clock, until `stop` returns true. After the end of
    /// the lab it stands still, and can be looked at.
    ///
    /// # Errors
    /// When time stands still in the lab.
    pub fn run(
        &mut self,
        session: &mut Session<'_>,
        lab: &Lab,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), WatchError> {
        drive::run(self, session, lab, stop)
    }
}
