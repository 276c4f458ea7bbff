#!/bin/sh
# Virtual hosts on this machine, for tests: network namespaces with host names, joined by a bridge.
# Each host has the interface net0.
#
#   hosts.sh start FOLDER N     creates hosts h1 to hN, and FOLDER/agent, which launchers use as ssh
#   hosts.sh start FOLDER N OWN the same, but h2 to hN have a separate, empty folder at OWN
#   hosts.sh bytes FOLDER       prints the bytes that each host has sent over net0, one line each
#   hosts.sh down FOLDER HOST   disconnects a host
#   hosts.sh shape FOLDER WORDS makes the kernel delay, lose or hold up packets (as `tc qdisc`)
#   hosts.sh delay-line FOLDER PROGRAM MICROSECONDS
#                               joins the hosts by PROGRAM, in place of the bridge or of another
#                               delay line. It is built from benches/hosts/delay_line.c.
#   hosts.sh lost FOLDER        prints the packets of each host that the kernel or the delay line
#                               lost, one line each
#   hosts.sh stop FOLDER        removes all. Fails with a reason if the delay line ended before.
#
# Names of namespaces depend on FOLDER, so that several tests can have hosts at the same time.
set -eu
verb=$1
folder=$2
mark=gm$(printf %s "$folder" | cksum | cut -c 1-6)

# Ends the delay line, if there is one. Fails if it has already ended, because packets since then
# were lost.
end_delay_line() {
    [ -f "$folder/delay-line.pid" ] || return 0
    line=$(cat "$folder/delay-line.pid")
    rm -f "$folder/delay-line.pid"
    # A zombie still has its process id, but no program.
    readlink "/proc/$line/exe" >/dev/null || { echo "the delay line has ended by itself: $(cat "$folder/delay-line.said")" >&2; return 1; }
    kill "$line"
    # The kernel removes its interfaces with a delay.
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
    # A link needs some time to come up.
    while read -r host; do
        tries=0
        until [ "$(ip netns exec "$mark-$host" cat /sys/class/net/net0/operstate)" = up ]; do
            tries=$((tries + 1))
            [ "$tries" -lt 100 ] || { echo "$host has no link" >&2; exit 1; }
            sleep 0.1
        done
    done <"$folder/hosts"
    # The mount namespace of a host exists while a process runs in it.
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
    # Launchers call this instead of ssh, with options, a host and a command.
    cat >"$folder/agent" <<AGENT
#!/bin/sh
while case "\$1" in -*) true ;; *) false ;; esac; do shift; done
host=\$1; shift; export CMD="\$*"
if [ -f "$folder/\$host.pid" ]; then
    exec nsenter --target "\$(cat "$folder/\$host.pid")" --mount --uts --net sh -c "\$CMD"
fi
exec ip netns exec $mark-\$host unshare --uts sh -c "hostname \$host; exec sh -c \"\\\$CMD\""
AGENT
    # Starts a launcher on the first host.
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
    # This delay line may have ended already, and its state does not matter any more.
    end_delay_line || true
    while read -r host; do
        ip -n "$mark-$host" link del net0 2>/dev/null || true
        spaces="$spaces $mark-$host"
    done <"$folder/hosts"
    # The output of a previous delay line must not count as that of the new one.
    rm -f "$folder/delay-line.said"
    # shellcheck disable=SC2086 # One argument for each word.
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
        # The kernel counts packets that the delay line does not fetch in time as dropped at the
        # interface, not in the queueing discipline. The delay line itself reports those that it
        # loses afterwards.
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
