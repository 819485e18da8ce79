// A P4 program in Verilog for Rust: its clock, and its other ports as words of 64 bits. See crates/cosim/src/p4/device.rs.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "Vp4.h"
#include "verilated.h"

namespace {
struct Device {
    std::unique_ptr<VerilatedContext> context{new VerilatedContext};
    std::unique_ptr<Vp4> top{new Vp4{context.get()}};
};
}  // namespace

extern "C" {
void* wireline_p4_new() { return new Device; }

void wireline_p4_free(void* device) { delete static_cast<Device*>(device); }

// For each cycle the inputs before a rising edge are taken, and the outputs that they give, before it, are told.
void wireline_p4_run(void* device, size_t cycles, const uint64_t* in, uint64_t* out) {
    Vp4& top = *static_cast<Device*>(device)->top;
    for (; cycles > 0; cycles--, in += 15, out += 14) {
        top.rst = in[0] & 1;
        top.s_axis_tvalid = in[0] >> 1 & 1;
        top.s_axis_tlast = in[0] >> 2 & 1;
        top.m_axis_tready = in[0] >> 3 & 1;
        top.ctl_write = in[0] >> 4 & 1;
        top.s_axis_tuser = in[1];
        top.time_ns = in[2];
        top.time_us = in[3];
        top.ctl_address = in[4];
        top.ctl_data = in[5];
        top.s_axis_tkeep = in[6];
        // A number, or words of 32 bits, by its width; as the machine has them, the lowest first.
        std::memcpy(&top.s_axis_tdata, in + 7, sizeof top.s_axis_tdata);
        top.clk = 0;
        top.eval();
        out[0] = top.s_axis_tready | top.m_axis_tvalid << 1 | top.m_axis_tlast << 2 | top.drop_valid << 3 | top.more << 4 | top.busy << 5;
        out[1] = top.m_axis_tuser;
        out[2] = top.drop_reason;
        out[3] = top.ctl_read;
        out[4] = top.m_axis_tkeep;
        std::memcpy(out + 5, &top.m_axis_tdata, sizeof top.m_axis_tdata);
        out[13] = 0;
        top.clk = 1;
        top.eval();
    }
}
}
