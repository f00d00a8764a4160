#!/usr/bin/env python3
"""Packs the wheel: the Python sources, the shared library, the quick way for torch, the program and what it hands to CUDA
programs, and the kernels compiled ahead, as they were built.

    python/pack_wheel.py BUILD_FOLDER WHEEL_FOLDER

It is also what `pip install .` calls (PEP 517), which lets make build first. One wheel serves every Python from 3.9 on.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "warpmill"
# What is built (a pattern: the libraries' folder has the system's name), and its name in the package.
BUILT = {
    "src/libwarpmill.so": "libwarpmill.so.0.1",
    "python/_fast.abi3.so": "_fast.abi3.so",
    "bin/warpmill": "warpmill-program",
    "lib*/**/warpmill/libcudart.so.13": "warpmill-runtime/libcudart.so.13",
    "lib*/**/warpmill/libcuda.so.1": "warpmill-runtime/libcuda.so.1",
}


def version() -> str:
    found = re.search(r"project\(warpmill VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    assert found, "CMakeLists.txt names no version"
    own = re.search(r'__version__ = "(\S+)"', (PACKAGE / "_library.py").read_text())
    if not own or own[1] != found[1]:
        sys.exit(f"pack_wheel: CMakeLists.txt is of version {found[1]} and python/warpmill/_library.py of "
                 f"{own[1] if own else 'none'}; they go together")
    return found[1]


def metadata() -> str:
    readme = (ROOT / "README.md").read_text()
    return f"""Metadata-Version: 2.1
Name: warpmill
Version: {version()}
Summary: Kernels for NVIDIA's tensor-core GPUs, and a virtual GPU that runs and judges them on a CPU
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
Requires-Dist: nvidia-cuda-nvrtc==13.0.*
Provides-Extra: small-floats
Requires-Dist: ml_dtypes; extra == "small-floats"
Description-Content-Type: text/markdown

{readme}"""


def stripped(file: Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / file.name
        subprocess.run(["strip", "--strip-unneeded", "-o", copy, file.resolve()], check=True)
        return copy.read_bytes()


def platform(binaries: "list[bytes]") -> str:
    """The oldest C library that all of them run with: manylinux's name for it."""
    minors = [int(minor) for binary in binaries for minor in re.findall(rb"GLIBC_2\.(\d+)\b", binary)]
    return f"manylinux_2_{max(minors)}_x86_64"


def pack(build: Path, folder: Path) -> str:
    built = {source: sorted(build.glob(source)) for source in BUILT}
    missing = [source for source, found in built.items() if not found]
    if missing:
        sys.exit(f"pack_wheel: {build} has no {', '.join(missing)}; `make wheel` builds them")
    files = {f"warpmill/{name}": stripped(built[source][0]) for source, name in BUILT.items()}
    tag = f"cp39-abi3-{platform(list(files.values()))}"
    for kernel in sorted(build.glob("share/warpmill/kernels/*.wmjit")):  # where they were compiled ahead
        files[f"warpmill/warpmill-kernels/{kernel.name}"] = kernel.read_bytes()
    first_of_programs = ROOT / "src" / "cudart" / "python" / "sitecustomize.py"
    files[f"warpmill/warpmill-runtime/python/{first_of_programs.name}"] = first_of_programs.read_bytes()
    for source in sorted(PACKAGE.iterdir()):
        if source.suffix in (".py", ".pyi") or source.name == "py.typed":
            files[f"warpmill/{source.name}"] = source.read_bytes()
    info = f"warpmill-{version()}.dist-info"
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: warpmill\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\nwarpmill = warpmill.__main__:main\n"
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}")
    files[f"{info}/RECORD"] = "\n".join(record + [f"{info}/RECORD,,", ""]).encode()
    name = f"warpmill-{version()}-{tag}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)  # of one date, so that equal files give equal wheels
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if path.endswith("warpmill-program") else 0o100644) << 16
            wheel.writestr(entry, data)
    return name


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    """For pip."""
    subprocess.run(["make", "-C", ROOT, "wheel", f"WHEELS={os.path.abspath(wheel_directory)}"], check=True)
    return max(Path(wheel_directory).glob("warpmill-*.whl"), key=os.path.getmtime).name


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(Path(sys.argv[2]) / pack(Path(sys.argv[1]), Path(sys.argv[2])))
