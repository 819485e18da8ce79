// A top module that was verilated with a P4 program in it, for Rust: as in shim.cpp, with the pins that build.rs has written.

#include <cstddef>
#include <memory>

#include "verilated.h"

namespace {
struct Device {
    std::unique_ptr<VerilatedContext> context{new VerilatedContext};
    std::unique_ptr<Vp4> top{new Vp4{context.get()}};
};
}  // namespace

extern "C" {
void* wireline_p4_new() {
    auto* device = new Device;
    device->top->clk = 0;
    device->top->eval();
    return device;
}

void wireline_p4_free(void* device) { delete static_cast<Device*>(device); }

// For each cycle the inputs before a rising edge are taken, and the outputs behind it are given.
void wireline_p4_run(void* device, size_t cycles, const uint64_t* in, uint64_t* out) {
    Vp4& top = *static_cast<Device*>(device)->top;
    for (; cycles > 0; cycles--, in += INPUTS, out += OUTPUTS) {
        put(top, in);
        top.clk = 1;
        top.eval();
        get(top, out);
        top.clk = 0;
        top.eval();
    }
}
}
