# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Makes, uses and removes a throw-away account without privileges, for a root that runs the tests. The account has no
# subordinate ids, because hutch must need none, and reads a staged copy of the tree, because the clone may be where
# only root can read. tests/run sources this file. It must never change an account that it did not make.

ACCOUNT_PREFIX=hutch-test-

# Removes accounts of earlier runs that were killed before they could clean up: the number is the run's process id.
account_sweep() {
        local name
        while IFS=: read -r name _; do
                case $name in
                "$ACCOUNT_PREFIX"*[!0-9]*) ;;
                "$ACCOUNT_PREFIX"[0-9]*) [ -e "/proc/${name#"$ACCOUNT_PREFIX"}" ] || account_remove "$name" ;;
                esac
        done </etc/passwd
}

account_remove() {
        userdel "$1" 2>/dev/null
        groupdel "$1" 2>/dev/null
        true
}

# Makes the account and its directory: sets ACCOUNT and STAGE.
account_make() {
        account_sweep
        ACCOUNT=$ACCOUNT_PREFIX$$
        STAGE=$(mktemp -d /tmp/hutch-tests.XXXXXX) || die "cannot create a directory in /tmp"
        chmod 755 "$STAGE"
        say "account: making the throw-away account $ACCOUNT and the directory $STAGE (both are removed at the end)"
        useradd --no-create-home --home-dir "$STAGE/home" --shell /bin/sh --user-group \
                -K SUB_UID_COUNT=0 -K SUB_GID_COUNT=0 "$ACCOUNT" || die "useradd failed"
        usermod --del-subuids 1-4294967294 --del-subgids 1-4294967294 "$ACCOUNT" 2>/dev/null
        ! grep -qs "^$ACCOUNT:" /etc/subuid /etc/subgid || die "$ACCOUNT has subordinate ids, which would prove too much"
        mkdir -p "$STAGE/home" "$STAGE/tmp"
        chown -R "$ACCOUNT:" "$STAGE/home" "$STAGE/tmp"
}

# Copies what the tests read: the built program with its data, the tests, and the npm packages.
account_stage() {
        tar --exclude='*.p' --exclude=__pycache__ -cf - build policy tests completions | tar --no-same-owner -C "$STAGE" -xf - || die "staging into $STAGE failed"
        chmod -R a+rX "$STAGE/build" "$STAGE/policy" "$STAGE/tests" "$STAGE/completions"
}

# account_run COMMAND…: runs it as the account, in the staged tree, without root's environment.
account_run() {
        (cd "$STAGE" && exec setpriv --reuid "$ACCOUNT" --regid "$ACCOUNT" --clear-groups \
                env -i HOME="$STAGE/home" USER="$ACCOUNT" LOGNAME="$ACCOUNT" SHELL=/bin/sh LANG=C.UTF-8 TMPDIR="$STAGE/tmp" PATH=/usr/local/bin:/usr/bin:/bin \
                "$@" </dev/null)
}

# Prints a node that the account can run: the first on PATH that it may, or else a copy of the first.
account_node() {
        local candidate
        while read -r candidate; do
                account_run "$candidate" --version >/dev/null 2>&1 && printf '%s\n' "$candidate" && return
        done < <(type -ap node)
        mkdir -p "$STAGE/node/bin"
        cp -L "$(command -v node)" "$STAGE/node/bin/node" && chmod 755 "$STAGE/node/bin/node"
        printf '%s\n' "$STAGE/node/bin/node"
}

account_end() {
        [ -n "${ACCOUNT:-}" ] || return 0
        local uid
        uid=$(id -u "$ACCOUNT" 2>/dev/null) && [ "$uid" -ge 1000 ] && pkill -KILL -U "$uid"
        account_remove "$ACCOUNT"
        rm -rf "$STAGE"
}
