// Included before everything else when Verilator's run-time library is compiled: everything the library or the design prints goes to
// the instance that is running, not to the standard output of the process.
#ifndef L1FORGE_HOOKS_H
#define L1FORGE_HOOKS_H

int l1forge_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

#define VL_PRINTF l1forge_printf

#endif
