//! Requests within the memory of their connection: charged by their length before they are read, and by what they
//! expand to before they are decoded.

use crate::expansion::{Request, memory};
use http_body::{Body, Frame, SizeHint};
use listen::{Busy, Visitor};
use node::budget::{Account, Exhausted, Held};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic::codegen::{Bytes, StdError};
use tonic_prost::ProstCodec;

/// The longest message, bytes. Programs and large batches are longer than gRPC's usual four megabytes.
pub const MAX_MESSAGE: usize = 16 << 20;
/// Flag of compression and length, which are before every message.
const HEAD: usize = 5;

fn refused(exhausted: Exhausted) -> Status {
    Status::resource_exhausted(exhausted.to_string())
}

/// A decoded request with the memory that it holds.
pub struct Charged<R> {
    /// The request.
    pub request: R,
    /// Returned to the connection when the request has been carried out.
    pub held: Held,
}

/// Decodes requests of a connection within its account, and encodes answers.
pub struct Metered<A, R> {
    account: Account,
    of: PhantomData<(A, R)>,
}

impl<A, R> Metered<A, R> {
    /// For a connection.
    pub fn new(account: Account) -> Metered<A, R> {
        Metered {
            account,
            of: PhantomData,
        }
    }
}

impl<A: prost::Message + Send + 'static, R: Request> Codec for Metered<A, R> {
    type Encode = A;
    type Decode = Charged<R>;
    type Encoder = <ProstCodec<A, R> as Codec>::Encoder;
    type Decoder = Metered<A, R>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<A, R>::raw_encoder(BufferSettings::default())
    }

    fn decoder(&mut self) -> Self::Decoder {
        Metered::new(self.account.clone())
    }
}

impl<A: Send + 'static, R: Request> Decoder for Metered<A, R> {
    type Item = Charged<R>;
    type Error = Status;

    fn decode(&mut self, source: &mut DecodeBuf<'_>) -> Result<Option<Charged<R>>, Status> {
        use prost::bytes::Buf;
        let encoded = source.copy_to_bytes(source.remaining());
        let held = self.account.hold(memory::<R>(&encoded)).map_err(refused)?;
        let request = R::decode(encoded).map_err(|error| Status::internal(error.to_string()))?;
        Ok(Some(Charged { request, held }))
    }
}

/// The body of a call: holds as much as its longest message until now, from the moment that the length has come.
pub struct MeteredBody<B> {
    body: B,
    held: Result<Held, Exhausted>,
    head: Vec<u8>,
    /// Bytes of the message at hand that are still to come.
    left: usize,
    visitor: Option<Visitor>,
    /// From the first whole message on the connection keeps its place.
    busy: Option<Busy>,
}

impl<B> MeteredBody<B> {
    /// Of a call of this connection.
    pub fn new(body: B, account: &Account, visitor: Option<Visitor>) -> MeteredBody<B> {
        MeteredBody {
            body,
            held: account.hold(0),
            head: Vec::with_capacity(HEAD),
            left: 0,
            visitor,
            busy: None,
        }
    }

    /// A message may have come to its end.
    fn is_whole(&mut self) {
        if self.left == 0 && self.busy.is_none() {
            self.busy = self.visitor.as_ref().map(Visitor::busy);
        }
    }

    /// Follows the messages through a piece of the body.
    fn follow(&mut self, mut piece: &[u8]) -> Result<(), Exhausted> {
        while !piece.is_empty() {
            let step = match self.left {
                0 => (HEAD - self.head.len()).min(piece.len()),
                left => left.min(piece.len()),
            };
            let (now, after) = piece.split_at(step);
            piece = after;
            if self.left > 0 {
                self.left -= step;
                self.is_whole();
                continue;
            }
            self.head.extend_from_slice(now);
            if let [_, a, b, c, d] = self.head[..] {
                self.head.clear();
                self.left = u32::from_be_bytes([a, b, c, d]) as usize;
                let held = self.held.as_mut().map_err(|exhausted| *exhausted)?;
                // A message above the maximum length is refused by its length.
                held.grow(self.left.min(MAX_MESSAGE).saturating_sub(held.bytes()))?;
                self.is_whole();
            }
        }
        Ok(())
    }
}

impl<B> Body for MeteredBody<B>
where
    B: Body + Unpin,
    B::Error: Into<StdError>,
{
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        use prost::bytes::Buf;
        let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) else {
            return Poll::Ready(None);
        };
        let frame = frame
            .map_err(Into::into)?
            .map_data(|mut data| data.copy_to_bytes(data.remaining()));
        if let Some(data) = frame.data_ref()
            && let Err(exhausted) = self.follow(data)
        {
            return Poll::Ready(Some(Err(refused(exhausted).into())));
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node::budget::{Budget, Limits};

    fn head(length: u32) -> Vec<u8> {
        [&[0][..], &length.to_be_bytes()].concat()
    }

    #[test]
    fn a_length_is_charged_when_it_has_come_however_the_pieces_are_cut() {
        let limits = Limits {
            each: 1000,
            reserved: 0,
            all: 1000,
        };
        let messages = [head(300), vec![7; 300], head(0), head(700), vec![7; 700]].concat();
        for size in [1, 2, 5, 7, 300, 2000] {
            let budget = Budget::new(limits);
            let mut body = MeteredBody::new((), &budget.account(), None);
            for (at, piece) in messages.chunks(size).enumerate() {
                body.follow(piece).unwrap();
                let given = ((at + 1) * size).min(messages.len());
                let expected = match given {
                    0..5 => 0,
                    5..315 => 300,
                    _ => 700,
                };
                assert_eq!(budget.used(), expected, "{size} {given}");
            }
            let refused = body.follow(&head(1001)).unwrap_err();
            assert_eq!(refused, Exhausted::Connection(1000));
            drop(body);
            assert_eq!(budget.used(), 0);
        }
    }
}
