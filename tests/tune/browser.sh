#!/usr/bin/env bash
# A report opens in headless Chromium without a message on its console; skipped (77) where there is no Chromium.
# Usage: browser.sh LIFTC SOURCE FOLDER
set -euo pipefail
liftc=$1 source=$2 work=$3
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo "skipped: no Chromium (Debian: apt-get install chromium)"
  exit 77
}
rm -rf "$work" && mkdir -p "$work"
"$liftc" tune "$source/examples/matmul_tiled.lift" --size n=16 --size m=16 --size k=8 --points 8 --device emulator \
  --db "$work/tune.db" --report "$work/report.html" --quiet > /dev/null
chrome() {
  HOME=$work timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
    --user-data-dir="$work/profile" --enable-logging=stderr --window-size=1200,1600 "$@" "file://$work/report.html"
}
chrome --dump-dom > "$work/dom.html" 2> "$work/log"
grep -c '<svg' "$work/dom.html"
! grep CONSOLE "$work/log"
chrome --screenshot="$work/report.png" > /dev/null 2>&1
test "$(stat -c %s "$work/report.png")" -gt 20000
# Were there a message, it would be seen.
echo '<script>console.error("seen")</script>' >> "$work/report.html"
chrome --dump-dom > /dev/null 2> "$work/log"
grep -q 'CONSOLE.*seen' "$work/log"
