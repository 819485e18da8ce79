#!/bin/sh
# Operations a second in real time, as root: Raft, Paxos by hosts and Paxos in switches with three acceptors that vote (plain.toml) and with two (cheap.toml),
# with 256 clients in a closed loop on links that take no time of their own; first with a buffer of the kernel for each frame, then with those that are sent at
# one time in one. Then Paxos in switches in an open loop. Wants `cargo build --release` here, and a `wire` in the PATH. About two minutes.
set -e
cd "$(dirname "$0")"
raft=target/release/raft-store
lab=$(mktemp ./speed-XXXXXX.toml)
trap 'rm -f "$lab"' EXIT
run() {
    wire lab "$lab" | head -n 1
}
for round in 1 2 3; do
    echo "round $round, load $(cut -d ' ' -f 1-3 /proc/loadavg): a buffer for each frame"
    $raft live 256 single
    for file in plain.toml cheap.toml; do
        sed 's/^worlds = .*/&\naggregate = false/; s/^count = .*/count = 1_000/' $file > "$lab"
        run
    done
    echo "a buffer for what is sent at one time"
    $raft live 256 plain
    for file in plain.toml cheap.toml; do
        cp $file "$lab"
        run
    done
done
for load in "12.8 400" "5.12 1000" "2.56 2000" "1.28 3900"; do
    set -- $load
    echo "open loop, 256 operations due each $1 ms, for 5 s"
    sed "s/^clients = .*/&\ninterval = \"$1 ms\"/; s/^count = .*/count = $2/" plain.toml > "$lab"
    run
done
