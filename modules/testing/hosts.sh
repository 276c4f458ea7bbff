#!/bin/sh
# Hosts on this machine, for tests: network namespaces that a bridge joins, with names of their own and the same
# interface on each.
#
#   hosts.sh start FOLDER N     makes hosts h1 to hN, and FOLDER/agent, which launchers take for ssh
#   hosts.sh start FOLDER N OWN the same; all but h1 have a folder OWN of their own, which is empty
#   hosts.sh bytes FOLDER       bytes that each host has sent over its interface, a line each
#   hosts.sh down FOLDER HOST   cuts the link of a host
#   hosts.sh shape FOLDER WORDS the kernel delays, loses or holds up what each host sends, as `tc qdisc` has it
#   hosts.sh delay-line FOLDER PROGRAM MICROSECONDS
#                               a program of this machine joins them instead of the kernel: what `cc` makes of
#                               benches/hosts/delay_line.c; asked again, another in its place
#   hosts.sh lost FOLDER        packets of each host that were lost so, by the kernel or by the delay line, a line each
#   hosts.sh stop FOLDER        takes all away; fails where the delay line has ended before, and says why
#
# Namespaces have names of their own for each FOLDER, so that several tests can have hosts at a time.
set -eu
verb=$1
folder=$2
mark=gm$(printf %s "$folder" | cksum | cut -c 1-6)

# Ends the delay line, if there is one. Fails where it has ended by itself: what went over it since then did not arrive.
end_delay_line() {
    [ -f "$folder/delay-line.pid" ] || return 0
    line=$(cat "$folder/delay-line.pid")
    rm -f "$folder/delay-line.pid"
    # What has ended may have its number still, where nobody waits for it, but no program.
    readlink "/proc/$line/exe" >/dev/null || { echo "the delay line has ended by itself: $(cat "$folder/delay-line.said")" >&2; return 1; }
    kill "$line"
    # Its interfaces go with it, a moment later.
    while ip -n "$mark-h1" link show net0 >/dev/null 2>&1; do sleep 0.01; done
}

case $verb in
start)
    n=$3
    : >"$folder/hosts"
    echo "127.0.0.1 localhost" >"$folder/names"
    ip netns add "$mark-hub"
    ip -n "$mark-hub" link add hub type bridge
    ip -n "$mark-hub" link set hub up
    i=1
    while [ "$i" -le "$n" ]; do
        ip netns add "$mark-h$i"
        ip -n "$mark-h$i" link set lo up
        ip link add "$mark$i" netns "$mark-hub" type veth peer name net0 netns "$mark-h$i"
        ip -n "$mark-hub" link set "$mark$i" master hub up
        ip -n "$mark-h$i" addr add "10.77.0.$i/24" dev net0
        ip -n "$mark-h$i" link set net0 up
        echo "10.77.0.$i h$i" >>"$folder/names"
        echo "h$i" >>"$folder/hosts"
        i=$((i + 1))
    done
    while read -r host; do
        mkdir -p "/etc/netns/$mark-$host"
        cp "$folder/names" "/etc/netns/$mark-$host/hosts"
    done <"$folder/hosts"
    # A link is there a while after it was set up; who looks before finds no network.
    while read -r host; do
        tries=0
        until [ "$(ip netns exec "$mark-$host" cat /sys/class/net/net0/operstate)" = up ]; do
            tries=$((tries + 1))
            [ "$tries" -lt 100 ] || { echo "$host has no link" >&2; exit 1; }
            sleep 0.1
        done
    done <"$folder/hosts"
    # Who has mounts of his own keeps them as long as somebody lives in them.
    own=${4:-}
    if [ -n "$own" ]; then
        mkdir -p "$own"
        grep -v '^h1$' "$folder/hosts" | while read -r host; do
            ip netns exec "$mark-$host" unshare --mount --uts sh -c "hostname $host
                mount -t tmpfs none '$own' && echo \$\$ >'$folder/$host.new' && mv '$folder/$host.new' '$folder/$host.pid'
                exec sleep 3600" >/dev/null 2>&1 </dev/null &
        done
        for host in $(grep -v '^h1$' "$folder/hosts"); do
            tries=0
            until [ -f "$folder/$host.pid" ]; do
                tries=$((tries + 1))
                [ "$tries" -lt 100 ] || { echo "$host does not start" >&2; exit 1; }
                sleep 0.1
            done
        done
    fi
    # What launchers call instead of ssh: options, a host, a command.
    cat >"$folder/agent" <<AGENT
