#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# covers: packaging
# timeout: 900
# The Debian packages of packaging/make-deb: the same bytes each time, nothing that lintian complains of; installed, upgraded, removed and purged
# in a Debian 12 that has nothing else. The unit's exposure, as systemd counts it.
. "$(dirname "$0")/../e2e/lib.sh"
. "$zoo_root/tests/upstream/go-env.sh" # zoo_cache

make_deb() { "$zoo_root/packaging/make-deb" --build "$ZOO_BUILD" "$@"; }
check_status "what is no argument is told" 64 make_deb --bulid x
check_status "nor is any word a version" 64 make_deb --version '1;2'
require "packages are made" make_deb --out "$TMPDIR/one"
require "and once more" make_deb --out "$TMPDIR/two"
expect "two of them" "zooctl_* zood_*" "$(cd "$TMPDIR/one" && echo zooctl_*.deb zood_*.deb | sed 's/_[^ ]*/_*/g')"
check "byte for byte the same" diff -r "$TMPDIR/one" "$TMPDIR/two"
lintian=$(lintian --allow-root --fail-on error,warning "$TMPDIR"/one/*.deb 2>&1)
expect "lintian has no error and no warning" "0 " "$? $lintian"
expect "no file is anybody's but root's" "" "$(dpkg-deb -c "$TMPDIR"/one/zood_*.deb | grep -v ' root/root ')"
expect "zood.yaml is the administrator's" /etc/zood/zood.yaml "$(dpkg-deb -I "$TMPDIR"/one/zood_*.deb conffiles)"
expect_no_match "zooctl needs no database" sqlite "$(dpkg-deb -f "$TMPDIR"/one/zooctl_*.deb Depends)"

sed "s|/usr/bin/zood|$ZOO_BUILD/bin/zood|" "$zoo_root/packaging/systemd/zood.service" >"$TMPDIR/zood.service"
# The sandbox of charts has limits of its own to set: without setrlimit it would be 1.2.
check "the unit's exposure is 1.3 or less" systemd-analyze security --offline=yes --no-pager --threshold=13 "$TMPDIR/zood.service"
cat "$zoo_root"/packaging/systemd/zood-keeper{.service,-users.conf} | sed "s|/usr/bin/zood|$ZOO_BUILD/bin/zood|" >"$TMPDIR/zood-keeper.service"
check "that of a keeper that is root 3.8 or less" systemd-analyze security --offline=yes --no-pager --threshold=38 "$TMPDIR/zood-keeper.service"
# In no group of systemd 252's, from which the others come.
expect "the keeper may make fences" 3 "$(grep ^SystemCallFilter= "$TMPDIR/zood-keeper.service" | grep -ow 'landlock_[a-z_]*' | sort -u | grep -c .)"

# ---- in a Debian of its own ------------------------------------------------------------------------------------------

((EUID == 0)) && unshare --mount true 2>/dev/null || skip "needs root and a mount namespace, for a Debian to install into"
base=$zoo_cache/debian-12-minbase
mkdir -p "$zoo_cache"
(
  flock 9
  [[ -e $base.whole ]] && exit 0
  rm -rf "$base"
  debootstrap --variant=minbase --include=systemd,ca-certificates bookworm "$base" >"$TMPDIR/debootstrap.log" 2>&1 && touch "$base.whole"
) 9>"$base.lock" || { failed "a Debian is made" < <(tail "$TMPDIR/debootstrap.log"); exit 1; }
require "the next version is made" make_deb --out "$TMPDIR/next" --version 9.0
mkdir "$TMPDIR/debian"
cat >"$TMPDIR/inside.sh" <<'I'
set -u
mount -t tmpfs none "$1/debian"
mkdir "$1/debian/upper" "$1/debian/work" "$1/debian/root"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/debian/upper,workdir=$1/debian/work" "$1/debian/root" || exit 99
root=$1/debian/root
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir "$root/debs"
cp "$1"/one/*.deb "$1"/next/*.deb "$root/debs"
exec chroot "$root" /bin/bash /dev/stdin
I
debian() { # the commands on standard input, in a Debian of its own
  unshare --mount --pid --fork bash "$TMPDIR/inside.sh" "$TMPDIR" "$base" 2>&1
}
debian >"$TMPDIR/said" <<'D'
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
say() { echo "@$1: $2"; }
apt-get -q update >/dev/null 2>&1
old=$(ls /debs/zood_*.deb | grep -v _9.0) client=$(ls /debs/zooctl_*.deb | grep -v _9.0)
apt-get -qy install --no-install-recommends logrotate "$client" "$old" >/tmp/log 2>&1
say install "$?"
[[ -s /tmp/log ]] && tail -n 5 /tmp/log
say user "$(id -un zood) $(id -nG zood)"
say etc "$(stat -c '%a %U %G' /etc/zood)"
say programs "$(zood --version | head -n 1 | cut -d' ' -f1) $(zooctl version --client 2>/dev/null | head -n 1 | cut -c1-4)"
say enabled "$(systemctl is-enabled zood.service)"
say man "$(ls /usr/share/man/man8/zood.8.gz)"
printf '{}' >/etc/zood/upstream.kubeconfig
chown zood:zoo /etc/zood/upstream.kubeconfig
say configured "$(setpriv --reuid zood --regid zoo --init-groups zood --check-config --config /etc/zood/zood.yaml 2>&1 | grep -c 'zood.yaml:')"
logrotate -d /usr/share/doc/zood/examples/logrotate >/tmp/rotate 2>&1
say logrotate "$? $(grep -ci '^error' /tmp/rotate)"
echo '# mine' >>/etc/zood/zood.yaml
mkdir -p /var/lib/zood && touch /var/lib/zood/zood.db
dpkg -i /debs/*_9.0_*.deb >/tmp/log 2>&1
say upgrade "$? $(dpkg-query -W -f '${Version}' zood)"
say kept "$(tail -n 1 /etc/zood/zood.yaml)"
dpkg -r zood >/tmp/log 2>&1
say remove "$? $(test -e /usr/bin/zood && echo there) $(tail -n 1 /etc/zood/zood.yaml)"
dpkg -i /debs/zood_9.0_*.deb >/tmp/log 2>&1
say again "$? $(systemctl is-enabled zood.service)"
dpkg -P zood >/tmp/log 2>&1
say purge "$? $(test -e /etc/zood/zood.yaml && echo there) $(test -e /var/lib/zood/zood.db && echo kept) $(grep -c 'is kept' /tmp/log)"
rm -r /var/lib/zood /etc/zood/upstream.kubeconfig
dpkg -i /debs/zood_9.0_*.deb >/tmp/log 2>&1
mkdir -p /var/lib/zood
dpkg -P zood zooctl >/tmp/log 2>&1
say traces "$? $(ls -d /var/lib/zood /etc/zood /usr/share/doc/zood 2>/dev/null | wc -l) $(find /etc -name '*zood*' | wc -l)"
D
said() { sed -n "s/^@$1: //p" "$TMPDIR/said"; }
[[ $(said install) == 0 ]] || failed "they are installed" <"$TMPDIR/said"
expect "their user is made, of both groups" "zood zood zoo" "$(said user)"
expect "the configuration is theirs" "750 zood zoo" "$(said etc)"
expect "the programs run with what they depend on" "zood zoo" "$(said programs | cut -c1-8)"
expect "zood begins with the machine" enabled "$(said enabled)"
expect "there are manual pages" /usr/share/man/man8/zood.8.gz "$(said man)"
expect "the configuration is one that zood takes" 0 "$(said configured)"
expect "logrotate takes the example" "0 0" "$(said logrotate)"
expect "an upgrade" "0 9.0" "$(said upgrade)"
expect "leaves what was configured" "# mine" "$(said kept)"
expect "removed: the programs are gone, the configuration is not" "0  # mine" "$(said remove)"
expect "installed once more" "0 enabled" "$(said again)"
expect "purged: the state stays, and that is said" "0  kept 2" "$(said purge)"
expect "without any state nothing is left" "0 0 0" "$(said traces)"
