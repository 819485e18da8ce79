#!/bin/sh
# Figure 4.21 of paper 002: by how much MinProbe is off beside bursty cross traffic, mean of ten samples, Gb/s. Across: the variance of sizes (D_size), down: the length of
# chains (D_len); a chain of D_len = 1 would have no end, 0.95 stands for it. `-` is no answer in any sample.
# usage: figure-4-21.sh [small | RATE...]: a part of it; or the Gb/s of cross traffic, 1 3 6 8
set -e
cd "$(dirname "$0")"
lens="0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 0.95" sizes="0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1" rates="1 3 6 8"
case $1 in
    small) lens="0 0.9" sizes="0 1" rates="3 8" ;;
    ?*) rates=$* ;;
esac
list() { printf '%s' "$*" | tr ' ' ,; }
chains=$(for len in $lens; do printf ',chains(%s)' "$len"; done)
for rate in $rates; do
    wire lab bursty.toml --sweep "node.x.pattern=${chains#,}" --sweep "node.x.size.d_size=$(list $sizes)" --sweep "node.x.rate=${rate}Gb/s" --measure available-error --json |
        awk -v rate="$rate" -v sizes="$sizes" '
            function value(key) { return match($0, "\"" key "\":\"?[^,}\"]*") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "" }
            /"type":"point"/ {
                len = value("node.x.pattern"); gsub(/"|chains\(|\)/, "", len)
                if (len != last) { line[++lines] = sprintf("%6s", len); last = len }
                mean = value("mean"); all++
                off = mean / 1e9; if (off < 0) off = -off
                good += mean != "" && mean != "null" && off <= 0.4
                line[lines] = line[lines] (mean == "" || mean == "null" ? sprintf("%8s", "-") : sprintf("%8.3f", mean / 1e9))
            }
            END {
                printf "%s Gb/s: %d of %d within 0.4 Gb/s\n D_len", rate, good, all
                n = split(sizes, size, " "); for (i = 1; i <= n; i++) printf "%8s", size[i]
                print ""; for (i = 1; i <= lines; i++) print line[i]
            }'
done
