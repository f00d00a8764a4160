#!/bin/sh
# Compiles the programs again with nvcc of CUDA 13.0. The tests need only the .ptx files.
set -eu
cd "$(dirname "$0")"
for source in *.cu; do
  for arch in sm_80 sm_90a; do
    nvcc -ptx -std=c++20 -jtd 40 -arch="$arch" "$source" -o "${source%.cu}.$arch.ptx"
  done
done
