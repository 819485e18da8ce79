//! Web page of a lab in simulated time: it shows the network at work and controls the run.
//!
//! | module | content |
//! |---|---|
//! | [`pace`] | simulated time paced by the clock, at any speed |
//! | `drive` | the run: pace, orders from the page, samples |
//! | `sample` | JSON of links and frames for the page |
//! | `tables` | rows for a [stream database](stream) |
//! | `server` | HTTP server of the page and its API |
//!
//! The page has no authentication, so the server listens on loopback addresses only. It refuses requests from pages of other
//! sites ([`listen::http::origin`]). [`listen::REST`] limits connections and memory.
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
    /// The address is not a loopback address.
    #[error(
        "{0} is not a loopback address: the page has no authentication; use 127.0.0.1:{port}, and from another machine \
         ssh -L {port}:127.0.0.1:{port} HOST", port = .0.port()
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be bound.
    #[error("{0}: {1}")]
    Address(SocketAddr, io::Error),
    /// No thread could be started.
    #[error("starting the server: {0}")]
    Start(#[from] io::Error),
    /// The tables need too much memory.
    #[error(transparent)]
    Tables(#[from] SchemaError),
    /// The simulation failed.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A bound address. The server has not started.
#[derive(Debug)]
pub struct Opened {
    socket: TcpListener,
    address: SocketAddr,
}

/// Binds a loopback address. Port 0 takes a free one.
///
/// # Errors
/// When the address is not a loopback address, or cannot be bound.
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

    /// Starts the server for the page of a lab.
    ///
    /// # Errors
    /// When there is not enough memory, or no thread can start.
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

/// State that the server shows.
struct Shown {
    /// The network, as JSON.
    overview: String,
    /// The last sample, as JSON.
    figures: Mutex<String>,
    database: Database,
    asked: order::Asked,
}

/// A running server. Dropping it stops the server.
pub struct Watch {
    shown: Arc<Shown>,
    orders: Orders,
    tables: Tables,
    _server: Server,
}

impl Watch {
    /// Runs a session at the pace that the page sets, initially real time, until `stop` returns true. After the end of the lab
    /// the page remains available.
    ///
    /// # Errors
    /// When the simulation makes no progress in time.
    pub fn run(
        &mut self,
        session: &mut Session<'_>,
        lab: &Lab,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), WatchError> {
        drive::run(self, session, lab, stop)
    }
}
