"""Triton's kernels under the judge: warpmill.triton's use(judge=True) and check(), by the stand-in for Triton."""

import mmap
import unittest

import numpy as np
from triton_stand_in import Tensor, WithStandIn


class Judged(WithStandIn):
    def test_an_error_raises_and_every_run_begins_with_the_same_memory(self):
        self.virtual.use("virtual:sm_90a", judge=True, modes=("friendly", "adversarial"), seeds=3)
        x, y = np.zeros(8, np.float32), np.ones(8, np.float32)
        self.launch("add", ("*fp32", "*fp32", "i32"), (Tensor(x), Tensor(y), 8))
        self.assertEqual(x.tolist(), [1] * 8)
        with self.assertRaisesRegex(self.virtual.Flawed, r"add:\n(.|\n)*error\[out-of-bounds\]") as caught:
            self.launch("add", ("*fp32", "*fp32", "i32"), (Tensor(x), Tensor(y), 9))
        self.assertFalse(caught.exception.report.clean)
        self.assertEqual(x.tolist(), [2] * 8)

    def test_memory_is_judged_wherever_it_lies(self):
        below_2_gb = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40)  # MAP_32BIT
        for x in (np.frombuffer(below_2_gb, np.float32), np.zeros(1024, np.float32)):
            self.virtual.use("virtual:sm_90a", judge=True)
            with self.assertRaisesRegex(self.virtual.Flawed, "global-race"):
                self.launch("all_write", ("*fp32",), (Tensor(x),), warps=2)
            x[:] = 0
            with self.assertLogs("warpmill", "WARNING") as logged:  # looked at twice, for what comes of it
                self.launch("reads_nothing", ("*fp32",), (Tensor(x),))
            self.assertIn("warning[uninitialised-read]", logged.output[0])
            self.assertEqual(x.tolist(), [1] * 32 + [0] * 992)

    def test_check_judges_what_a_function_launches(self):
        x, y = Tensor(np.zeros(8, np.float32)), Tensor(np.ones(8, np.float32))
        with self.assertRaisesRegex(ValueError, "call warpmill.triton.use"):
            self.virtual.check(print)
        for judge in (False, True):
            self.virtual.use("virtual:sm_90a", judge=judge)
            report = self.virtual.check(self.launch, "add", ("*fp32", "*fp32", "i32"), (x, y, 9), modes=("friendly",))
            self.assertIn("out-of-bounds", [finding.name for finding in report.findings])
        with self.assertRaises(self.virtual.Flawed):  # the judge is back
            self.launch("add", ("*fp32", "*fp32", "i32"), (x, y, 9))


if __name__ == "__main__":
    unittest.main()
