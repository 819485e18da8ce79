#!/bin/sh
# Tables 4.4, 4.5 and 4.6 of paper 002: MinProbe with other lengths and sizes of trains, in the dumb-bell and the parking lot. Estimated Gb/s, means of ten samples, the
# paper's behind the stroke; (4) behind a figure: so many of the ten have an answer, (0): none.
# usage: tables.sh [small]: small has one row of each table.
set -e
cd "$(dirname "$0")"
mkdir -p out
# The paper's rows: dumb-bell with 8, 6, 3 and 1 Gb/s of cross traffic, then the parking lot.
lengths='5 2.57 5.57 8.54 9.5 1.99 4.41 6.57 8.59
20 2.07 3.96 6.97 8.8 1.80 3.80 6.90 8.30
40 1.9 3.87 6.94 8.68 1.80 3.86 6.70 8.50
60 1.85 3.79 6.79 8.70 1.80 3.80 6.76 8.56
80 1.86 3.79 6.90 8.70 1.80 3.75 6.78 8.44
100 1.83 3.96 6.79 8.55 1.80 3.70 6.56 8.02'
sizes='64 9.47 9.50 9.50 9.50 9.50 9.50 9.50 9.50
512 2.06 4.51 7.53 8.9 1.85 3.76 6.64 8.09
792 2.07 3.96 6.97 8.8 1.80 3.80 6.90 8.30
1024 1.90 3.97 7.01 8.83 1.80 3.75 6.72 8.54
1518 1.81 3.88 6.91 8.84 1.80 3.81 6.83 8.48'
if [ "$1" = small ]; then
    lengths=$(echo "$lengths" | head -n1) sizes=$(echo "$sizes" | head -n1)
fi
heading() {
    printf '%s\n%6s  %s\n' "$1" "$2" "dumb-bell: 8, 6, 3, 1 Gb/s of cross traffic             | parking lot"
}
# Runs the lab with these keys of all probers, and prints a row: its head, and the paper's values.
row() {
    keys=$1
    shift
    sed "s|kind = \"prober\"|&, $keys|; /^figure\|^points/d" lab.toml >out/table.toml
    wire lab out/table.toml --json | awk -v head="$1" -v paper="$*" '
        function value(key) { return match($0, "\"" key "\":\"?[^,}\"]*") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "" }
        /"type":"available"/ {
            node = value("node"); gsub(/"/, "", node); available = value("available"); true_ = value("true"); all++
            if (available != "" && available != "null") { sum[node] += available; count[node]++ }
            actual[node] += true_; samples[node]++
        }
        END {
            split(paper, published, " "); n = split("db8 db6 db3 db1 pl8 pl6 pl3 pl1", wanted, " ")
            printf "%6s ", head
            for (i = 1; i <= n; i++) {
                node = wanted[i]; few = count[node] < samples[node] ? "(" count[node] + 0 ")" : ""
                found = count[node] ? sprintf("%.2f", sum[node] / count[node] / 1e9) : "-"
                printf "%s%13s", i == 5 ? " |" : "", found few "/" published[i + 1]
            }
            print ""
        }'
}
actual() {
    # Table 4.4: what its idle characters leave, of 10 Gb/s, with 812 bytes on the wire to a packet of 792.
    echo "Table 4.4: idle characters between packets of 792 bytes, the rate on the wire that they make, and the paper's"
    for pair in "7200 1" "1872 3" "536 6" "200 8"; do
        echo "$pair" | awk '{ printf "%6d  %.3f Gb/s/%d Gb/s\n", $1, 10 * 812 / (800 + $1), $2 }'
    done
}
actual
heading "Table 4.5: packets in a train" N
echo "$lengths" | while read -r n rest; do row "trains = \"$n, 0.1:0.1:9.6 Gb/s, 10 us, 4 ms\"" "$n" $rest; done
heading "Table 4.6: bytes of a packet" bytes
echo "$sizes" | while read -r size rest; do row "size = $size" "$size" $rest; done
