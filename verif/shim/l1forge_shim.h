// The C interface between a verilated design and its host. The layout of these structures is repeated in dut.rs.
#ifndef L1FORGE_SHIM_H
#define L1FORGE_SHIM_H

#include <cstdint>

#define L1FORGE_API extern "C" __attribute__((visibility("default")))

struct L1fDut;

/// One port: where the model keeps it. Widths up to 8, 16, 32 and 64 bits use one integer of that size, wider ports an array of
/// 32-bit words, low word first.
struct L1fPort {
    const char* name;
    void* data;
    uint32_t width;
    uint32_t bytes;
    uint32_t output;
};

/// What went wrong in a call that did not return 0.
struct L1fError {
    uint32_t kind;  // see Kind in l1forge_shim.cpp
    int32_t line;
    const char* file;
    const char* message;
};

/// Version of this interface.
L1FORGE_API uint32_t l1forge_abi();
/// Number of ports; the table holds as many entries.
L1FORGE_API uint32_t l1forge_port_count();
/// A new instance in a context of its own. `reset_mode`: 0 registers start at zeros, 1 at ones, 2 at random bits drawn from `seed`
/// (not zero). The initial blocks have run when it returns. Always returns an instance, ask l1forge_error whether it is usable.
L1FORGE_API L1fDut* l1forge_new(int32_t reset_mode, int32_t seed);
L1FORGE_API void l1forge_free(L1fDut* dut);
/// The ports of an instance; valid as long as the instance.
L1FORGE_API const L1fPort* l1forge_ports(L1fDut* dut);
/// Evaluates the model. With `advance`, the state is dumped to the open waves and the time goes up by one. Returns the error kind.
L1FORGE_API uint32_t l1forge_eval(L1fDut* dut, uint32_t advance);
/// The error of the last call that returned one.
L1FORGE_API L1fError l1forge_error(const L1fDut* dut);
/// Text printed by the design since the last call of l1forge_clear_output; zero terminated.
L1FORGE_API const char* l1forge_output(const L1fDut* dut);
L1FORGE_API void l1forge_clear_output(L1fDut* dut);
/// Opens a wave file (needs a build with waves). Returns the error kind.
L1FORGE_API uint32_t l1forge_open_waves(L1fDut* dut, const char* path);
L1FORGE_API uint32_t l1forge_close_waves(L1fDut* dut);
/// Writes the coverage counters (needs a build with coverage). Returns the error kind.
L1FORGE_API uint32_t l1forge_write_coverage(L1fDut* dut, const char* path);

#endif
