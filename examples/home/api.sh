# Sourced by the scripts of this folder: the API of `wire home`, by curl. `curl_in` may be set to a prefix such as `ip netns exec NAME`.

ask() { ${curl_in:-} curl -sk --max-time ${seconds:-5} -H "Authorization: Bearer ${token:-}" -H 'Content-Type: application/json' "$@"; }

# usage: set_password LOG API: waits for the setup code in the program's log, sets the password and signs in. Sets `api` and `token`.
set_password() {
    local log=$1 code
    api=$2
    for _ in $(seq 100); do grep -q "setup=" "$log" && break; sleep 0.1; done
    code=$(sed -n 's/.*#setup=//p' "$log" | head -n 1)
    [ -n "$code" ] || { cat "$log" >&2; exit 1; }
    # The addresses are printed before the server accepts.
    for _ in $(seq 100); do ask $api/session >/dev/null 2>&1 && break; sleep 0.1; done
    ask $api/setup -d "{\"code\": \"$code\", \"password\": \"correct horse\"}" >/dev/null
    token=$(ask $api/session -d '{"password": "correct horse", "bearer": true}' | sed -n 's/.*"token": *"\([^"]*\)".*/\1/p')
}

# Devices of the board: MAC address, name, admission.
devices() {
    ask $api/devices | python3 -c '
import json, sys
for device in json.load(sys.stdin)["devices"]:
    print(device["mac"], device.get("name") or device["host_name"] or "-", device["admission"])'
}
