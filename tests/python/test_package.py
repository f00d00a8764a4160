"""The package as installed: its program, its documentation, its version, the notebook."""

import doctest
import importlib
import importlib.metadata
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import numpy as np
import warpmill as wm
from warpmill import _library

ROOT = Path(os.environ["WARPMILL_TEST_ROOT"])


class Package(unittest.TestCase):
    def test_it_needs_numpy_and_nvrtc_and_no_compiler(self):
        requirements = importlib.metadata.requires("warpmill")
        self.assertEqual([each for each in requirements if "extra" not in each],
                         ["numpy", "nvidia-cuda-nvrtc==13.0.*"])
        self.assertEqual(importlib.metadata.version("warpmill"), wm.__version__)
        self.assertIsNone(shutil.which("cc") or shutil.which("nvcc"))
        self.assertNotIn("torch", sys.modules)

    def test_nothing_in_it_names_the_folder_it_was_built_in(self):
        files = [file for file in Path(wm.__file__).parent.rglob("*") if file.is_file() and file.suffix != ".pyc"]
        self.assertGreater(len(files), 10)
        for file in files:
            self.assertNotIn(str(ROOT).encode(), file.read_bytes(), file.name)

    def test_the_program_comes_along(self):
        for command in ([sys.executable, "-m", "warpmill"], ["warpmill"]):
            program = subprocess.run(command + ["gemm", "64x64x64", "--device", "virtual"], capture_output=True, text=True)
            self.assertEqual(program.returncode, 0, program.stderr)
            self.assertIn("64", program.stdout)

    def test_the_program_runs_and_judges_cuda_programs(self):
        for command, status, words in (("run", 0, "it ran"), ("check", 1, "global-race")):
            program = subprocess.run([sys.executable, "-m", "warpmill", command, sys.executable,
                                      str(ROOT / "tests/python/cuda_program.py")], capture_output=True, text=True)
            self.assertEqual(program.returncode, status, program.stderr)
            self.assertIn(words, program.stdout + program.stderr)

    def test_python_programs_that_it_starts_are_led(self):
        asked = "import sitecustomize, sys; print(sitecustomize.Finder in sys.meta_path)"
        program = subprocess.run([sys.executable, "-m", "warpmill", "run", "--", sys.executable, "-c", asked],
                                 capture_output=True, text=True)
        self.assertEqual(program.stdout, "True\n", program.stderr)

    def test_a_library_of_another_version_is_refused_in_words(self):
        path = os.path.join(os.path.dirname(_library.__file__), "libwarpmill.so.0.1")
        with self.assertRaisesRegex(ImportError, "version 0.1.0 and this package of version 9.9.9"):
            _library.open_library(path, "9.9.9")
        with self.assertRaisesRegex(ImportError, "is not the library of this package"):
            _library.open_library("libm.so.6")
        with self.assertRaisesRegex(ImportError, "install the package again"):
            _library.open_library("/nowhere/libwarpmill.so")

    def test_every_function_has_an_example_that_runs(self):
        modules = [importlib.import_module(f"warpmill.{each.name}") for each in pkgutil.iter_modules(wm.__path__)
                   if each.name not in ("torch", "triton", "__main__")]
        for module in modules:
            outcome = doctest.testmod(module, extraglobs={"wm": wm, "np": np}, optionflags=doctest.ELLIPSIS)
            self.assertEqual(outcome.failed, 0, module.__name__)
        finder = doctest.DocTestFinder(recurse=False)
        for name in ("matmul", "attention", "Kernel", "TensorMap", "check", "plan", "Device", "devices"):
            (found,) = finder.find(getattr(wm, name), name, globs={})
            self.assertTrue(found.examples, f"{name} shows no example")

    def test_the_notebook_runs(self):
        notebook = json.loads((ROOT / "examples/notebook.ipynb").read_text())
        cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertGreater(len(cells), 3)
        space = {"__name__": "notebook"}
        for number, cell in enumerate(cells):
            exec(compile(cell, f"cell {number + 1}", "exec"), space)
        self.assertFalse(space["report"].clean)
        self.assertTrue(space["repaired"].clean)


if __name__ == "__main__":
    unittest.main()
