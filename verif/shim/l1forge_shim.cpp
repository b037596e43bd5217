// C interface to one verilated design, compiled with each design. Every call that runs model code is guarded: a Verilog $stop, $fatal,
// $error or $finish, a fatal error of the run-time library and a C++ exception become a return value, the process lives on.

#include "l1forge_shim.h"

#include "Vdut.h"
#include "verilated.h"
#if VM_TRACE_FST
#include "verilated_fst_c.h"
using Waves = VerilatedFstC;
#elif VM_TRACE
#include "verilated_vcd_c.h"
using Waves = VerilatedVcdC;
#endif

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

enum Kind : uint32_t {
    OK = 0,
    STOP = 1,  // $stop
    ERROR = 2,  // $error, $fatal or a failed assertion: Verilator makes no difference
    FINISH = 3,  // $finish
    RUNTIME = 4,  // the run-time library gave up, for example because the logic does not settle
    EXCEPTION = 5,  // a C++ exception
    UNSUPPORTED = 6  // the design was not built for this
};

// Thrown out of the model by a fatal error of the run-time library.
struct Abort {};

// Output kept for the host; older text is dropped.
constexpr size_t OUTPUT_LIMIT = 1 << 16;

}  // namespace

struct L1fDut {
    std::unique_ptr<VerilatedContext> context;
    std::unique_ptr<Vdut> top;
#if VM_TRACE
    std::unique_ptr<Waves> waves;
#endif
    uint64_t serial = 0;  // of all instances, from 1
    uint64_t time = 0;
    std::vector<L1fPort> ports;
    std::string output;
    size_t call_start = 0;  // where the output of the running call begins
    uint32_t kind = OK;
    bool dead = false;  // model state undefined after an exception
    int32_t line = 0;
    std::string file;
    std::string message;

    void fail(uint32_t what, const char* where, int32_t at, std::string text) {
        if (kind != OK) return;  // the first one is the cause
        kind = what;
        file = where ? where : "";
        line = at;
        message = std::move(text);
    }

    void print(const char* text, size_t size) {
        output.append(text, size);
        if (output.size() > 2 * OUTPUT_LIMIT) {
            const size_t dropped = output.size() - OUTPUT_LIMIT;
            output.erase(0, dropped);
            call_start = call_start > dropped ? call_start - dropped : 0;
        }
    }
};

namespace {

// The instance that runs, or ran last, in this thread; t_serial tells a new instance at the address of an old one.
thread_local L1fDut* t_dut = nullptr;
thread_local uint64_t t_serial = 0;
std::atomic<uint64_t> s_serials{0};

// Seeding is global to the run-time library: one construction at a time.
std::mutex s_new_mutex;

// Runs model code on behalf of an instance.
template <class Body>
uint32_t guarded(L1fDut* dut, Body body) {
    if (dut->dead) return dut->kind;
    dut->kind = OK;
    dut->call_start = dut->output.size();
    if (t_serial != dut->serial) {
        t_serial = dut->serial;
        t_dut = dut;
        Verilated::threadContextp(dut->context.get());
    }
    try {
        body();
    } catch (const Abort&) {
        dut->dead = true;
    } catch (const std::exception& error) {
        dut->fail(EXCEPTION, "", 0, error.what());
        dut->dead = true;
    } catch (...) {
        dut->fail(EXCEPTION, "", 0, "unknown C++ exception");
        dut->dead = true;
    }
    return dut->kind;
}

// $error and $fatal print "[time] %Error: name:line: text", with the file name alone, and then stop: finds that text.
bool printed_message(const L1fDut* dut, const char* file, int line, std::string& text) {
    const char* const slash = strrchr(file, '/');
    const std::string place = std::string{": "} + (slash ? slash + 1 : file) + ":" + std::to_string(line) + ": ";
    for (const char* severity : {"%Error", "%Fatal"}) {
        const std::string tag = severity + place;
        const size_t at = dut->output.rfind(tag);
        if (at == std::string::npos || at < dut->call_start) continue;
        text = dut->output.substr(at + tag.size());
        while (!text.empty() && text.back() == '\n') text.pop_back();
        return true;
    }
    return false;
}

}  // namespace

int l1forge_printf(const char* format, ...) {
    char small[512];
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int size = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (size > 0 && t_dut) {
        if (static_cast<size_t>(size) < sizeof small) {
            t_dut->print(small, size);
        } else {
            std::string large(size + 1, '\0');
            vsnprintf(&large[0], large.size(), format, again);
            t_dut->print(large.data(), size);
        }
    }
    va_end(again);
    return size;
}

