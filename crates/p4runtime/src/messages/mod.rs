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

/// `p4.tmp.P4DeviceConfig`: what controllers for bmv2, those of the P4 tutorials among them, wrap `p4_device_config` in.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DeviceConfig {
    /// Whether to begin anew.
    #[prost(bool, tag = "1")]
    pub reassign: bool,
    /// Keys and values that nobody uses.
    #[prost(bytes = "vec", tag = "2")]
    pub extras: Vec<u8>,
    /// What is wrapped.
    #[prost(bytes = "vec", tag = "3")]
    pub device_data: Vec<u8>,
}

impl DeviceConfig {
    /// What is wrapped in bytes that have this message's form: no program begins with one of its tags, which are control characters.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Vec<u8>> {
        if !matches!(bytes.first()?, 0x08 | 0x12 | 0x1A) {
            return None;
        }
        let wrapped = <Self as prost::Message>::decode(bytes).ok()?;
        (!wrapped.device_data.is_empty()).then_some(wrapped.device_data)
    }
}

#[cfg(test)]
mod tests {
    use super::DeviceConfig;
    use prost::Message;

    #[test]
    fn a_wrapped_config_is_known_by_its_form_whatever_its_length() {
        for length in [1, 100, 127, 128, 300, 70_000] {
            let config = DeviceConfig {
                reassign: true,
                extras: Vec::new(),
                device_data: vec![b'{'; length],
            };
            let read = DeviceConfig::read(&config.encode_to_vec());
            assert_eq!(read, Some(config.device_data), "{length}");
        }
    }

    #[test]
    fn programs_are_not_taken_for_a_wrapped_config() {
        for text in [
            "",
            "\n",
            "#include <core.p4>",
            "\t{",
            "{\"program\": 1}",
            "\x08\x01",
        ] {
            assert_eq!(DeviceConfig::read(text.as_bytes()), None, "{text:?}");
        }
    }
}
