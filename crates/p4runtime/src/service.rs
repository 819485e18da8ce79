//! The service `p4.v1.P4Runtime` for tonic, written by hand: no program has to be generated for six calls.

use crate::expansion::Request as Counted;
use crate::messages::runtime::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, ReadResponse,
    SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse, StreamMessageRequest,
    StreamMessageResponse, WriteRequest, WriteResponse,
};
use crate::metered::{Charged, MAX_MESSAGE, Metered, MeteredBody};
use crate::status;
use listen::Visitor;
use node::budget::{Account, Budget};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio_stream::Stream;
use tonic::body::Body;
use tonic::codegen::http;
use tonic::server::{Grpc, NamedService, ServerStreamingService, StreamingService, UnaryService};
use tonic::{Request, Response, Status, Streaming};

/// Answers that come one after the other.
pub type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;
/// What a call will have come to.
pub type Coming<T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send>>;

/// The calls of P4Runtime.
pub trait P4Runtime: Send + Sync + 'static {
    /// Changes entities.
    fn write(self: Arc<Self>, request: WriteRequest) -> Result<WriteResponse, Status>;
    /// Reads entities.
    ///
    /// `account` is charged with the answers that wait to be sent.
    fn read(
        self: Arc<Self>,
        request: ReadRequest,
        account: &Account,
    ) -> Result<Answers<ReadResponse>, Status>;
    /// Brings a program.
    ///
    /// `gone` says, whenever it is asked, whether nobody waits for the answer any more.
    fn set_pipeline(
        self: Arc<Self>,
        request: SetForwardingPipelineConfigRequest,
        gone: Gone,
    ) -> Result<SetForwardingPipelineConfigResponse, Status>;
    /// Tells which program there is.
    fn get_pipeline(
        self: Arc<Self>,
        request: GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Status>;
    /// The stream between a controller and the device.
    fn stream(
        self: Arc<Self>,
        requests: Streaming<Charged<StreamMessageRequest>>,
    ) -> Result<Answers<StreamMessageResponse>, Status>;
    /// Tells what the server can do.
    fn capabilities(
        self: Arc<Self>,
        request: CapabilitiesRequest,
    ) -> Result<CapabilitiesResponse, Status>;
}

/// The service, for [`listen::http::serve`].
pub struct P4RuntimeServer<T>(Arc<T>);

impl<T> Clone for P4RuntimeServer<T> {
    fn clone(&self) -> Self {
        P4RuntimeServer(Arc::clone(&self.0))
    }
}

impl<T: P4Runtime> P4RuntimeServer<T> {
    /// Of what answers the calls.
    pub fn new(inner: Arc<T>) -> Self {
        P4RuntimeServer(inner)
    }
}

impl<T> NamedService for P4RuntimeServer<T> {
    const NAME: &'static str = "p4.v1.P4Runtime";
}

/// Whether the client of a call has gone away.
#[derive(Clone, Debug, Default)]
pub struct Gone(Arc<AtomicBool>);

impl Gone {
    /// Whether nobody waits for the answer any more.
    #[must_use]
    pub fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn notify(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Somebody who waits for an answer.
struct Waiting(Gone);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.notify();
    }
}

/// A call with one question and one answer.
struct Unary<T, F>(Arc<T>, F);

impl<T, F, Q, A> UnaryService<Charged<Q>> for Unary<T, F>
where
    T: P4Runtime,
    F: Fn(Arc<T>, Q, Gone) -> Result<A, Status> + Send + Copy + 'static,
    Q: Send + 'static,
    A: Send + 'static,
{
    type Response = A;
    type Future = Coming<A>;
    fn call(&mut self, request: Request<Charged<Q>>) -> Coming<A> {
        let (inner, call) = (Arc::clone(&self.0), self.1);
        // Compiling a program or changing many entries takes its time; the stream's tasks go on meanwhile.
        Box::pin(async move {
            // Dropped with the call when the client goes away.
            let waiting = Waiting(Gone::default());
            let gone = waiting.0.clone();
            let work = move || {
                let Charged { request, held } = request.into_inner();
                let answer = call(inner, request, gone);
                drop(held);
                answer
            };
            let done = tokio::task::spawn_blocking(work).await;
            done.unwrap_or_else(|_| Err(Status::internal("the call ended early")))
                .map(Response::new)
                .map_err(status::bounded)
        })
    }
}

