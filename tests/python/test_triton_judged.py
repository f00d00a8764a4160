"""Triton's kernels under the judge: warpmill.triton's use(judge=True) and check(), by the stand-in for Triton."""

import mmap
import pickle
import threading
import unittest
from contextlib import nullcontext

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

    def test_scratch_is_made_for_every_run(self):
        self.virtual.use("virtual:sm_90a", judge=True, modes=("friendly", "adversarial"), seeds=2)
        out = np.zeros(1, np.int32)
        with self.assertRaisesRegex(self.virtual.Flawed, "uninitialised-read"):
            self.launch("before_me", ("*i32",), (Tensor(out),), global_scratch_size=4)
        self.assertNotEqual(out[0], 7)  # what the run before has written there

    def test_modes_may_be_anything_that_is_iterated(self):
        self.virtual.use("virtual:sm_90a", judge=True, modes=(mode for mode in ("friendly", "adversarial")))
        counter, out = np.zeros(1, np.int32), np.zeros(8, np.int32)
        for launches in (1, 2):
            self.ticket(counter, out)
            self.assertEqual(counter[0], 4 * launches)
        modes = (mode for mode in ("friendly",))
        self.assertEqual(self.virtual.check(self.ticket, np.zeros(1, np.int32), out, modes=modes).runs, 1)

    def test_errors_go_to_other_processes(self):
        self.virtual.use("virtual:sm_90a", judge=True)
        x = Tensor(np.zeros(8, np.float32))
        with self.assertRaises(self.virtual.Flawed) as caught:
            self.add(x, x, 9)
        error = caught.exception
        there = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(there), there.kernel, there.report), (str(error), "add", error.report))

    def ticket(self, counter, out):
        self.launch("ticket", ("*i32", "*i32"), (Tensor(counter), Tensor(out)), grid=(4, 1, 1))


class Checks(WithStandIn):
    def setUp(self):
        super().setUp()
        self.x, self.y = np.zeros(8, np.float32), np.ones(8, np.float32)

    def wrong(self):
        self.add(Tensor(self.x), Tensor(self.y), 9)

    def right(self):
        self.add(Tensor(self.x), Tensor(self.y), 8)

    def test_a_report_instead_of_an_exception(self):
        with self.assertRaisesRegex(ValueError, "call warpmill.triton.use"):
            self.virtual.check(print)
        for judge in (False, True):
            self.virtual.use("virtual:sm_90a", judge=judge)
            report = self.virtual.check(self.wrong)
            self.assertFalse(report.clean)
            self.assertEqual((report.findings[0].name, report.runs), ("out-of-bounds", 7))
            self.assertTrue(str(report).startswith("add: error[out-of-bounds]: "), report)
            self.assertEqual({finding.kernel for finding in report.findings}, {"add"})
        with self.assertRaises(self.virtual.Flawed):  # judged by itself again
            self.wrong()
        with self.assertRaisesRegex(ValueError, "nothing was launched on virtual:sm_90a"):
            self.virtual.check(lambda: self.launch("add", ("*fp32", "*fp32", "i32"), (None, None, 1), grid=(0, 1, 1)))

    def test_the_function_is_called_once_and_every_run_begins_with_the_same_memory(self):
        self.virtual.use("virtual:sm_90a")
        counter, out, calls = np.zeros(1, np.int32), np.zeros(8, np.int32), []

        def tickets(times):
            calls.append(times)
            for _ in range(times):
                self.launch("ticket", ("*i32", "*i32"), (Tensor(counter), Tensor(out)), grid=(4, 1, 1))
        report = self.virtual.check(tickets, 2)
        self.assertTrue(report.clean, report)
        self.assertEqual((report.runs, calls, counter[0]), (14, [2], 8))
        self.assertEqual([sorted(part) for part in (out[:4], out[4:])], [[1, 2, 3, 4]] * 2)

    def test_every_launch_counts(self):
        self.virtual.use("virtual:sm_90a")

        def launches():
            self.wrong()
            self.launch("all_write", ("*fp32",), (Tensor(self.x),), warps=2)
            self.wrong()
            self.right()
        report = self.virtual.check(launches, modes=("friendly",))
        once = self.virtual.check(self.wrong, modes=("friendly",))
        self.assertEqual([(each.kernel, each.name) for each in report.findings if each.severity == "error"],
                         [("add", "out-of-bounds"), ("add", "out-of-bounds"), ("all_write", "global-race")])  # read, written
        self.assertEqual(report.findings[0].count, 2 * once.findings[0].count)
        self.assertEqual(report.runs, 4)
        self.assertGreater(report.instructions, 3 * once.instructions)
        self.assertIn("3 errors, ", str(report))

        def warned_and_wrong():
            self.launch("reads_nothing", ("*fp32",), (Tensor(np.zeros(1024, np.float32)),))
            self.wrong()
        severities = [each.severity for each in self.virtual.check(warned_and_wrong, modes=("friendly",)).findings]
        self.assertEqual(severities[:3], ["error", "error", "warning"])

    def test_other_threads_are_judged_as_ever(self):
        self.virtual.use("virtual:sm_90a", judge=True)
        caught = []

        def other():
            try:
                self.launch("all_write", ("*fp32",), (Tensor(self.x),), warps=2)
            except self.virtual.Flawed as error:
                caught.append(error)

        def launches():
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            self.right()
        self.assertTrue(self.virtual.check(launches, modes=("friendly",)).clean)
        self.assertEqual([error.kernel for error in caught], ["all_write"])

    def test_what_is_asked_of_the_judge(self):
        self.virtual.use("virtual:sm_90a")
        reads = ("reads_nothing", ("*fp32",), (Tensor(np.zeros(1024, np.float32)),))
        with self.assertNoLogs("warpmill") if hasattr(self, "assertNoLogs") else nullcontext():
            report = self.virtual.check(self.launch, *reads)
        self.assertEqual(report.findings[0].severity, "warning")
        self.assertFalse(self.virtual.check(self.launch, *reads, strict=True).clean)
        self.assertEqual(self.virtual.check(self.right, modes=("random",), seeds=5).runs, 5)
        self.assertFalse(self.virtual.check(self.right, max_instructions=1).clean)


if __name__ == "__main__":
    unittest.main()
