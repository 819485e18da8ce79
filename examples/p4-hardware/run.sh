#!/bin/bash
# Programs in P4 as hardware. By `wire p4 compile`: lines (table 3.1 of paper 002), cycles of the pipeline (of table 3.2 and of figures 3.7, 3.9 and
# 3.10). By `wire-rtl p4 cycles`, in simulation: latency (table 3.3) and throughput (figures 3.5 and 3.6) at 250 MHz.
# usage: run.sh [NUMBER ...], such as 3.9; without one all that `wire` does
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Compiles a program, and prints the cycles of its pipeline.
cycles() { wire p4 compile --target verilog "$1" -o "$work/made" 2>&1 | sed -n 's/.*, \([0-9]*\) cycles\{0,1\} in the pipeline.*/\1/p'; }
# A program of v1model: HEADERS FIELDS STATES INGRESS EMITS.
program() {
    cat > "$work/program.p4" <<END
#include <core.p4>
#include <v1model.p4>
$1
struct headers { $2 }
struct metadata { bit<16> x; }
parser P(packet_in b, out headers h, inout metadata m, inout standard_metadata_t s) { $3 }
control V(inout headers h, inout metadata m) { apply { } }
control I(inout headers h, inout metadata m, inout standard_metadata_t s) { $4 }
control E(inout headers h, inout metadata m, inout standard_metadata_t s) { apply { } }
control C(inout headers h, inout metadata m) { apply { } }
control D(packet_out b, in headers h) { apply { $5 } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
END
    cycles "$work/program.p4"
}
first='state start { b.extract(h.h0); transition accept; }'

# Headers of 16 bits, one after the other.
headers() {
    local fields='' states='' emits='' next state
    for ((n = 0; n < $1; n++)); do
        state=s$n next="select(h.h$n.more) { 1: s$((n + 1)); default: accept; }"
        [ $n -gt 0 ] || state=start
        [ $((n + 1)) -lt "$1" ] || next='accept;'
        fields+="one h$n; " emits+="b.emit(h.h$n); "
        states+="state $state { b.extract(h.h$n); transition $next } "
    done
    program 'header one { bit<8> more; bit<8> rest; }' "$fields" "$states" 'apply { s.egress_spec = 1; }' "$emits"
}
# Tables of which each has the key that the one before has made.
tables() {
    local tables='' applies=''
    for ((n = 0; n < $1; n++)); do
        tables+=" table t$n { key = { m.x: exact; } actions = { set; miss; } default_action = miss(); size = 256; }"
        applies+="t$n.apply(); "
    done
    program 'header one { bit<16> a; }' 'one h0;' "$first" \
        "action set(bit<16> x) { m.x = x; } action miss() { m.x = m.x + 1; }$tables apply { m.x = h.h0.a; $applies h.h0.a = m.x; s.egress_spec = 1; }" \
        'b.emit(h.h0);'
}
# Fields that an action writes.
writes() {
    local fields='' action=''
    for ((n = 0; n < $1; n++)); do
        fields+="bit<16> f$n; " action+="h.h0.f$n = h.h0.f$n + $n + x; "
    done
    program "header one { $fields }" 'one h0;' "$first" \
        "action all(bit<16> x) { $action } table t { key = { h.h0.f0: exact; } actions = { all; } default_action = all(7); size = 256; } apply { t.apply(); s.egress_spec = 1; }" \
        'b.emit(h.h0);'
}
series() {
    local what=$1
    shift
    for count in "$@"; do printf '%-24s %6d\n' "$what, $count" "$("$what" "$count")"; done
}
# The first IPv4 packet of an STF file as a line.
first_packet() {
    awk '$1 == "packet" { $1 = $2 = ""; gsub(/ /, ""); if (substr($0, 25, 4) != "0800") next
        printf "%s %s %s", substr($0, 1, 12), substr($0, 13, 12), substr($0, 25, 4)
        for (at = 29; at < length($0); at += 2) printf " %s", substr($0, at, 2)
        print ""; exit }' "$1"
}
# Simulated hardware: PROGRAM STF ARGUMENT ...
simulated() {
    local program=$1 stf=$2
    shift 2
    first_packet "$stf" | wire-rtl p4 cycles "$program" - "$@"
}
applications="../p4-l2l3/l2l3.p4 ../p4-mdp/mdp.p4 ../paxos/acceptor.p4"
figure() {
    case $1 in
        3.1)
            printf 'Table 3.1: %-12s %6s %8s\n' lines P4 Verilog
            for program in $applications; do
                cycles "$program" > /dev/null
                name=$(basename "$program" .p4)
                printf '%-24s %5d %8d\n' "$name" "$(wc -l < "$program")" "$(cat "$work/made/$name.v" "$work/made/${name}_pipeline.v" | wc -l)"
                rm -r "$work/made"
            done ;;
        3.2)
            echo "Table 3.2: cycles of the pipeline; in the next columns without an optimisation"
            printf '%-24s %6s %9s %7s %11s %6s\n' program all parallel shared cut-parser none
            for program in $applications; do
                row=$(cycles "$program")
                for without in parallel shared cut-parser parallel,shared,cut-parser; do
                    row+=" $(wire p4 compile --target verilog "$program" --without $without -o "$work/made" 2>&1 | sed -n 's/.*, \([0-9]*\) cycles.*/\1/p')"
                done
                printf '%-24s %6d %9d %7d %11d %6d\n' "$(basename "$program" .p4)" $row
            done ;;
        3.3) echo "Table 3.3: cycles of l2l3, of 4 ns"; simulated ../p4-l2l3/l2l3.p4 ../p4-l2l3/l2l3.stf --entries ../p4-l2l3/entries.txt ;;
        3.5)
            for width in 512 256 128 64; do
                echo "Figure 3.5: l2l3, $width bits"
                simulated ../p4-l2l3/l2l3.p4 ../p4-l2l3/l2l3.stf --entries ../p4-l2l3/entries.txt --width $width --size 64,256,1024,1518
            done
            echo "Figure 3.5: mdp, 512 bits"
            simulated ../p4-mdp/mdp.p4 ../p4-mdp/mdp.stf --size 256,512,590,1024,1518
            echo "Figure 3.5: paxos, acceptor, 512 bits"
            wire-rtl p4 cycles ../paxos/acceptor.p4 --size 64,256,1024,1518 ;;
        3.6)
            echo "Figure 3.6: a program that only forwards, 512 bits"
            program '' '' 'state start { transition accept; }' 'apply { s.egress_spec = 1; }' '' >/dev/null
            wire-rtl p4 cycles "$work/program.p4" --size 64,128,256,512,1024,1516 ;;
        3.7) echo "Figure 3.7: cycles of the pipeline by headers parsed"; series headers 1 2 4 8 16 ;;
        3.9) echo "Figure 3.9: cycles of the pipeline by tables"; series tables 1 2 4 8 16 32 ;;
        3.10) echo "Figure 3.10: cycles of the pipeline by fields written"; series writes 8 16 32 64 ;;
        *) echo "there is no $1: 3.1, 3.2, 3.3, 3.5, 3.6, 3.7, 3.9 or 3.10" >&2; exit 2 ;;
    esac
}
[ $# -gt 0 ] || set -- 3.1 3.2 3.7 3.9 3.10
for number in "$@"; do figure "$number"; done
