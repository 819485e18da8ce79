//! A prober's and a reflector's messages: what is read writes back the same.

use nodes::bandwidth::message::Message;

pub fn target(data: &[u8]) {
    if let Some(message) = Message::parse(data) {
        let mut written = Vec::new();
        message.build(&mut written);
        assert_eq!(written, data[..written.len()]);
    }
    let _ = Message::of_frame(data);
}
