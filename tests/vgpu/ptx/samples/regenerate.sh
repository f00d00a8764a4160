#!/bin/sh
# Compiles the samples again. Needs nvcc and clang; the tests need neither.
# The work is done in a folder of its own, because line tables and debug sections hold the working directory.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=/tmp/samples
mkdir -p "$work"
cp "$here"/*.cu "$here"/*.cl "$work"
cd "$work"

compile() {  # source, architecture, name of the variant, flags
  source=$1 arch=$2 variant=$3
  shift 3
  nvcc -ptx -std=c++20 -jtd 40 -arch="$arch" "$@" "$source.cu" -o "$source.$arch$variant.ptx"
  sed -i -E 's|"[^"]*/targets/[^"]*/include/|"include/|; s|"/[^"]*/include/cccl/|"include/|; s|"/tmp/samples/|"samples/|' "$source.$arch$variant.ptx"
  cp "$source.$arch$variant.ptx" "$here"
}
compile features sm_80 ""
compile features sm_90a .lineinfo -lineinfo
compile features sm_90a .debug -G
compile groups sm_90a ""
compile groups sm_80 .lineinfo -lineinfo
compile hopper sm_90a .lineinfo -lineinfo
clang --target=nvptx64-nvidia-cuda -x cl -cl-std=CL2.0 -O2 -S -Xclang -target-cpu -Xclang sm_80 \
  -Xclang -target-feature -Xclang +ptx75 plain.cl -o plain.sm_80.clang.ptx
cp plain.sm_80.clang.ptx "$here"
