#!/usr/bin/env bash
# onnxruntime.sh [COMMAND…]: runs a command, liftc or a test, that finds ONNX Runtime (`liftc bench --peers onnxruntime`).
# Nothing is installed: the package of PyPI goes into the folder that LIFTC_RUNTIMES names (/opt/liftc-runtimes).
set -euo pipefail
folder=${LIFTC_RUNTIMES:-/opt/liftc-runtimes}/onnxruntime
library() { find "$folder" -name 'libonnxruntime.so*' -print -quit 2>/dev/null; }
if [[ -z $(library) ]]; then
  echo "onnxruntime: into $folder" >&2
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --no-deps onnxruntime
fi
export LIFTC_ONNXRUNTIME=$(library)
(($# == 0)) || exec "$@"