struct ReadCall<T>(Arc<T>, Account);

impl<T: P4Runtime> ServerStreamingService<Charged<ReadRequest>> for ReadCall<T> {
    type Response = ReadResponse;
    type ResponseStream = Answers<ReadResponse>;
    type Future = Coming<Self::ResponseStream>;
    fn call(&mut self, request: Request<Charged<ReadRequest>>) -> Self::Future {
        let (inner, account) = (Arc::clone(&self.0), self.1.clone());
        Box::pin(async move {
            let work = move || inner.read(request.into_inner().request, &account);
            let done = tokio::task::spawn_blocking(work).await;
            done.unwrap_or_else(|_| Err(Status::internal("the call ended early")))
                .map(Response::new)
                .map_err(status::bounded)
        })
    }
}

struct StreamCall<T>(Arc<T>);

impl<T: P4Runtime> StreamingService<Charged<StreamMessageRequest>> for StreamCall<T> {
    type Response = StreamMessageResponse;
    type ResponseStream = Answers<StreamMessageResponse>;
    type Future = Coming<Self::ResponseStream>;
    fn call(&mut self, request: Request<Streaming<Charged<StreamMessageRequest>>>) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let answers = inner.stream(request.into_inner());
            answers.map(Response::new).map_err(status::bounded)
        })
    }
}

impl<T, B> tonic::codegen::Service<http::Request<B>> for P4RuntimeServer<T>
where
    T: P4Runtime,
    B: tonic::codegen::Body + Send + Unpin + 'static,
    B::Error: Into<tonic::codegen::StdError> + Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let inner = Arc::clone(&self.0);
        // `listen::http` gives each connection its account, and a place that it keeps while it is at work.
        let account = request.extensions().get::<Account>().cloned();
        let account = account.unwrap_or_else(|| Budget::new(listen::P4RUNTIME_MEMORY).account());
        let visitor = request.extensions().get::<Visitor>().cloned();
        let request = request.map(|body| MeteredBody::new(body, &account, visitor));
        match request.uri().path() {
            "/p4.v1.P4Runtime/Write" => unary(
                request,
                account,
                Unary(inner, |inner: Arc<T>, question, _| inner.write(question)),
            ),
            "/p4.v1.P4Runtime/SetForwardingPipelineConfig" => {
                unary(request, account, Unary(inner, T::set_pipeline))
            }
            "/p4.v1.P4Runtime/GetForwardingPipelineConfig" => {
                let call = |inner: Arc<T>, question, _| inner.get_pipeline(question);
                unary(request, account, Unary(inner, call))
            }
            "/p4.v1.P4Runtime/Capabilities" => {
                let call = |inner: Arc<T>, question, _| inner.capabilities(question);
                unary(request, account, Unary(inner, call))
            }
            "/p4.v1.P4Runtime/Read" => Box::pin(async move {
                let mut grpc = grpc(Metered::new(account.clone()));
                Ok(grpc
                    .server_streaming(ReadCall(inner, account), request)
                    .await)
            }),
            "/p4.v1.P4Runtime/StreamChannel" => Box::pin(async move {
                let mut grpc = grpc(Metered::new(account));
                Ok(grpc.streaming(StreamCall(inner), request).await)
            }),
            _ => Box::pin(async {
                Ok(Status::unimplemented("P4Runtime has no such call").into_http())
            }),
        }
    }
}

fn grpc<Q, A>(codec: Metered<A, Q>) -> Grpc<Metered<A, Q>>
where
    A: prost::Message + Send + 'static,
    Q: Counted,
{
    Grpc::new(codec).apply_max_message_size_config(Some(MAX_MESSAGE), None)
}

type Reply = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

fn unary<T, F, Q, A, B>(
    request: http::Request<MeteredBody<B>>,
    account: Account,
    call: Unary<T, F>,
) -> Reply
where
    T: P4Runtime,
    F: Fn(Arc<T>, Q, Gone) -> Result<A, Status> + Send + Sync + Copy + 'static,
    Q: Counted,
    A: prost::Message + Send + 'static,
    B: tonic::codegen::Body + Send + Unpin + 'static,
    B::Error: Into<tonic::codegen::StdError> + Send + 'static,
{
    Box::pin(async move {
        let mut grpc = grpc(Metered::new(account));
        Ok(grpc.unary(call, request).await)
    })
}

#[cfg(test)]
mod tests;
