#!/bin/bash
# Tables 3.4 and 3.5 of paper 002 (P4FPGA): LUTs, flip-flops and memories of a Xilinx of the 7 series by Yosys, no place and route.
# Tables have 16 bits of data; masks of hashes are random. The modules of tables are those that `wire p4 compile` writes, MAC and PCS those of the
# source tree or the installation, whose folder `rtl` is next to that of the examples, $WIRE_EXAMPLES or the one above.
#
#   resources.sh 3.4                # MAC and PCS of a port of 10 Gb/s
#   resources.sh 3.5                # all tables: two hours
#   resources.sh hash 72 1024       # a table of exact matches by hashes, of so many bits and entries
#   resources.sh cam 36 1024        # a binary CAM (wire p4 compile --exact cam)
#   resources.sh tcam 72 256        # a table in TCAM form
#
# usage: resources.sh 3.4 | 3.5 | hash BITS ENTRIES | cam BITS ENTRIES | tcam BITS ENTRIES
set -euo pipefail
cd "$(dirname "$0")"
rtl=${WIRE_EXAMPLES:-..}/../rtl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count() {   # name, top, files
    yosys -q -w '.*' -p "read_verilog -DSYNTHESIS $3; synth_xilinx -family xc7 -noiopad -top $2 -flatten; tee -q -o $work/log stat" >/dev/null
    awk -v name="$1" '$1 ~ /^LUT/ { luts += $2 } $1 ~ /^FD/ { registers += $2 } $1 ~ /^SRL/ { shifts += $2 } $1 ~ /^RAM(32|64|128|256)/ { small += $2 }
        $1 == "RAMB36E1" { blocks += $2 } $1 == "RAMB18E1" { blocks += $2 / 2 }
        END { printf "%s: %d LUT, %d FF, %g blocks of 36 Kbit, %d RAM of LUTs, %d SRL\n", name, luts, registers, blocks, small, shifts }' "$work/log"
}
bits_for() { local bits=0; while (( $1 >> bits )); do bits=$((bits + 1)); done; echo "$bits"; }
table() {   # name, module, key bits, parameters, bits of an entry, other modules
    [ -e "$work/made" ] || wire p4 compile --target verilog ../p4-l2l3/l2l3.p4 -o "$work/made" >/dev/null 2>&1
    cat >"$work/top.v" <<END
module top (input wire clk, rst, write, input wire [$(($3 - 1)):0] key, input wire [23:0] write_row, input wire [$(($5 - 1)):0] write_entry,
    output wire hit, output wire [15:0] data);
    $2 #(.KEY_W($3), .DATA_W(16), $4) table_of (.clk(clk), .rst(rst), .key(key), .hit(hit), .data(data),
        .write(write), .write_row(write_row), .write_entry(write_entry));
endmodule
END
    local files="$work/top.v $work/made/$2.v" other
    for other in ${6:-}; do files+=" $work/made/$other.v"; done
    count "$1" top "$files"
}
hash() {
    local index masks
    index=$(bits_for $((($2 + 1) / 2 - 1)))
    masks=$(awk -v bits=$((4 * index * $1)) 'BEGIN { srand(1); printf "%d'\''b", bits; for (i = 0; i < bits; i++) printf "%d", rand() < 0.5 }')
    table "hash of $1 bits, $2 entries" p4_exact_table "$1" ".INDEX_W($index), .HASHES($masks)" $(($1 + 17))
}
cam() {
    table "binary CAM of $1 bits, $2 entries" p4_cam_table "$1" ".ROWS($2), .ROW_W($(bits_for $(($2 - 1))))" $(($1 + 17)) p4_first
}
tcam() {
    table "TCAM of $1 bits, $2 entries" p4_ternary_table "$1" ".ROWS($2), .ROW_W($(bits_for $(($2 - 1))))" $((2 * $1 + 17)) "p4_first p4_ternary_bank"
}
port() {
    count "MAC and PCS of a port" mac_pcs10g "$rtl/pcs10g/rtl/*.v $rtl/mac10g/rtl/*.v"
    count "MAC, out" mac10g_tx "$rtl/mac10g/rtl/*.v"
    count "MAC, in" mac10g_rx "$rtl/mac10g/rtl/*.v"
    count "PCS, out" pcs10g_tx "$rtl/pcs10g/rtl/*.v"
    count "PCS, in" pcs10g_rx "$rtl/pcs10g/rtl/*.v"
}
case "${1:-}:$#" in
    3.4:1) port ;;
    3.5:1)
        for bits in 36 144 288; do cam $bits 1024; done
        for bits in 72 144 288; do for entries in 64 128 256; do tcam $bits $entries; done; done
        for bits in 72 144 288; do hash $bits 1024; done
        ;;
    hash:3 | cam:3 | tcam:3) "$@" ;;
    *) sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2 ;;
esac