void vl_finish(const char* file, int line, const char*) {
    Verilated::threadContextp()->gotFinish(true);
    if (t_dut) t_dut->fail(FINISH, file, line, "$finish");
}

void vl_stop(const char* file, int line, const char*) {
    Verilated::threadContextp()->gotError(true);
    if (!t_dut) return;
    std::string text;
    if (printed_message(t_dut, file, line, text)) {
        t_dut->fail(ERROR, file, line, text);
    } else {
        t_dut->fail(STOP, file, line, "$stop");
    }
}

void vl_fatal(const char* file, int line, const char*, const char* message) {
    Verilated::threadContextp()->gotError(true);
    if (t_dut) t_dut->fail(RUNTIME, file, line, message ? message : "");
    throw Abort{};
}

// The library warns of memory files that are absent or too short: a simulation with such a memory proves nothing.
void vl_warn(const char* file, int line, const char*, const char* message) {
    if (t_dut) t_dut->fail(ERROR, file, line, message ? message : "");
}

uint32_t l1forge_abi() { return 1; }

#define L1F_PORT(text, member, bits, is_output) +1
uint32_t l1forge_port_count() {
    return 0
#include "l1forge_ports.inc"
        ;
}
#undef L1F_PORT

L1fDut* l1forge_new(int32_t reset_mode, int32_t seed) {
    L1fDut* const dut = new L1fDut;
    dut->serial = ++s_serials;
    dut->context = std::make_unique<VerilatedContext>();
    const std::lock_guard<std::mutex> lock{s_new_mutex};
    guarded(dut, [&] {
        VerilatedContext* const context = dut->context.get();
        context->randReset(reset_mode);
        context->randSeed(seed);
#if VM_TRACE
        context->traceEverOn(true);
#endif
        dut->top = std::make_unique<Vdut>(context, "TOP");
        Vdut* const top = dut->top.get();
#define L1F_PORT(text, member, bits, is_output) dut->ports.push_back({text, &top->member, bits, sizeof(top->member), is_output});
#include "l1forge_ports.inc"
#undef L1F_PORT
        // All inputs at zero and the initial blocks run, while nobody else draws random bits.
        for (const L1fPort& port : dut->ports) {
            if (!port.output) memset(port.data, 0, port.bytes);
        }
        top->eval();
    });
    return dut;
}

void l1forge_free(L1fDut* dut) {
    guarded(dut, [&] {
#if VM_TRACE
        if (dut->waves) dut->waves->close();
#endif
    });
    // The destructors of the model want its context, also that of a dead instance, for which guarded() has done nothing.
    t_dut = nullptr;
    t_serial = 0;
    Verilated::threadContextp(dut->context.get());
#if VM_TRACE
    dut->waves.reset();
#endif
    dut->top.reset();
    delete dut;
}

const L1fPort* l1forge_ports(L1fDut* dut) { return dut->ports.data(); }

uint32_t l1forge_eval(L1fDut* dut, uint32_t advance) {
    return guarded(dut, [&] {
        dut->top->eval();
        if (advance) {
#if VM_TRACE
            if (dut->waves) dut->waves->dump(dut->time);
#endif
            dut->context->time(++dut->time);
        }
    });
}

L1fError l1forge_error(const L1fDut* dut) { return {dut->kind, dut->line, dut->file.c_str(), dut->message.c_str()}; }

const char* l1forge_output(const L1fDut* dut) { return dut->output.c_str(); }

void l1forge_clear_output(L1fDut* dut) {
    dut->output.clear();
    dut->call_start = 0;
}

uint32_t l1forge_open_waves(L1fDut* dut, const char* path) {
    return guarded(dut, [&] {
#if VM_TRACE
        if (dut->waves) dut->waves->close();
        dut->waves = std::make_unique<Waves>();
        dut->top->trace(dut->waves.get(), 99);
        dut->waves->open(path);
        if (!dut->waves->isOpen()) {
            dut->waves.reset();
            dut->fail(UNSUPPORTED, path, 0, "cannot write the wave file");
        }
#else
        dut->fail(UNSUPPORTED, path, 0, "the design was built without waves");
#endif
    });
}

uint32_t l1forge_close_waves(L1fDut* dut) {
    return guarded(dut, [&] {
#if VM_TRACE
        if (dut->waves) dut->waves->close();
        dut->waves.reset();
#endif
    });
}

uint32_t l1forge_write_coverage(L1fDut* dut, const char* path) {
    return guarded(dut, [&] {
#if VM_COVERAGE
        dut->context->coveragep()->write(path);
#else
        dut->fail(UNSUPPORTED, path, 0, "the design was built without coverage");
#endif
    });
}
