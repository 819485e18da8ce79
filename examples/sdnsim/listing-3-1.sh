#!/bin/sh
# An experiment of two hosts in the form of listing 3.1 of paper 003, as a lab that runs for 5 s of simulated time.
set -e
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
./experiment.py two-hosts.xml --main "transfer 1: bulk to=server" --main "transfer 2: sink" |
    sed 's/^duration = .*/duration = "5 s"/' >"$work/lab.toml"
wire lab "$work/lab.toml"
