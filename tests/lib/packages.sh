# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Shared by ./bootstrap and tests/run, which source it: installs what is missing and builds. It must never install a
# second Node.js beside an existing one, ask for a password, or change anything outside the clone other than through
# the distribution's package manager.

# The packages for a build, and those that the tests need too.
# shellcheck disable=SC2034  # the sourcing files use both
BUILD_PACKAGES=(gcc libc6-dev pkg-config meson ninja-build libseccomp-dev libcap-dev libmnl-dev libcjson-dev libc-ares-dev libmd-dev libcmocka-dev)
# shellcheck disable=SC2034
TEST_PACKAGES=(python3 python3-pytest util-linux procps bubblewrap mandoc bash-completion zsh fish
        iproute2 openssl curl git bind9-dnsutils musl-tools golang-go libjansson4 openssh-client strace)
# What tests/lint/run needs besides.
# shellcheck disable=SC2034
LINT_PACKAGES=(python3 python3-pytest clang-format clang-tidy cppcheck mandoc binutils)

say() {
        printf '==> %s\n' "$*"
}

die() {
        printf 'error: %s\n' "$*" >&2
        exit 1
}

# Prints the given packages that are not installed.
packages_missing() {
        local name
        for name in "$@"; do
                [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || printf '%s\n' "$name"
        done
}

# Any Node.js works. Debian's packages are added only for a missing program, because Debian's npm conflicts with the
# nodejs packages of others.
packages_node() {
        command -v node >/dev/null || printf 'nodejs\n'
        command -v npm >/dev/null || printf 'npm\n'
}

# Prints the prefix that runs a command as root: nothing for root, `sudo -n` where that works. Otherwise fails.
packages_privilege() {
        [ "$(id -u)" -eq 0 ] && return 0
        command -v sudo >/dev/null && sudo -n true 2>/dev/null && printf 'sudo -n' && return 0
        return 1
}

# Installs the missing ones of the given packages. For an account that may not, prints the one line to run.
packages_install() {
        local missing privilege
        command -v apt-get >/dev/null ||
                die "this script supports Debian and its derivatives; elsewhere, install the equivalents of: $*, nodejs and npm, then run: meson setup build && ninja -C build"
        mapfile -t missing < <(packages_missing "$@"; packages_node)
        if [ ${#missing[@]} -eq 0 ]; then
                say "packages: all required packages are installed"
                return 0
        fi
        privilege=$(packages_privilege) ||
                die "packages are missing and this account may not install them; run this line once, then start again:
  sudo apt-get install --no-install-recommends -y ${missing[*]}"
        say "packages: installing from the distribution: ${missing[*]}"
        $privilege apt-get update -qq </dev/null || say "packages: apt-get could not refresh the package lists; trying with the existing ones"
        $privilege env DEBIAN_FRONTEND=noninteractive apt-get install --no-install-recommends -y -qq "${missing[@]}" </dev/null ||
                die "apt-get could not install: ${missing[*]}"
}

# build_into DIRECTORY [MESON-OPTION…]: configures if necessary, then builds.
build_into() {
        local directory=$1
        shift
        [ ! -e "$directory" ] || [ -w "$directory" ] ||
                die "$directory belongs to another account (an earlier run as root?); remove it first"
        say "build: meson and ninja into $directory"
        [ -f "$directory/build.ninja" ] || meson setup "$directory" "$@" || die "meson could not configure $directory"
        ninja -C "$directory" || die "the build in $directory failed"
}

# npm_install DIRECTORY TARGET: installs the packages of DIRECTORY's lock file, in its versions, into TARGET. TARGET/.complete
# marks that all of them are installed. Fails where npm has no registry. The lock files name no registry; npm's own
# configuration does.
npm_install() {
        local directory=$1 target=$2
        if cmp -s "$directory/package-lock.json" "$target/package-lock.json" && [ -f "$target/.complete" ]; then
                say "npm: the pinned packages of $directory are in $target"
                return 0
        fi
        say "npm: installing the pinned packages of $directory into $target (without install scripts)"
        mkdir -p "$target" && rm -f "$target/.complete"
        cp "$directory/package.json" "$directory/package-lock.json" "$target/"
        npm --prefix "$target" ci --ignore-scripts --no-audit --no-fund --loglevel=error --omit-lockfile-registry-resolved=true </dev/null ||
                return 1
        : >"$target/.complete"
}
