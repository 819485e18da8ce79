//! The messages of P4Runtime 1.4, written after its specification and compatible on the wire.

pub mod config;
pub mod runtime;

/// `google.protobuf.Any`: a message of any kind.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Any {
    /// `type.googleapis.com/` and the message's full name.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The message.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// `google.rpc.Status`: how something ended.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Status {
    /// `google.rpc.Code`.
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// For people.
    #[prost(string, tag = "2")]
    pub message: String,
    /// More, for programs.
    #[prost(message, repeated, tag = "3")]
    pub details: Vec<Any>,
}
