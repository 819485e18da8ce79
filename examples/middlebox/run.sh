#!/bin/sh
# Runs the lab in exact simulated time, as any user; then figure 4.11 as text: gaps of both flows before and behind the middlebox.
set -e
cd "$(dirname "$0")"
mkdir -p out
wire lab pair.toml | sed -n '1,4p; /^prober/,/^$/p'
echo "share of the distances between packets of a flow that are shorter than, us"
printf '%-28s %7s %7s %7s %7s\n' flow 1.3 2 5 10
for flow in "1000 probing" "1001 passing"; do
    for file in before behind; do
        wire cut time --time delta --filter "udp src port ${flow% *}" "out/$file.pcapng" | awk -v name="${flow#* } $file the middlebox" '
            NR > 1 { all++; for (i = 1; i <= 4; i++) less[i] += $1 < (i == 1 ? 1.3e-6 : i == 2 ? 2e-6 : i == 3 ? 5e-6 : 1e-5) }
            END { printf "%-28s %5.1f %% %5.1f %% %5.1f %% %5.1f %%\n", name, 100 * less[1] / all, 100 * less[2] / all, 100 * less[3] / all, 100 * less[4] / all }'
    done
done
