//! HTTP over TCP and TLS within the [limits](crate): what REST and gRPC are served with.

pub mod origin;

use crate::{Gate, Permit, Visitor};
use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use node::budget::{Account, Budget};
pub use rustls::ServerConfig;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower_service::Service;

/// How often HTTP/2 asks whether the far end is there, and how long it waits for the answer.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(20);
/// Calls at a time on a connection of HTTP/2.
const STREAMS: u32 = 32;

/// The longest head of a request, bytes.
const HEAD: usize = 16 << 10;
/// Bytes of an answer that wait in a stream of HTTP/2: 1 MiB in all streams of a connection.
const WAITING: usize = 32 << 10;
/// Bytes that a connection of HTTP/2 may have sent before a call takes them.
const WINDOW: u32 = 256 << 10;

/// Which HTTP is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1.
    One,
    /// HTTP/2, without the upgrade from the former: what gRPC speaks.
    Two,
}

/// Address of the peer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// Serves what comes to this listener, each request with the [`Account`], the [`Visitor`] and the [`Peer`] of its connection in its extensions, until the future is dropped; connections that were let in end with the runtime.
pub async fn serve<S, B>(
    listener: TcpListener,
    gate: Arc<Gate>,
    budget: Budget,
    tls: Option<Arc<ServerConfig>>,
    version: Version,
    service: S,
) where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let tls = tls.map(TlsAcceptor::from);
    loop {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                if let Some(pause) = gate.failed(&error) {
                    sleep(pause).await;
                }
                continue;
            }
        };
        let Some(permit) = gate.admit(&stream, Some(from.ip())) else {
            continue;
        };
        // It is slower without, and nothing else.
        let _ = stream.set_nodelay(true);
        let (gate, tls) = (Arc::clone(&gate), tls.clone());
        let service = Known {
            service: service.clone(),
            account: budget.account(),
            visitor: permit.visitor().clone(),
            peer: Peer(from.ip()),
        };
        tokio::spawn(async move {
            let Some(tls) = tls else {
                return converse(Watched::new(stream, gate, permit), version, service).await;
            };
            let mut shaking = pin!(timeout(gate.limits().opening, tls.accept(stream)));
            let shaken = poll_fn(|context| match permit.poll_gave_way(context) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => shaking.as_mut().poll(context).map(Some),
            });
            let Some(shaken) = shaken.await else {
                return;
            };
            match shaken {
                Ok(Ok(stream)) => {
                    if stream.get_ref().1.peer_certificates().is_some() {
                        permit.visitor().know();
                    }
                    converse(Watched::new(stream, gate, permit), version, service).await;
                }
                Ok(Err(error)) => gate.untrusted(&error),
                Err(_) => gate.silent(),
            }
        });
    }
}

/// A service whose requests carry the [`Account`], the [`Visitor`] and the [`Peer`] of their connection among their extensions.
#[derive(Clone)]
struct Known<S> {
    service: S,
    account: Account,
    visitor: Visitor,
    peer: Peer,
}

impl<S: Service<Request<Incoming>>> Service<Request<Incoming>> for Known<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Incoming>) -> S::Future {
        request.extensions_mut().insert(self.account.clone());
        request.extensions_mut().insert(self.visitor.clone());
        request.extensions_mut().insert(self.peer);
        self.service.call(request)
    }
}

async fn converse<I, S, B>(stream: Watched<I>, version: Version, service: S)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let gate = Arc::clone(&stream.gate);
    let (stream, service) = (TokioIo::new(stream), TowerToHyperService::new(service));
    let ended = match version {
        Version::One => {
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new())
                .max_buf_size(HEAD)
                .header_read_timeout(gate.limits().opening);
            http.serve_connection(stream, service).await
        }
        Version::Two => {
            let mut http = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            http.timer(TokioTimer::new())
                .max_concurrent_streams(STREAMS)
                .max_header_list_size(HEAD as u32)
                .initial_connection_window_size(WINDOW)
                .initial_stream_window_size(WINDOW)
                .max_send_buf_size(WAITING)
                .keep_alive_interval(PING)
                .keep_alive_timeout(PONG);
            http.serve_connection(stream, service).await
        }
    };
    // Who speaks nonsense, or goes away, is no trouble of ours.
    if ended.is_err_and(|error| error.is_timeout()) {
        gate.silent();
    }
}

/// A stream that ends when its peer has not identified itself in time, after an idle timeout, or when another
/// connection needs its place.
struct Watched<I> {
    stream: I,
    gate: Arc<Gate>,
    until: Pin<Box<Sleep>>,
    permit: Permit,
}

