// Verilated modules for Rust: each has one clock, `clk`, and its other ports as words of 64 bits.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "verilated.h"
#include "verilated_fst_c.h"
#include "verilated_save.h"

// A module's state, in memory instead of a file.
class Writer final : public VerilatedSerialize {
    std::vector<uint8_t>& bytes;

public:
    explicit Writer(std::vector<uint8_t>& to) : bytes(to) { m_isOpen = true; }
    void begin() {
        bytes.clear();
        m_cp = m_bufp;
    }
    void flush() override {
        bytes.insert(bytes.end(), m_bufp, m_cp);
        m_cp = m_bufp;
    }
};

class Reader final : public VerilatedDeserialize {
    const std::vector<uint8_t>& bytes;
    size_t taken = 0;

public:
    explicit Reader(const std::vector<uint8_t>& from) : bytes(from) { m_isOpen = true; }
    void begin() {
        taken = 0;
        m_cp = m_endp = m_bufp;
    }
    void fill() override {
        // What is not read yet moves to the front, and more comes behind it.
        const size_t left = m_endp - m_cp;
        std::memmove(m_bufp, m_cp, left);
        const size_t more = std::min(bufferSize() - left, bytes.size() - taken);
        std::copy_n(bytes.data() + taken, more, m_bufp + left);
        taken += more;
        m_cp = m_bufp;
        m_endp = m_bufp + left + more;
    }
};

struct Module {
    virtual ~Module() = default;
    virtual void run(size_t cycles, const uint64_t* in, uint64_t* out) = 0;
    virtual void save() = 0;
    virtual void restore() = 0;
    virtual bool open_waves(const char* file) = 0;
    virtual void run_waves(const uint64_t* in, uint64_t* out, uint64_t ps, uint64_t half) = 0;
};

template <class Top, int INPUTS, int OUTPUTS>
struct Of final : Module {
    VerilatedContext context;
    std::unique_ptr<Top> top;
    std::unique_ptr<VerilatedFstC> waves;
    std::vector<uint8_t> saved;
    Writer writer{saved};
    Reader reader{saved};

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
        writer.begin();
        writer << *top;
        writer.flush();
    }
    void restore() override {
        reader.begin();
        reader >> *top;
    }
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
