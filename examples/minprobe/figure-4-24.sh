#!/bin/sh
# Figure 4.24a of paper 002: the share of pairs of probes that a router has put behind each other with the least gap, and the quantiles of the rate of pairs, Gb/s. Trains go from
# 0.1 to 9.6 Gb/s, so that without a router the rates lie on a diagonal, and next to none are above 9.65.
# The paper: over 25 % of pairs through a DPDK router, over 40 % through Linux, so that routers are unsuitable. The last table measures it: other methods send through the same
# routers, and those that use single gaps are far off; those that use whole trains are not.
set -e
cd "$(dirname "$0")"
mkdir -p out
wire lab batching.toml | sed -n '1p; /^prober/,/^$/p'
printf '%-10s %9s %6s %6s %6s %6s\n' router batched 'p25' 'p50' 'p75' 'p90'
for router in none dpdk linux coalescing; do
    # 812 bytes on the wire to a probe of 792; between trains and samples there are no pairs.
    wire cut time --time delta --filter udp "out/$router.pcapng" | awk '$1 > 0 && $1 < 6.6e-5 { print 812 * 8 / $1 / 1e9 }' | sort -g |
        awk -v router="$router" '
            { rate[NR] = $1; batched += $1 > 9.65 }
            END {
                printf "%-10s %7.1f %%", router, 100 * batched / NR
                for (q = 25; q <= 90; q += q == 75 ? 15 : 25) printf " %6.2f", rate[int(NR * q / 100)]
                print ""
            }'
done
echo
printf '%-10s %9s %9s %10s   %s\n' 'off, Gb/s' dpdk linux coalescing 'looks at'
for method in "spruce pairs" "pathchirp single packets" "ptr the mean gap of a train" "topp rates of trains" "minprobe growth in trains" "pathload trends in streams"; do
    sed "s/kind = \"prober\"/&, method = \"${method%% *}\", samples = 10/; /^\[\[capture/,\$d" batching.toml >out/method.toml
    wire lab out/method.toml --json | awk -v method="${method%% *}" -v at="${method#* }" '
        function value(key) { return match($0, "\"" key "\":\"?[^,}\"]*") ? substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) : "" }
        /"type":"available"/ { node = value("node"); gsub(/"/, "", node); found = value("available"); if (found != "" && found != "null") { sum[node] += found - value("true"); count[node]++ } }
        function shown(node) { return count[node] ? sprintf("%+.3f", sum[node] / count[node] / 1e9) : "none" }
        END { printf "%-10s %9s %9s %10s   %s\n", method, shown("dpdk"), shown("linux"), shown("coalescing"), at }'
done
