//! Registers, counters and meters as memories, and queues of messages to the controller.

use crate::build::Build;
use crate::map::{DigestMap, address, bits_for};
use crate::text::{bus, literal};
use alloc::format;
use alloc::string::String;
use core::fmt::Write;

impl Build<'_> {
    /// Memories.
    pub(crate) fn cells(&mut self) -> String {
        let mut text = String::new();
        for memory in self.map.memories.clone() {
            let cells = self.memories[&memory.object].1.clone();
            let size = memory.size.next_power_of_two().max(2);
            let _ = write!(
                text,
                "\n    // ---- {}: {} cells of {} bits ----\n    reg {}{cells} [0:{}];\n`ifndef SYNTHESIS\n    // As memories of an FPGA begin\n    integer {cells}_i;\n    initial for ({cells}_i = 0; {cells}_i < {size}; {cells}_i = {cells}_i + 1) {cells}[{cells}_i] = {};\n`endif\n",
                memory.name,
                memory.size,
                memory.width,
                bus(memory.width),
                size - 1,
                literal(memory.width, "0"),
            );
        }
        text
    }

    /// What is read of memories.
    pub(crate) fn reads(&mut self) -> String {
        let mut text = String::new();
        for access in &self.walk.accesses {
            let Some(result) = access.result.filter(|result| self.writer.is_used(*result)) else {
                continue;
            };
            let stage = self.writer.stage(result);
            let (name, index) = (
                self.writer.at(result, stage),
                self.writer.at(access.index, stage),
            );
            let place = access.span.and_then(|span| (self.walk.options.place)(span));
            let place = place
                .map(|place| format!("  // {place}"))
                .unwrap_or_default();
            let _ = writeln!(
                text,
                "    assign {name} = {}[{index}];{place}",
                self.memories[&access.object].1
            );
        }
        text
    }

    /// What packets and the control side write to memories.
    pub(crate) fn writes(&mut self) -> String {
        let mut text = String::new();
        for memory in self.map.memories.clone() {
            let (object, cells) = self.memories[&memory.object].clone();
            let bits = bits_for(memory.size.saturating_sub(1).max(1) as u32);
            let mut writes = String::new();
            let mut counted = String::new();
            let _ = writeln!(
                text,
                "\n    // {}: packets write, and so does the control side",
                memory.name
            );
            let accesses = self.walk.accesses.iter().zip(&self.schedule.accesses);
            for (number, (access, stage)) in accesses.enumerate() {
                let Some(data) = access.data.filter(|_| access.object == memory.object) else {
                    continue;
                };
                let (when, index, data) = (
                    self.writer.at(access.when, *stage),
                    self.writer.at(access.index, *stage),
                    self.writer.at(data, *stage),
                );
                let wide = match 24 - bits {
                    0 => index.clone(),
                    rest => format!("{{{rest}'d0, {index}}}"),
                };
                let place = access.span.and_then(|span| (self.walk.options.place)(span));
                let place = place
                    .map(|place| format!("  // {place}"))
                    .unwrap_or_default();
                let write = self.writer.reserve(&format!("{cells}_write_{number}"));
                let _ = writeln!(
                    text,
                    "    wire {write} = valid_s{} && {when};{place}",
                    stage.0
                );
                let _ = write!(
                    writes,
                    "        if ({write}) begin\n            {cells}[{index}] <= {data};\n            {cells}_last <= {wide};\n        end\n"
                );
                let _ = write!(counted, " + {{31'd0, {write}}}");
            }
            // A packet may write twice in a cycle, and the control side is told of each.
            let _ = write!(
                text,
                "    reg [31:0] {cells}_writes;\n    reg [23:0] {cells}_last;\n    always @(posedge clk) begin\n        {cells}_writes <= rst ? 32'd0 : {cells}_writes{counted};\n        if (rst) {cells}_last <= 24'd0;\n        if (commit && ctl_object == 8'd{object}) {cells}[ctl_row[{}:0]] <= entry[{}:0];\n{writes}",
                bits - 1,
                memory.width - 1
            );
            text += "    end\n";
        }
        text
    }

    /// Queues of messages to the controller.
    pub(crate) fn digests(&mut self) -> String {
        let mut text = String::new();
        for (number, digest) in self.map.digests.clone().iter().enumerate() {
            let object = self.environment.objects.len() + number;
            let accesses = self.walk.accesses.iter().zip(&self.schedule.accesses);
            let sent = accesses
                .filter(|(access, _)| access.object.index() == object)
                .find_map(|(access, stage)| Some((access.when, access.data?, *stage)));
            let Some((when, data, stage)) = sent else {
                continue;
            };
            let (when, data) = (self.writer.at(when, stage), self.writer.at(data, stage));
            let (width, instance) = (digest.width(), format!("digest_{number}"));
            let words = width.div_ceil(32);
            let _ = write!(
                text,
                "
    // {}: to the controller
    wire [{}:0] {instance}_words;
    wire {instance}_there, {instance}_room;
    reg [15:0] {instance}_lost;
    wire {instance}_sent = valid_s{} && {when};
    p4_fifo #(.WIDTH({width}), .DEPTH_LOG2({})) {instance} (
        .clk(clk), .rst(rst), .in_data({data}), .in_valid({instance}_sent), .in_ready({instance}_room),
        .out_data({instance}_words[{}:0]), .out_valid({instance}_there),
        .out_ready(ctl_write && ctl_address == 16'h{:x} && ctl_data == 32'd{number})
    );
    always @(posedge clk)
        if (rst) {instance}_lost <= 16'd0;
        else if ({instance}_sent && !{instance}_room && {instance}_lost != 16'hffff) {instance}_lost <= {instance}_lost + 16'd1;
",
                digest.name,
                32 * words - 1,
                stage.0,
                DigestMap::DEPTH_LOG2,
                width - 1,
                address::TAKE,
            );
            if width < 32 * words {
                let _ = writeln!(
                    text,
                    "    assign {instance}_words[{}:{width}] = {}'d0;",
                    32 * words - 1,
                    32 * words - width
                );
            }
        }
        text
    }
}
