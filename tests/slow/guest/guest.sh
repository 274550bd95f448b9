# SPDX-License-Identifier: Apache-2.0
# Runs in the guest, as root: everything as an ordinary user who logs in (runuser -l: a session scope of its own and a
# systemd of the user's), in a group that is delegated, without either, and as root.
hutch=/mnt/hutch
failed=0
check() { # check NAME CONDITION…: a line for each
        name=$1
        shift
        if "$@"; then echo "ok: $name"; else
                failed=$((failed + 1))
                echo "NOT OK: $name: status $status"
                sed 's/^/    /' /run/out
        fi
}
person() { runuser -l person -c "$*" >/run/out 2>&1; status=$?; }
says() { grep -qE -- "$1" /run/out; }
ended() { [ "$status" = "$1" ] && says "$2"; }
no_scope_left() { sleep 1; ! find /sys/fs/cgroup -name 'hutch-*' | grep .; }

echo "kernel $(uname -r), $(systemctl --version | head -1), cgroup $(stat -fc %T /sys/fs/cgroup)"
storm="-- python3 /mnt/storm.py"

echo "# a user's session, by systemd"
person "systemctl --user is-system-running --wait" # emulation is slow: the first login starts it
person $hutch run -v --cpus 0.5 -- true
check "every limit is a cgroup's" ended 0 'limits in force: memory 2g: cgroup; pids 1024: cgroup; cpus 0.5: cgroup'
person $hutch run --require cgroup,memory,pids,cpus --cpus 1 -- cat /proc/self/cgroup
check "what is required holds, and no path of the host's is seen" ended 0 '^0::/$'
person $hutch run --memory 64m $storm memory
check "a storm of memory ends with 137 and one line" ended 137 'memory 64m is used up'
person $hutch run --memory 64m $storm memfd
check "files without a name count" ended 137 'memory 64m is used up'
person $hutch run --memory 64m --disk 300m $storm tmpfs
check "what is written to memory counts" ended 137 'memory 64m is used up'
person $hutch run --memory 64m --pids 20 $storm pipes
check "buffers of pipes count" ended 137 'memory 64m is used up'
person $hutch run --disk 20m $storm tmpfs
check "the disk has its own bound" ended 1 'No space left'
person $hutch run --pids 40 $storm forks
check "processes are bounded and named" ended 0 'forked (39|40) 11'
check "the person is told" says 'pids 40 is used up'
person $hutch run --cpus 0.5 $storm busy
check "half a processor" says 'processors 0\.[3-6]'
person "$hutch run --pids 20 -- sleep 3 & $hutch run --pids 20 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1 & done; wait; echo all'; wait"
check "two sandboxes share no budget" ended 0 '^all$'
person $hutch run --memory 512m -- node -e "'fetch(\"data:text/plain,hello\").then(r => r.text()).then(console.log)'"
check "Node.js works under 512m" ended 0 '^hello$'
person "$hutch run -- sleep 60 & sleep 4; kill -9 \$!; sleep 1"
check "a killed hutch leaves no group" no_scope_left
person $hutch doctor
check "doctor names it" says 'cgroup'

echo "# an older systemd's way of refusing: the bus is there, nobody answers"
person "XDG_RUNTIME_DIR=/tmp/none $hutch run -v -- true"
check "without the bus there is another way" ended 0 'limits: memory 2g: (watchdog|cgroup)'

echo "# a delegated group"
mkdir -p /sys/fs/cgroup/delegated/own
echo '+memory +pids +cpu' >/sys/fs/cgroup/cgroup.subtree_control
echo '+memory +pids +cpu' >/sys/fs/cgroup/delegated/cgroup.subtree_control
chown -R person /sys/fs/cgroup/delegated
delegated() { # as the user, in a group of the delegated ones, without a bus
        (echo 0 >/sys/fs/cgroup/delegated/own/cgroup.procs
         exec setpriv --reuid person --regid person --clear-groups env -i HOME=/home/person PATH=/usr/bin:/bin XDG_RUNTIME_DIR=/none \
                 "$@") >/run/out 2>&1
        status=$?
}
delegated $hutch run -v --cpus 1 --require cgroup -- cat /proc/self/cgroup
check "every limit is a cgroup's" ended 0 'limits in force: memory 2g: cgroup; pids 1024: cgroup; cpus 1: cgroup'
check "its own root" says '^0::/$'
delegated $hutch run --memory 64m $storm memfd
check "a storm of memory" ended 137 'memory 64m is used up'
delegated $hutch run --pids 40 $storm forks
check "processes" ended 0 'forked (39|40) 11'
delegated sh -c "$hutch run -- sleep 60 & sleep 3; kill -9 \$!; sleep 1; $hutch run -- true"
check "nothing is left, not even of a killed one" no_scope_left

echo "# root"
$hutch run -v --require cgroup,memory,pids -- true >/run/out 2>&1
status=$?
check "root asks the machine's systemd" ended 0 'limits in force: memory 2g: cgroup; pids 1024: cgroup'
$hutch run --memory 64m $storm memfd >/run/out 2>&1
status=$?
check "a storm of memory" ended 137 'memory 64m is used up'

if [ $failed = 0 ]; then echo "RESULT: all held"; else echo "RESULT: $failed did not hold"; fi
