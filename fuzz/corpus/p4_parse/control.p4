control c(inout h<bit<8>>[4] hs)(bit<8> n) { X(1) x; action a(bit<8> v) { hs[0].a = v; }
 table t { key = { hs[0].a : exact @name("k"); } actions = { a(1); NoAction; } const entries = { (1 &&& 3, _): a(2); } size = 10; }
 apply { if (t.apply().hit) { x[3:0] |+|= (bit<4>)(y >> 2); } else exit; for (bit<8> i in 0 .. 3) f<bit<8>>(i); } }
