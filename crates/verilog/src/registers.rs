//! The register bus.

use crate::build::Build;
use crate::map::{address, bits_for};
use alloc::format;
use alloc::string::String;
use core::fmt::Write;

impl Build<'_> {
    /// The register bus.
    pub(crate) fn control(&mut self) -> (String, String) {
        let words = self.map.words();
        let mut text = String::from(
            "\n    // ---- registers: an entry word by word, then to a row of an object at once ----\n",
        );
        let _ = writeln!(text, "    reg [{}:0] entry;", 32 * words - 1);
        text += "    wire commit = ctl_write && ctl_address == 16'h1000;\n    wire [7:0] ctl_object = ctl_data[31:24];\n    wire [23:0] ctl_row = ctl_data[23:0];\n";
        text += "    always @(posedge clk) begin\n";
        for word in 0..words {
            let _ = writeln!(
                text,
                "        if (ctl_write && ctl_address == 16'd{word}) entry[{}:{}] <= ctl_data;",
                32 * word + 31,
                32 * word
            );
        }
        text += "    end\n";
        // Of a table whose answer nobody wants nothing is left but its place on the bus.
        text += "    wire unused_commit = &{1'b0, commit, ctl_object, ctl_row, entry};\n";
        if self.map.memories.is_empty() && self.map.digests.is_empty() {
            return (
                text,
                "    always @(posedge clk) ctl_read <= 32'd0;\n".into(),
            );
        }
        let memories = self
            .map
            .memories
            .iter()
            .map(|memory| memory.width)
            .max()
            .unwrap_or(1);
        let fetched_words = memories.div_ceil(32);
        let mut after = String::new();
        if self.map.memories.is_empty() {
            after += "    always @(posedge clk) begin\n";
        } else {
            let _ = write!(
                after,
                "    wire fetch = ctl_write && ctl_address == 16'h1001;\n    reg [{}:0] fetched;\n    always @(posedge clk) begin\n",
                32 * fetched_words - 1
            );
        }
        for memory in &self.map.memories {
            let (object, cells) = &self.memories[&memory.object];
            let bits = bits_for(memory.size.saturating_sub(1).max(1) as u32);
            let value = match 32 * fetched_words - memory.width {
                0 => format!("{cells}[ctl_row[{}:0]]", bits - 1),
                rest => format!("{{{rest}'d0, {cells}[ctl_row[{}:0]]}}", bits - 1),
            };
            let _ = writeln!(
                after,
                "        if (fetch && ctl_object == 8'd{object}) fetched <= {value};"
            );
        }
        after += "        case (ctl_address)\n";
        for word in (0..fetched_words).filter(|_| !self.map.memories.is_empty()) {
            let _ = writeln!(
                after,
                "            16'h{:x}: ctl_read <= fetched[{}:{}];",
                0x2000 + word,
                32 * word + 31,
                32 * word
            );
        }
        for memory in &self.map.memories {
            let (object, cells) = &self.memories[&memory.object];
            let _ = writeln!(
                after,
                "            16'h{:x}: ctl_read <= {cells}_writes;",
                0x3000 + 2 * object
            );
            let _ = writeln!(
                after,
                "            16'h{:x}: ctl_read <= {{8'd0, {cells}_last}};",
                0x3001 + 2 * object
            );
        }
        for (number, digest) in self.map.digests.iter().enumerate() {
            let base = address::DIGESTS + 64 * number as u16;
            let _ = writeln!(
                after,
                "            16'h{base:x}: ctl_read <= {{15'd0, digest_{number}_lost, digest_{number}_there}};"
            );
            for word in 0..digest.width().div_ceil(32) {
                let _ = writeln!(
                    after,
                    "            16'h{:x}: ctl_read <= digest_{number}_words[{}:{}];",
                    u32::from(base) + 1 + word,
                    32 * word + 31,
                    32 * word
                );
            }
        }
        after += "            default: ctl_read <= 32'd0;\n        endcase\n    end\n";
        (text, after)
    }
}
