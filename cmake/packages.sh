# shellcheck shell=bash
# Sourced by ./run: the Debian packages of a purpose (packages.txt), which of them are missing, and how they get here.

packages_file="${BASH_SOURCE[0]%/*}/packages.txt"

# packages_of SECTION...: the lines of these sections
packages_of() {
    local section
    for section in "$@"; do
        awk -v want="[$section]" '/^\[/ { on = ($0 == want); next } on && NF && !/^#/' "$packages_file"
    done
}

# packages_missing SECTION...: what is needed and not here, one name per line
packages_missing() {
    local line package command
    for line in $(packages_of "$@"); do
        package=${line%%=*} command=${line#*=}
        if [[ $line == *=* ]] && command -v "$command" >/dev/null; then continue; fi
        case "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" in
            installed*) ;;
            *) echo "$package" ;;
        esac
    done
}

# packages_install NAME...: by apt, as root or through a sudo that asks no password
packages_install() {
    local sudo=() log=build/install.log as_root='su -c'
    if [[ $(id -u) != 0 ]]; then
        if command -v sudo >/dev/null; then as_root='sudo sh -c'; fi
        if ! sudo -n true 2>/dev/null; then
            echo "These Debian packages are missing; install them with this command, then run me again:" >&2
            echo "  $as_root 'apt-get update && apt-get install -y --no-install-recommends $*'" >&2
            return 1
        fi
        sudo=(sudo -n)
    fi
    mkdir -p build
    echo "Installing $# Debian package(s): $*"
    local options=(-q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
    if ! { "${sudo[@]}" apt-get "${options[@]}" update &&
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get "${options[@]}" install --no-install-recommends "$@"; } \
        </dev/null >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "apt-get failed; the whole log is in $log" >&2
        return 1
    fi
}

# packages_need SECTION...: install what is missing, or stop
packages_need() {
    local missing
    if ! command -v dpkg-query >/dev/null; then
        echo "Not a Debian system: I count on these being here: $(packages_of "$@" | sed 's/=.*//' | xargs)" >&2
        return 0
    fi
    missing=$(packages_missing "$@")
    # shellcheck disable=SC2086 # one word per package
    [[ -z $missing ]] || packages_install $missing
}
