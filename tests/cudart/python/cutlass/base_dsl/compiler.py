"""What is looked at of CuTe DSL's options: where PTX goes, which a caller may say too."""


class KeepPTX:
    dump_path = "/nowhere/kernel"
    full_ptx_path = "/nowhere/kernel.sm_90a.ptx"


class CompileOptions:
    def __init__(self):
        self.options = {KeepPTX: KeepPTX()}

    def apply_envar_settings(self, envar, function_name):
        self.applied = (envar, function_name)
