// Generic structs, functions and externs; tuples; enums with values; new types; named and default arguments; constants.
#include "data.p4i"
struct pair<T, U> { T first; U second; }
struct box<T> { T inside; }
enum bit<8> Op { One = 1, Two = 2, Many = 6 }
enum Colour { Red, Green }
type bit<8> Small;
const bit<8> FOUR = 1 << 2;
const pair<bit<8>, bit<8>> FIXED = { first = FOUR, second = 8w5 };
T larger<T>(in T one, in T other, in bool yes) { return yes ? one : other; }
bit<8> add(in bit<8> x, in bit<8> y = 1) { return x + y; }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        if (h.data.op == Op.One) {
            pair<bit<8>, box<bit<8>>> p = { h.data.a, { h.data.b } };
            h.data.c = p.first + p.second.inside;
        } else if (h.data.op == Op.Two) {
            h.data.c = larger(h.data.a, h.data.b, h.data.a > h.data.b);
        } else if (h.data.op == 3) {
            tuple<bit<8>, bool> t = { h.data.a, true };
            h.data.c = t[1] ? t[0] : 0;
        } else if (h.data.op == 4) {
            h.data.c = add(y = h.data.a, x = h.data.b) + add(10);
        } else if (h.data.op == 5) {
            Small n = (Small)h.data.a;
            h.data.c = (bit<8>)n + FIXED.first + FIXED.second;
        } else if (h.data.op == Op.Many) {
            Colour c = h.data.a == 0 ? Colour.Red : Colour.Green;
            switch (c) {
                Colour.Red: { h.data.c = 1; }
                Colour.Green: { h.data.c = 2; }
            }
        } else {
            switch (h.data.a) {
                1:
                2: { h.data.c = 12; }
                3: { h.data.c = 3; }
                default: { h.data.c = 99; }
            }
        }
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
