use super::*;
use crate::messages::runtime::Entity;
use http_body::{Body as _, Frame};
use node::budget::Limits;
use prost::Message;
use prost::bytes::Bytes;
use std::sync::atomic::AtomicU64;
use tonic::Code;
use tonic::codegen::Service;

/// Counts the requests that were decoded.
#[derive(Default)]
struct Counting(AtomicU64);

impl Counting {
    fn note<T: Default>(&self) -> Result<T, Status> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(T::default())
    }
}

impl P4Runtime for Counting {
    fn write(self: Arc<Self>, _: WriteRequest) -> Result<WriteResponse, Status> {
        self.note()
    }
    fn read(self: Arc<Self>, _: ReadRequest, _: &Account) -> Result<Answers<ReadResponse>, Status> {
        self.note::<()>()?;
        Ok(Box::pin(tokio_stream::empty()))
    }
    fn set_pipeline(
        self: Arc<Self>,
        _: SetForwardingPipelineConfigRequest,
        _: Gone,
    ) -> Result<SetForwardingPipelineConfigResponse, Status> {
        self.note()
    }
    fn get_pipeline(
        self: Arc<Self>,
        _: GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse, Status> {
        self.note()
    }
    fn stream(
        self: Arc<Self>,
        _: Streaming<Charged<StreamMessageRequest>>,
    ) -> Result<Answers<StreamMessageResponse>, Status> {
        self.note::<()>()?;
        Ok(Box::pin(tokio_stream::empty()))
    }
    fn capabilities(
        self: Arc<Self>,
        _: CapabilitiesRequest,
    ) -> Result<CapabilitiesResponse, Status> {
        self.note()
    }
}

/// A body of pieces of 16 KiB, as HTTP/2 brings them.
struct Pieces(Bytes);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.0.len().min(16 << 10);
        let piece = self.0.split_to(length);
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }
}

/// Calls a method with a message that is said to be `length` bytes long; the status.
fn call(
    service: &mut P4RuntimeServer<Counting>,
    account: &Account,
    method: &str,
    length: usize,
    message: &[u8],
) -> Code {
    let head = [&[0][..], &(length as u32).to_be_bytes()].concat();
    let request = http::Request::builder()
        .method("POST")
        .uri(format!("/p4.v1.P4Runtime/{method}"))
        .header("content-type", "application/grpc")
        .extension(account.clone())
        .body(Pieces([&head, message].concat().into()))
        .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut answer = service.call(request).await.unwrap();
        let mut status = answer.headers().get("grpc-status").cloned();
        while status.is_none() {
            let mut body = Pin::new(answer.body_mut());
            let frame = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await;
            let frame = frame.expect("trailers").unwrap();
            status = frame
                .trailers_ref()
                .and_then(|all| all.get("grpc-status").cloned());
        }
        Code::from_bytes(status.unwrap().as_bytes())
    })
}

#[test]
fn a_message_that_expands_beyond_the_budget_is_refused_before_it_does() {
    let inner = Arc::new(Counting::default());
    let mut service = P4RuntimeServer::new(Arc::clone(&inner));
    let budget = Budget::new(Limits {
        each: 4 << 20,
        reserved: 0,
        all: 6 << 20,
    });
    let account = budget.account();
    // Empty updates and entities: two bytes each, and some hundred in memory.
    for (method, tag) in [("Write", [0x22, 0]), ("Read", [0x12, 0])] {
        for (count, code) in [(1000, Code::Ok), (100_000, Code::ResourceExhausted)] {
            let bytes = tag.repeat(count);
            assert_eq!(
                call(&mut service, &account, method, bytes.len(), &bytes),
                code
            );
            assert_eq!(account.used(), 0, "all memory is returned");
        }
    }
    assert_eq!(inner.0.load(Ordering::Relaxed), 2);
    // A length alone is refused, before its bytes come.
    let code = call(&mut service, &account, "Write", 5 << 20, &[]);
    assert_eq!(code, Code::ResourceExhausted);
    // A message is also refused when other connections use the budget.
    let other = budget.account();
    let _held = other.hold(4 << 20).unwrap();
    let program = SetForwardingPipelineConfigRequest {
        role: "r".repeat(1 << 20),
        ..Default::default()
    };
    let bytes = program.encode_to_vec();
    let set = "SetForwardingPipelineConfig";
    assert_eq!(
        call(&mut service, &account, set, bytes.len(), &bytes),
        Code::ResourceExhausted
    );
    drop(_held);
    assert_eq!(
        call(&mut service, &account, set, bytes.len(), &bytes),
        Code::Ok
    );
    assert_eq!((account.used(), budget.used()), (0, 0));
    let wanted = ReadRequest {
        entities: vec![Entity::default(); 3],
        ..Default::default()
    };
    let bytes = wanted.encode_to_vec();
    assert_eq!(
        call(&mut service, &account, "Read", bytes.len(), &bytes),
        Code::Ok
    );
}
