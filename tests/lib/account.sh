# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Makes, uses and removes throw-away accounts without privileges, for a root that runs the tests. They have no
# subordinate ids, because hutch must need none, and read a staged copy of the tree, because the clone may be where
# only root can read. tests/run sources this file. It must never change an account that it did not make.

ACCOUNT_PREFIX=hutch-test-
ACCOUNTS=()

# Removes accounts of earlier runs that were killed before they could clean up: the first number is the run's process id.
account_sweep() {
        local name
        while IFS=: read -r name _; do
                [[ $name =~ ^$ACCOUNT_PREFIX([0-9]+)(-[0-9]+)?$ ]] || continue
                [ -e "/proc/${BASH_REMATCH[1]}" ] || account_remove "$name"
        done </etc/passwd
}

account_remove() {
        userdel "$1" 2>/dev/null
        groupdel "$1" 2>/dev/null
        true
}

# account_make COUNT: makes the accounts and a directory for each. Sets ACCOUNTS and STAGE.
account_make() {
        local number name
        account_sweep
        STAGE=$(mktemp -d /tmp/hutch-tests.XXXXXX) || die "cannot create a directory in /tmp"
        chmod 755 "$STAGE"
        say "accounts: making $1 throw-away accounts ($ACCOUNT_PREFIX$$-N) and the directory $STAGE (all are removed at the end)"
        for ((number = 0; number < $1; number++)); do
                name=$ACCOUNT_PREFIX$$-$number
                useradd --no-create-home --home-dir "$STAGE/$number/home" --shell /bin/sh --user-group \
                        -K SUB_UID_COUNT=0 -K SUB_GID_COUNT=0 "$name" || die "useradd failed"
                ACCOUNTS+=("$name")
                usermod --del-subuids 1-4294967294 --del-subgids 1-4294967294 "$name" 2>/dev/null
                ! grep -qs "^$name:" /etc/subuid /etc/subgid || die "$name has subordinate ids, which would prove too much"
                mkdir -p "$STAGE/$number/home" "$STAGE/$number/tmp"
                chown -R "$name:" "$STAGE/$number/home" "$STAGE/$number/tmp"
        done
}

# Copies what the tests read: the built program with its data, the tests, and the npm packages.
account_stage() {
        tar --exclude='*.p' --exclude=__pycache__ -cf - build policy tests completions | tar --no-same-owner -C "$STAGE" -xf - || die "staging into $STAGE failed"
        chmod -R a+rX "$STAGE/build" "$STAGE/policy" "$STAGE/tests" "$STAGE/completions"
}

# account_run NUMBER COMMAND…: runs it as that account, in the staged tree, without root's environment.
account_run() {
        local account=${ACCOUNTS[$1]} own=$STAGE/$1
        shift
        (cd "$STAGE" && exec setpriv --reuid "$account" --regid "$account" --clear-groups \
                env -i HOME="$own/home" USER="$account" LOGNAME="$account" SHELL=/bin/sh LANG=C.UTF-8 TMPDIR="$own/tmp" PATH=/usr/local/bin:/usr/bin:/bin \
                "$@" </dev/null)
}

# Prints a node that the accounts can run: the first on PATH that they may, or else a copy of the first.
account_node() {
        local candidate
        while read -r candidate; do
                account_run 0 "$candidate" --version >/dev/null 2>&1 && printf '%s\n' "$candidate" && return
        done < <(type -ap node)
        mkdir -p "$STAGE/node/bin"
        cp -L "$(command -v node)" "$STAGE/node/bin/node" && chmod 755 "$STAGE/node/bin/node"
        printf '%s\n' "$STAGE/node/bin/node"
}

account_end() {
        local account uid
        for account in "${ACCOUNTS[@]}"; do
                uid=$(id -u "$account" 2>/dev/null) && [ "$uid" -ge 1000 ] && pkill -KILL -U "$uid"
                account_remove "$account"
        done
        [ -z "${STAGE:-}" ] || rm -rf "$STAGE"
}
