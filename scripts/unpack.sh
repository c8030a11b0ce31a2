#!/usr/bin/env bash
# unpack.sh FOLDER RELEASE PACKAGE…: unpacks Debian packages into FOLDER without installing them, so that no driver is
# registered for anybody else: of the release "installed", what of the packages and their dependencies this system lacks,
# of another (trixie), them and all their dependencies. Does nothing when the folder is complete.
set -euo pipefail
folder=$(realpath -m "$1") release=$2
shift 2
[[ ! -e $folder/.complete ]] || exit 0
echo "unpack: ${*} into $folder" >&2
mkdir -p "$folder"/apt/{lists/partial,archives/partial}
apt=(apt-get --quiet=2 -o DPkg::Lock::Timeout=600 -o Debug::NoLocking=1 -o APT::Sandbox::User=root
  -o Dir::Cache::archives="$folder/apt/archives" -o APT::Install-Recommends=0)
if [[ $release != installed ]]; then
  # A state of its own: the first of the system's sources, of that release, with nothing installed.
  uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
  : >"$folder/apt/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $release main" >"$folder/apt/sources.list"
  apt+=(-o Dir::State="$folder/apt" -o Dir::State::status="$folder/apt/status" -o Dir::State::Lists="$folder/apt/lists"
    -o Dir::Cache="$folder/apt" -o Dir::Etc::sourcelist="$folder/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::Etc::preferencesparts=/dev/null)
  "${apt[@]}" update >&2
fi
"${apt[@]}" install --download-only --yes "$@" >&2
for package in "$folder"/apt/archives/*.deb; do dpkg-deb -x "$package" "$folder"; done
if [[ -d $folder/lib ]]; then  # some packages do not know that /lib is /usr/lib
  cp -a "$folder"/lib/. "$folder/usr/lib"
  rm -r "$folder/lib"
fi
rm -r "$folder/apt"
touch "$folder/.complete"
