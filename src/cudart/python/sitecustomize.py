"""Python's first step under `warpmill run` and `warpmill check`: three packages are led to Warpmill as they are imported.

Another sitecustomize, of the user's, is run as if this one were not there.
"""

import importlib.machinery
import os
import sys
import tempfile


def lead_runtime(module):
    """cuda-python has NVIDIA's static runtime inside, without names by which anybody could find its functions. But its
    modules find each other's by name, in a table of capsules: the innermost one's is written anew before another reads it.
    """
    import ctypes

    own = ctypes.CDLL("libcudart.so.13")  # Warpmill's, which is loaded first of all
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_void_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    suffixes = ("_ptds", "_ptsz", "") if module.__name__.endswith("_ptds") else ("",)
    functions = getattr(module, "__pyx_capi__", {})
    for name, capsule in list(functions.items()):
        for suffix in suffixes:
            function = getattr(own, name.lstrip("_") + suffix, None)
            if function is not None:
                # The capsule's name is the signature; its text stays where it is.
                address = ctypes.cast(function, ctypes.c_void_p)
                functions[name] = api.PyCapsule_New(address, api.PyCapsule_GetName(capsule), None)
                break


def keep_ptx(module):
    """CuTe DSL keeps PTX and machine code by the name of a kernel, which variants share: each gets a folder of its own."""
    apply = module.CompileOptions.apply_envar_settings

    def apply_and_keep(self, envar, function_name):
        apply(self, envar, function_name)
        folder = tempfile.mkdtemp(dir=os.environ["CUTE_DSL_DUMP_DIR"])
        for kind, whole in ((module.KeepPTX, "full_ptx_path"), (module.KeepCUBIN, "full_cubin_path")):
            option = self.options[kind]
            if hasattr(option, whole):  # older versions have the other path alone
                setattr(option, whole, os.path.join(folder, os.path.basename(getattr(option, whole))))
            option.dump_path = os.path.join(folder, os.path.basename(option.dump_path))

    module.CompileOptions.apply_envar_settings = apply_and_keep


def fold_nothing(module):
    """torch.compile would compute constants on the device, by PyTorch's own kernels, which are machine code alone."""
    module.joint_graph_constant_folding = False


AS_THEY_COME = {
    "cuda.bindings._internal.runtime": lead_runtime,
    "cuda.bindings._internal.runtime_ptds": lead_runtime,
    "cutlass.base_dsl.compiler": keep_ptx,
    "torch._inductor.config": fold_nothing,
}


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        change = AS_THEY_COME.get(name)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if change else None
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_change(module):
                load(module)
                try:
                    change(module)
                except Exception as error:  # of another version: it is as it is
                    print(f"warpmill: {name} is not as it was expected: {error!r}", file=sys.stderr)

            spec.loader.exec_module = load_and_change
        return spec


def run_the_next():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]
    own = sys.modules.pop(__name__, None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules[__name__] = own


sys.meta_path.insert(0, Finder)
run_the_next()
