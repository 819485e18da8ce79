//! Hex dumps: no text makes reading one panic or grow; a dump that is written is read back.

use packet::hexdump::Hexdump;

pub fn target(data: &[u8]) {
    let mut read = 0;
    let mut dump = Hexdump::default();
    for line in String::from_utf8_lossy(data).lines() {
        if dump
            .line(line, &mut |_, bytes| read += bytes.len())
            .is_err()
        {
            break;
        }
    }
    dump.finish(&mut |_, bytes| read += bytes.len());
    if data.is_empty() {
        return;
    }
    let (mut back, mut dump) = (Vec::new(), Hexdump::default());
    for (index, row) in data.chunks(16).enumerate() {
        let digits: String = row.iter().map(|byte| format!("{byte:02x} ")).collect();
        let line = format!("{:06x}: {digits} text", index * 16);
        dump.line(&line, &mut |_, _| {}).expect("it is a dump");
    }
    dump.finish(&mut |_, bytes| back.extend_from_slice(bytes));
    assert_eq!(back, data);
}
