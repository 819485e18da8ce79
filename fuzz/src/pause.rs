//! PAUSE and PFC: a frame that is read writes back as one that reads the same.

use packet::pause::Pause;

pub fn target(data: &[u8]) {
    let Some(Ok(pause)) = Pause::of(data) else {
        return;
    };
    let mut written = Vec::new();
    pause.build([2, 0, 0, 0, 0, 1].into(), &mut written);
    assert_eq!(written.len(), 60);
    assert_eq!(Pause::of(&written), Some(Ok(pause)));
}
