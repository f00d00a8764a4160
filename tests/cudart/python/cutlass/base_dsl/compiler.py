"""What is looked at of CuTe DSL's options: where PTX and machine code go, which a caller may say too."""


class KeepPTX:
    dump_path = "/nowhere/kernel"
    full_ptx_path = "/nowhere/kernel.sm_90a.ptx"


class KeepCUBIN:
    dump_path = "/nowhere/kernel"
    full_cubin_path = "/nowhere/kernel.sm_90a.cubin"


class CompileOptions:
    def __init__(self):
        self.options = {KeepPTX: KeepPTX(), KeepCUBIN: KeepCUBIN()}

    def apply_envar_settings(self, envar, function_name):
        self.applied = (envar, function_name)
