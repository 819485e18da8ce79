// Verilated modules for Rust: each has one clock, `clk`, and its other ports as words of 64 bits.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "verilated.h"
#include "verilated_fst_c.h"

struct Module {
    virtual ~Module() = default;
    virtual void run(size_t cycles, const uint64_t* in, uint64_t* out) = 0;
    virtual void save() = 0;
    virtual void restore() = 0;
    virtual bool open_waves(const char* file) = 0;
    virtual void run_waves(const uint64_t* in, uint64_t* out, uint64_t ps, uint64_t half) = 0;
};

template <class Top, class Root, int INPUTS, int OUTPUTS>
struct Of final : Module {
    VerilatedContext context;
    std::unique_ptr<Top> top;
    std::unique_ptr<VerilatedFstC> waves;
    // A module's state is one object: its hierarchy is flat, and what is in it owns no memory. It goes as bytes, since Verilator's own
    // way to save takes the words of memories one by one, a hundred times as long.
    std::vector<uint8_t> saved;

    Of() {
        context.traceEverOn(true);
        context.timeunit(-12);
        context.timeprecision(-12);
        top = std::make_unique<Top>(&context, "top");
        top->clk = 0;
        top->eval();
    }
    ~Of() override {
        if (waves) waves->close();
        top->final();
    }
    void run(size_t cycles, const uint64_t* in, uint64_t* out) override {
        for (; cycles != 0; --cycles, in += INPUTS, out += OUTPUTS) {
            put(*top, in);
            top->clk = 1;
            top->eval();
            get(*top, out);
            top->clk = 0;
            top->eval();
        }
    }
    void save() override {
        const auto* bytes = reinterpret_cast<const uint8_t*>(top->rootp);
        saved.assign(bytes, bytes + sizeof(Root));
    }
    void restore() override { std::memcpy(static_cast<void*>(top->rootp), saved.data(), sizeof(Root)); }
    bool open_waves(const char* file) override {
        waves = std::make_unique<VerilatedFstC>();
        waves->set_time_unit("1ps");
        waves->set_time_resolution("1ps");
        top->trace(waves.get(), 99);
        waves->open(file);
        return waves->isOpen();
    }
    void run_waves(const uint64_t* in, uint64_t* out, uint64_t ps, uint64_t half) override {
        put(*top, in);
        top->clk = 1;
        top->eval();
        get(*top, out);
        waves->dump(ps);
        top->clk = 0;
        top->eval();
        waves->dump(ps + half);
    }
};

// The modules: their headers, `put` and `get` for each, and `make`.
#include "modules.inc"

extern "C" {
Module* wireline_rtl_new(const char* name) { return make(name); }
void wireline_rtl_free(Module* module) { delete module; }
void wireline_rtl_run(Module* module, size_t cycles, const uint64_t* in, uint64_t* out) { module->run(cycles, in, out); }
void wireline_rtl_save(Module* module) { module->save(); }
void wireline_rtl_restore(Module* module) { module->restore(); }
bool wireline_rtl_open_waves(Module* module, const char* file) { return module->open_waves(file); }
void wireline_rtl_run_waves(Module* module, const uint64_t* in, uint64_t* out, uint64_t ps, uint64_t half) {
    module->run_waves(in, out, ps, half);
}
}
