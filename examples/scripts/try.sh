#!/bin/bash
# One of the papers' thirteen commands at work, without privileges: four ports as files, of which the command has 0 and 1, and the
# frames that this script sends and shows pass 2 and 3, the far ends of their cables.
# usage: try.sh NUMBER
set -euo pipefail
cd "$(dirname "$0")"
skip() { echo "$1" >&2; exit 77; }
[ -w /dev/fuse ] && command -v fusermount3 > /dev/null || skip "needs /dev/fuse and fusermount3 (Debian: fuse3)"
number=$(printf %02d "${1:?usage: try.sh NUMBER, from 1 to 13}")
work=$(mktemp -d)
export DIR=$work/ports
end() {
    trap - EXIT
    kill $(jobs -p) 2> /dev/null || true
    wait 2> /dev/null || true
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM

# A cable is a UDP port of this machine: one end sends there, the other waits there.
first=$((20000 + $$ % 10000 * 4)) second=$((20001 + $$ % 10000 * 4))
wire mount --no-time "$DIR" --on "udp:@127.0.0.1:$first" "udp:127.0.0.1:$second" "udp:127.0.0.1:$first" "udp:@127.0.0.1:$second" \
    > /dev/null 2>&1 &
mount=$!
until [ -e "$DIR/3" ]; do
    kill -0 "$mount" 2> /dev/null || { echo "wire mount ended" >&2; exit 1; }
    sleep 0.05
done

# Waits until PORT has COUNT readers.
readers() { until grep -q "^readers=$2" "$DIR/$1.d/counters"; do sleep 0.05; done; }
# Waits until FILE has something in it, and then until all is there.
filled() { until [ -s "$1" ]; do sleep 0.05; done; sleep 0.3; }
# The start of each line: padding follows.
show() { sed 's/\( 00\)*$//; s/^/out  /' "$1"; }
plain=("001122334455 020000000001 88B5 48 65 6C 6C 6F" "00AABBCCDDEE 020000000001 0800 45 00 00 14")
two=("001122334455 020000000001 8100 00 02 88 B5 48 65 6C 6C 6F")
one=("001122334455 020000000001 8100 00 01 88 B5 48 65 6C 6C 6F")
# Sends frames to port 0 by its far end.
enter() { printf 'in   %s\n' "$@"; printf '%s\n' "$@" > "$DIR/2"; }
# pass COUNT FAR-END FRAME...: shows COUNT frames that come out at a far end.
pass() {
    timeout 10 head -n "$1" < "$DIR/$2" > "$work/out" &
    local reader=$!
    readers "$2" 1
    enter "${@:3}"
    wait "$reader"
    show "$work/out"
}

case $number in
    01)
        printf '%s\n' "${plain[@]}" | wire cat - --raw > "$work/packet.dump"
        timeout 10 head -n 2 < "$DIR/3" > "$work/out" &
        reader=$!
        readers 3 1
        ./01-generate.sh "$work/packet.dump" 1
        wait "$reader"
        show "$work/out" ;;
    02 | 04)
        if [ "$number" = 02 ]; then ./02-capture.sh "$work/kept" & else ./04-dump.sh "$work/kept" & fi
        job=$!
        readers 0 1
        enter "${plain[@]}"
        [ "$number" = 04 ] && sleep 0.5 || filled "$work/kept"
        kill -INT "$job" 2> /dev/null || true
        kill "$job" 2> /dev/null || true
        wait "$job" || true
        wire cat "$work/kept" --no-time > "$work/out"
        show "$work/out" ;;
    03)
        ./03-decapsulate.sh "$work/out" &
        job=$!
        readers 0 1
        enter "${plain[@]}"
        sleep 0.3
        # cut writes when its input ends.
        kill "$mount"
        wait "$job" || true
        show "$work/out" ;;
    05)
        ./05-mirror.sh &
        timeout 10 head -n 2 < "$DIR/2" > "$work/back" &
        back=$!
        readers 0 1
        readers 2 1
        pass 2 3 "${plain[@]}"
        wait "$back"
        sed 's/\( 00\)*$//; s/^/back /' "$work/back" ;;
    06) ./06-filter-destination.sh & readers 0 1; pass 1 3 "${plain[1]}" "${plain[0]}" ;;
    07) ./07-vlan-tag.sh & readers 0 1; pass 1 3 "${plain[0]}" ;;
    08) ./08-vlan-untag.sh & readers 0 1; pass 1 3 "${one[0]}" ;;
    09) ./09-vlan-translate.sh & readers 0 1; pass 1 3 "${two[0]}" ;;
    10)
        command -v nc > /dev/null || skip "needs nc (Debian: netcat-openbsd)"
        export TCP=$first
        ./10-tunnel-tcp.sh listen 1 &
        sleep 0.5
        ./10-tunnel-tcp.sh 127.0.0.1 0 &
        readers 0 1
        pass 2 3 "${plain[@]}" ;;
    11)
        # This stands in for ssh: it runs the command here.
        printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' > "$work/ssh"
        chmod +x "$work/ssh"
        SSH=$work/ssh THERE=$DIR ./11-tunnel-ssh.sh sample.com 0 &
        readers 0 1
        pass 2 2 "${plain[@]}" ;;
    12)
        PORTS=2 TABLE=$work/table
        mkdir "$TABLE"
        export PORTS TABLE
        ./12-switch.sh &
        readers 0 1
        pass 2 3 "${plain[@]}"
        ls "$TABLE" | sed 's/^/learned  /' ;;
    13)
        [ "$(id -u)" = 0 ] || skip "needs root, for an interface"
        # ARP asks for the address of the interface, whose stack answers.
        unshare --net bash -c './13-stack.sh pipe0 & until ip addr add 10.77.0.1/24 dev pipe0 2> /dev/null; do sleep 0.05; done
            ip link set pipe0 up; wait' 2> /dev/null &
        readers 0 1
        sleep 0.5
        timeout 10 grep -m 1 ' 0806 ' < "$DIR/2" > "$work/out" &
        reader=$!
        readers 2 1
        enter "FFFFFFFFFFFF 020000000001 0806 00 01 08 00 06 04 00 01 02 00 00 00 00 01 0A 4D 00 02 00 00 00 00 00 00 0A 4D 00 01"
        wait "$reader"
        show "$work/out" ;;
    *) echo "there is no command $1: 1 to 13" >&2; exit 2 ;;
esac
