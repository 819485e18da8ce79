#define F(x, y) x##y #x
#if defined(F) && 1 << 2 == 4
F(a, 1) __LINE__
#else
#include "own"
#endif
@pragma a b
16w0xFF_0 "s\"" /* c */ // d
