// What is linked without Verilator: no module can be made, so that nothing else is ever called.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *wireline_rtl_new(const char *name) { (void)name; return NULL; }
void wireline_rtl_free(void *module) { (void)module; }
void wireline_rtl_run(void *module, size_t cycles, const uint64_t *in, uint64_t *out) { (void)module, (void)cycles, (void)in, (void)out; }
void wireline_rtl_save(void *module) { (void)module; }
void wireline_rtl_restore(void *module) { (void)module; }
bool wireline_rtl_open_waves(void *module, const char *file) { (void)module, (void)file; return false; }
void wireline_rtl_run_waves(void *module, const uint64_t *in, uint64_t *out, uint64_t ps, uint64_t half) { (void)module, (void)in, (void)out, (void)ps, (void)half; }
