#!/bin/sh
# Figure 4.20 of paper 002: MinProbe by an application's packets of mixed sizes, beside packets of one size, with the even cross traffic of table 4.4. By how much the mean of the
# samples is off, Gb/s, and how many of them have an answer. The paper has no figures in its text: "the estimation result is still accurate".
set -e
cd "$(dirname "$0")"
mkdir -p out
printf '%14s %22s %22s\n' "cross traffic" "792 bytes" "IMIX"
for pair in "1 7200" "3 1872" "6 536" "8 200"; do
    printf '%9s Gb/s' "${pair% *}"
    for size in 792 '"imix"'; do
        sed "s|idles = 1872|idles = ${pair#* }|; s|size = \"imix\"|size = $size|; s|^points.*|points = \"figure-4-20-${pair% *}.png\"|" mixed.toml >out/mixed.toml
        wire lab out/mixed.toml --json | awk '
            function value(key) { return match($0, "\"" key "\":[^,}]*") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "" }
            /"type":"available"/ { all++; found = value("available"); if (found != "" && found != "null") { sum += found - value("true"); count++ } }
            END { printf " %22s", count ? sprintf("%+.3f, %d of %d", sum / count / 1e9, count, all) : sprintf("none of %d", all) }'
    done
    echo
done
