#!/bin/sh
# Starts or stops a Slurm with three hosts h1, h2 and h3 on this machine, for tests/launchers.rs:
#
#     slurm_cluster.sh start DIR && SLURM_CONF=DIR/slurm.conf cargo test -p graphmap-binding
#     slurm_cluster.sh stop DIR
#
# Requires root, and Debian's packages slurmctld, slurmd, slurm-client and munge.
set -eu
[ $# = 2 ] || { echo "usage: $0 start|stop DIR" >&2; exit 2; }
mkdir -p "$2"
dir=$(cd "$2" && pwd)
export SLURM_CONF="$dir/slurm.conf"

stop() {
    for pid in "$dir"/*.pid; do
        if [ -s "$pid" ]; then kill "$(cat "$pid")" 2>/dev/null || true; rm -f "$pid"; fi
    done
}

[ "$1" = start ] || { stop; exit 0; }
stop
mkdir -p "$dir/state" "$dir/spool"
host=$(hostname -s)
cat >"$SLURM_CONF" <<END
ClusterName=graphmap
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
NodeName=h1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=8
NodeName=h2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=8
NodeName=h3 NodeHostname=$host NodeAddr=127.0.0.1 Port=17003 CPUs=8
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:8
END
[ -s "$dir/munge.key" ] || dd if=/dev/urandom of="$dir/munge.key" bs=128 count=1 2>/dev/null
chmod 600 "$dir/munge.key"
munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munged.log" --seed-file="$dir/munge.seed"
slurmctld
for h in h1 h2 h3; do slurmd -N "$h"; done
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ "$(sinfo -h -N -t idle -o %N | sort -u | wc -l)" = 3 ] && exit 0
    sleep 1
done
echo "the three hosts did not come up; the logs are in $dir" >&2
exit 1