#!/bin/sh
while case "\$1" in -*) true ;; *) false ;; esac; do shift; done
host=\$1; shift; export CMD="\$*"
if [ -f "$folder/\$host.pid" ]; then
    exec nsenter --target "\$(cat "$folder/\$host.pid")" --mount --uts --net sh -c "\$CMD"
fi
exec ip netns exec $mark-\$host unshare --uts sh -c "hostname \$host; exec sh -c \"\\\$CMD\""
AGENT
    # To start a launcher on the first of the hosts.
    cat >"$folder/on-first" <<FIRST
#!/bin/sh
exec ip netns exec $mark-h1 unshare --uts sh -c 'hostname h1; exec "\$@"' sh "\$@"
FIRST
    chmod +x "$folder/agent" "$folder/on-first"
    ;;
bytes)
    while read -r host; do
        ip netns exec "$mark-$host" cat /sys/class/net/net0/statistics/tx_bytes
    done <"$folder/hosts"
    ;;
down)
    ip -n "$mark-$3" link set net0 down
    ;;
shape)
    shift 2
    while read -r host; do
        ip netns exec "$mark-$host" tc qdisc replace dev net0 root "$@"
    done <"$folder/hosts"
    ;;
delay-line)
    spaces=
    # One whose interface is taken away has nothing to wait for.
    end_delay_line || true
    while read -r host; do
        ip -n "$mark-$host" link del net0 2>/dev/null || true
        spaces="$spaces $mark-$host"
    done <"$folder/hosts"
    # What one before this has said is not what this says.
    rm -f "$folder/delay-line.said"
    # shellcheck disable=SC2086 # A word each.
    "$3" "$4" $spaces >"$folder/delay-line.said" 2>&1 </dev/null &
    echo $! >"$folder/delay-line.pid"
    tries=0
    until [ "$(head -n 1 "$folder/delay-line.said" 2>/dev/null)" = ready ]; do
        tries=$((tries + 1))
        kill -0 "$(cat "$folder/delay-line.pid")" 2>/dev/null && [ "$tries" -lt 100 ] || {
            kill "$(cat "$folder/delay-line.pid")" 2>/dev/null || true
            echo "$3 does not get ready: $(cat "$folder/delay-line.said")" >&2
            rm -f "$folder/delay-line.pid"
            exit 1
        }
        sleep 0.1
    done
    i=1
    while read -r host; do
        ip -n "$mark-$host" addr add "10.77.0.$i/24" dev net0
        ip -n "$mark-$host" link set net0 up
        i=$((i + 1))
    done <"$folder/hosts"
    ;;
lost)
    i=1
    while read -r host; do
        kernel=$(ip netns exec "$mark-$host" tc -s qdisc show dev net0 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p')
        # What the delay line does not fetch in time, the kernel drops behind the discipline; of what it has fetched it tells itself.
        interface=0 line=0
        if [ -f "$folder/delay-line.pid" ]; then
            interface=$(ip netns exec "$mark-$host" cat /sys/class/net/net0/statistics/tx_dropped)
            line=$(sed -n 's/^lost //p' "$folder/delay-line.said" | tail -n 1 | cut -d ' ' -f "$i")
        fi
        echo $((${kernel:-0} + interface + ${line:-0}))
        i=$((i + 1))
    done <"$folder/hosts"
    ;;
stop)
    [ -f "$folder/hosts" ] || exit 0
    ended=0
    end_delay_line || ended=1
    while read -r host; do
        [ ! -f "$folder/$host.pid" ] || kill "$(cat "$folder/$host.pid")" || true
        ip netns del "$mark-$host" || true
        rm -rf "/etc/netns/$mark-$host"
    done <"$folder/hosts"
    ip netns del "$mark-hub" || true
    exit "$ended"
    ;;
esac
