//! The messages of P4Runtime 1.4. `generated/` is made of their definitions in `proto/` by `prost-build`; a test makes it
//! again and compares. It stands in the tree so that a build needs no compiler of protobuf.

mod made {
    #![allow(missing_docs, clippy::all, clippy::pedantic)]
    pub mod google {
        pub mod rpc {
            include!("generated/google.rpc.rs");
        }
    }
    pub mod p4 {
        pub mod config {
            pub mod v1 {
                include!("generated/p4.config.v1.rs");
            }
        }
        pub mod tmp {
            include!("generated/p4.tmp.rs");
        }
        pub mod v1 {
            include!("generated/p4.v1.rs");
        }
    }
}

pub use made::google::rpc::Status;
pub use made::p4::config::v1 as config;
pub use made::p4::tmp::P4DeviceConfig;
pub use made::p4::v1 as runtime;
pub use prost_types::Any;

/// Their definitions: a `google.protobuf.FileDescriptorSet`.
pub(crate) const DEFINITIONS: &[u8] = include_bytes!("generated/definitions.bin");

impl P4DeviceConfig {
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
    use super::P4DeviceConfig;
    use prost::Message;

    #[test]
    fn a_wrapped_config_is_known_by_its_form_whatever_its_length() {
        for length in [1, 100, 127, 128, 300, 70_000] {
            let config = P4DeviceConfig {
                reassign: true,
                extras: Vec::new(),
                device_data: vec![b'{'; length],
            };
            let read = P4DeviceConfig::read(&config.encode_to_vec());
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
            assert_eq!(P4DeviceConfig::read(text.as_bytes()), None, "{text:?}");
        }
    }
}
