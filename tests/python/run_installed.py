"""Packs the wheel from what was built, installs it into a fresh virtual environment with no compiler in its PATH, and runs
the tests there.

    run_installed.py BUILD_FOLDER WORK_FOLDER [with_triton]

with_triton: the tests in that folder, with Triton as scripts/setup --triton took it from PyPI.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MOST_BYTES = 15_000_000


def main(build: Path, work: Path, folder: str = "") -> int:
    shutil.rmtree(work, ignore_errors=True)
    subprocess.run([sys.executable, ROOT / "python/pack_wheel.py", build, work], check=True)
    (wheel,) = work.glob("*.whl")
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size} bytes")
    if size >= MOST_BYTES:
        sys.exit(f"the wheel has {size} bytes; it must stay below {MOST_BYTES}")

    # Its dependencies are those that scripts/setup took from PyPI once: numpy and ml_dtypes by a path file, NVRTC where
    # its wheel would lie.
    environment = work / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", python, "install",
                    "--no-index", "--no-deps", wheel], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    dependencies = [build / "python-packages"] + ([build / "triton"] if folder == "with_triton" else [])
    (packages / "dependencies.pth").write_text("".join(f"{each}\n" for each in dependencies))
    (packages / "nvidia").symlink_to(build / "cuda-wheels" / "nvidia")

    inside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    inside.update(PATH=str(environment / "bin"), WARPMILL_TEST_ROOT=str(ROOT),
                  TRITON_CACHE_DIR=str(work / "triton-cache"))
    for compiler in ("cc", "gcc", "g++", "clang", "nvcc"):
        if shutil.which(compiler, path=inside["PATH"]):
            sys.exit(f"there is a {compiler} in the environment's PATH")
    return subprocess.run([python, "-m", "unittest", "discover", "-s", HERE / folder, "-p", "test_*.py"], env=inside,
                          cwd=work).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), *sys.argv[3:]))
