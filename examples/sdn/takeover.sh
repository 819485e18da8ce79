#!/usr/bin/env bash
# A test of OFLOPS that is a program (takeover.py): the time until an entry of a higher priority takes over, five times.
set -euo pipefail
cd "$(dirname "$0")"
exec wire of flops takeover --program takeover='python3 takeover.py 5'
