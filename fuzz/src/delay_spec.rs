//! SPECs of delay boxes: whatever the text, a SPEC that reads back as it is shown and works, or a fault with a place
//! inside the text.

use node::{Frame, Node, Out, Port, Time};
use nodes::delay::{Config, Delay, Spec};

pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut spec = match text.parse::<Spec>() {
        Ok(spec) => spec,
        Err(error) => {
            assert!(
                error.span.end <= error.text.len() && error.text.get(error.span.clone()).is_some()
            );
            assert!(!error.to_string().is_empty() && !error.marked().is_empty());
            return;
        }
    };
    assert_eq!(
        spec.to_string().parse::<Spec>().as_ref(),
        Ok(&spec),
        "{spec}"
    );
    spec.load(&mut |_| Ok::<_, String>("1".to_owned()))
        .or_else(|_| spec.load(&mut |_| Ok::<_, String>("1ms".to_owned())))
        .expect("a good file");
    let config = Config {
        forth: spec,
        back: None,
    };
    let mut node = Delay::new(config).expect("every file is read");
    let mut out = Out::default();
    let mut sent = 0;
    for number in 0..20 {
        let now = Time::from_us(10 * number);
        let mut frame = Frame::new(&[0xFF; 60]);
        frame.set_arrived(now);
        node.frames(now, Port((number % 2) as u16), &mut vec![frame], &mut out);
        sent += out.sends().count();
    }
    while let Some(at) = node.next_wake() {
        node.wake(at, &mut out);
        sent += out.sends().count();
    }
    let dropped: u64 = out.drops().iter().map(|(_, count)| count).sum();
    assert!((20..=40).contains(&(sent as u64 + dropped)));
}