impl<I> Watched<I> {
    fn new(stream: I, gate: Arc<Gate>, permit: Permit) -> Watched<I> {
        let until = Box::pin(sleep(gate.limits().opening));
        Watched {
            stream,
            gate,
            until,
            permit,
        }
    }

    /// The result of a call, unless time is up.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.permit.poll_gave_way(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        // Data of an unidentified peer does not extend its time.
        if result.is_ready() && self.permit.visitor().is_known() {
            let end = Instant::now() + self.gate.limits().idle;
            self.until.as_mut().reset(end);
            return result;
        }
        match self.until.as_mut().poll(context) {
            Poll::Pending => result,
            Poll::Ready(()) => {
                self.gate.silent();
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Watched<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.watch(context, result)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Watched<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // It may be called when there is nothing to flush: that is no sign of life.
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use hyper::body::Bytes;
    use std::convert::Infallible;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};

    #[derive(Clone)]
    struct Hello;

    impl Service<Request<Incoming>> for Hello {
        type Response = Response<String>;
        type Error = Infallible;
        type Future = std::future::Ready<Result<Response<String>, Infallible>>;
        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }
        fn call(&mut self, request: Request<Incoming>) -> Self::Future {
            if request.uri().path() != "/unidentified" {
                request.extensions().get::<Visitor>().unwrap().know();
            }
            std::future::ready(Ok(Response::new("hello".into())))
        }
    }

    fn serving(limits: Limits, version: Version) -> (SocketAddr, Arc<Gate>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let gate = Gate::new("test", limits);
        let let_in = Arc::clone(&gate);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                serve(
                    listener,
                    let_in,
                    Budget::new(crate::REST_MEMORY),
                    None,
                    version,
                    Hello,
                )
                .await;
            });
        });
        (address, gate)
    }

    const SHORT: Limits = Limits {
        connections: 2,
        unidentified: 2,
        per_address: 2,
        opening: Duration::from_millis(100),
        idle: Duration::from_millis(200),
    };

    /// Writes a byte now and then, as slow as the server lets it, until the server has had enough.
    fn trickles(address: SocketAddr, bytes: &[u8]) -> bool {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let mut answer = [0; 512];
        for byte in bytes.iter().cycle().take(500) {
            if stream.write_all(&[*byte]).is_err() {
                return false;
            }
            match stream.read(&mut answer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The end, with what it had to say before.
                Ok(0) | Err(_) => return false,
                Ok(_) => {}
            }
        }
        true
    }

    #[allow(clippy::disallowed_methods, reason = "another thread counts")]
    /// The silent ones; the far end may see its end a moment before it is counted.
    fn counted(gate: &Gate) -> u64 {
        for _ in 0..1000 {
            if gate.counts().silent > 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        gate.counts().silent
    }

    #[test]
    fn who_sends_a_request_byte_by_byte_or_nothing_is_sent_away() {
        for version in [Version::One, Version::Two] {
            let (address, gate) = serving(SHORT, version);
            let mut silent = TcpStream::connect(address).unwrap();
            // HTTP/2 says something first.
            let _ = silent.read_to_end(&mut Vec::new());
            assert_eq!(counted(&gate), 1, "{version:?}");
        }
        let (address, gate) = serving(SHORT, Version::One);
        assert!(!trickles(address, b"GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n"));
        assert_eq!(counted(&gate), 1);
    }

    #[test]
    fn a_client_that_asks_again_and_again_without_saying_who_it_is_is_sent_away() {
        let (address, gate) = serving(SHORT, Version::One);
        let mut stream = TcpStream::connect(address).unwrap();
        let request = b"GET /unidentified HTTP/1.1\r\nHost: a\r\n\r\n";
        let mut answers = 0;
        let mut answer = [0; 512];
        while stream.write_all(request).is_ok() {
            match stream.read(&mut answer) {
                Ok(0) | Err(_) => break,
                Ok(_) => answers += 1,
            }
        }
        assert!(answers > 0);
        assert_eq!(counted(&gate), 1);
    }

    #[test]
    fn who_asks_is_answered_and_who_waits_in_silence_gives_way() {
        let limits = Limits {
            opening: Duration::from_secs(20),
            ..SHORT
        };
        let (address, gate) = serving(limits, Version::One);
        let connect = || TcpStream::connect(address).unwrap();
        let mut all = [connect(), connect(), connect()];
        assert_eq!(all[0].read(&mut [0; 1]).unwrap_or(0), 0);
        assert_eq!(gate.counts().gave_way, 1);
        let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        all[2].write_all(request).unwrap();
        let mut answer = Vec::new();
        all[2].read_to_end(&mut answer).unwrap();
        assert!(answer.ends_with(Bytes::from_static(b"hello").as_ref()));
    }
}
