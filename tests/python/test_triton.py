"""warpmill.triton where no Triton is installed: what its driver makes of launches, by a stand-in for Triton that keeps
PTX of ours under the names of its kernels. tests/python/with_triton has the same with Triton itself."""

import importlib
import sys
import threading
import unittest
from types import SimpleNamespace
from unittest.mock import patch

import ml_dtypes
import numpy as np
from triton_stand_in import Tensor, WithStandIn, stand_in


class Launches(WithStandIn):
    def test_tensors_are_read_and_written_where_they_lie(self):
        self.virtual.use("virtual:sm_90a")
        x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
        self.add(Tensor(x), self.virtual.pointer(y), 7)
        self.assertEqual(x.tolist(), [1, 2, 3, 4, 5, 6, 7, 7])
        self.add(Tensor(x[4:]), Tensor(x[:4]), 4)  # of one storage
        self.assertEqual(x.tolist(), [1, 2, 3, 4, 6, 8, 10, 11])

    def test_arrays_of_any_strides_are_taken_where_they_lie_read_only_ones_too(self):
        self.virtual.use("virtual:sm_90a")
        numbers = np.arange(64, dtype=np.float32).reshape(8, 8)
        backwards = np.ndarray((4, 4), np.float32, numbers.tobytes(), 60, (-16, -4))  # its own owner
        self.assertNotIsInstance(backwards.base, np.ndarray)
        for x in (numbers[:4, :4], np.asfortranarray(numbers[:4, :4]), numbers.T[:4, 2:6], numbers[::2, 1::2],
                  numbers[6:2:-1, ::-2], np.broadcast_to(numbers[0, :4], (4, 4)), backwards):
            for writeable in (True, False)[not x.flags.writeable:]:
                x.flags.writeable = writeable
                given, out = self.virtual.pointer(x), np.full((4, 4), np.nan, np.float32)
                self.launch("copy_of", ("*fp32", "*fp32", "i32", "i32"),
                            (self.virtual.pointer(out), given, given.stride(0), given.stride(1)))
                np.testing.assert_array_equal(out, x)

    def test_a_view_brings_its_owner_and_nothing_around_it(self):
        self.virtual.use("virtual:sm_90a")
        x = np.arange(12, dtype=np.float32)
        one = np.ones(16, np.float32)
        self.add(self.virtual.pointer(x[2:8][:3]), Tensor(one), 10)
        self.assertEqual(x.tolist(), [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        rows = np.ndarray((2, 2), np.float32, bytearray(64), 8, (32, 4))  # 8 bytes at 8, and at 40
        for array, n, bytes in ((x[2:], 11, 48), (rows, 11, 40), (rows[::-1, ::-1], 2, 40)):
            with self.assertRaisesRegex(RuntimeError, f"are 0 bytes past the end of `a` of {bytes} bytes"):
                self.add(self.virtual.pointer(array), Tensor(one), n)
        nothing = self.virtual.pointer(np.zeros(0, np.float32))
        self.add(nothing, Tensor(one), 0)
        with self.assertRaises(RuntimeError):
            self.add(nothing, Tensor(one), 1)

    def test_memory_of_two_tensors_is_lent_once(self):
        self.virtual.use("virtual:sm_90a")
        whole = bytearray(64)
        x, inside, half, other = (self.virtual.pointer(np.frombuffer(whole, np.float32, count, offset))
                                  for offset, count in ((0, 16), (16, 4), (0, 8), (32, 8)))  # each is its own owner
        self.add(x, inside, 12)
        with self.assertRaisesRegex(RuntimeError, "past the end of `a` of 64 bytes"):
            self.add(x, inside, 13)
        with self.assertRaisesRegex(RuntimeError, "past the end of `b` of 32 bytes"):  # beside `a`, and not a part of it
            self.add(half, other, 9)

    def test_memory_for_reading_is_not_written_whoever_lends_it(self):
        held = bytes(range(64))
        (self.folder / "numbers").write_bytes(held)
        mapped = np.memmap(self.folder / "numbers", np.float32, "r")  # a store there would end the process
        why = "lends for reading cannot be written: 4 bytes at 0x[0-9a-f]+ lie at offset 0 of `{}` of 64 bytes"
        for x in (np.frombuffer(held, np.float32), mapped):
            description = SimpleNamespace(base=self.virtual.pointer(x), shape=[4], strides=[2], padding="zero")
            launches = (("a", lambda: self.add(self.virtual.pointer(x), self.virtual.pointer(x), 16)),
                        ("a", lambda: self.launch("described", ("tensordesc<fp32[4]>",), (description,))),
                        ("reachable 0", lambda: self.launch("add_one_at", ("u64",), (x.ctypes.data,))))
            for name, launch in launches:
                with self.virtual.reachable(*[x] * (name == "reachable 0")):
                    self.virtual.use("virtual:sm_90a")
                    with self.assertRaisesRegex(RuntimeError, why.format(name)):
                        launch()
                    self.virtual.use("virtual:sm_90a", judge=True, modes=("friendly", "adversarial"))
                    with self.assertRaisesRegex(self.virtual.Flawed, why.format(name)) as caught:
                        launch()
                    (finding,) = caught.exception.report.findings
                    self.assertEqual(finding.name, "out-of-bounds")
                    self.assertIn("not for reading only", finding.help)
            self.assertEqual(x.tobytes(), held)
        self.assertEqual(held, bytes(range(64)))

    def test_a_view_for_reading_forbids_no_other_view_to_be_written(self):
        self.virtual.use("virtual:sm_90a", judge=True)
        x = np.ones(8, np.float32)
        view = x[:4]
        view.flags.writeable = False
        for first, second in ((x, view), (view, x)):
            self.add(self.virtual.pointer(first), self.virtual.pointer(second), 4)
        self.assertEqual(x.tolist(), [4] * 4 + [1] * 4)

    def test_descriptors_of_addresses_bring_shape_and_strides(self):
        self.virtual.use("virtual:sm_90a")
        x = np.zeros(8, np.float32)
        given = SimpleNamespace(base=Tensor(x), shape=[4], strides=[2], padding="zero")
        self.launch("described", ("tensordesc<fp32[4]>",), (given,))
        self.assertEqual(x.tolist(), [1, 0] * 4)

    def test_a_missing_tensor_is_the_null_pointer(self):
        self.virtual.use("virtual:sm_90a")
        x = np.zeros(8, np.float32)
        self.add(Tensor(x), None, 0)
        with self.assertRaisesRegex(RuntimeError, "4 bytes at 0x0 is the null pointer"):
            self.add(Tensor(x), None, 1)

    def test_a_launcher_is_made_once(self):
        self.virtual.use("virtual:sm_90a")
        x, y = np.zeros(8, np.float32), np.ones(8, np.float32)
        add = self.compiled("add", ("*fp32", "*fp32", "i32"))
        for _ in range(3):
            add((1, 1, 1), Tensor(x), Tensor(y), 8)
        self.assertEqual((x.tolist(), add.launchers), ([3] * 8, 1))

    def test_hooks_are_called_around_a_launch(self):
        self.virtual.use("virtual:sm_90a")
        x, y, seen = np.zeros(8, np.float32), np.ones(8, np.float32), []
        hooks = {when: lambda launch, when=when: seen.append((when, launch, x[0])) for when in ("enter", "leave")}
        add = self.compiled("add", ("*fp32", "*fp32", "i32"))
        add((1, 0, 1), Tensor(x), Tensor(y), 8, **hooks)  # no blocks, no launch
        self.assertEqual(seen, [])
        add((1, 1, 1), Tensor(x), Tensor(y), 8, **hooks)
        self.assertEqual(seen, [("enter", "add", 0), ("leave", "add", 1)])

    def test_what_no_kernel_can_take_is_refused(self):
        self.virtual.use("virtual:sm_90a")
        x = np.zeros(8, np.float32)
        address = SimpleNamespace(data_ptr=lambda: x.ctypes.data)
        for wrong, error, words in ((Tensor(x, "cuda"), ValueError, "`a` is on cuda; .*take tensors on the CPU"),
                                    (address, TypeError, "`a` is a SimpleNamespace .* not say how much memory"),
                                    ("x", TypeError, "`a` is a str and no tensor")):
            with self.assertRaisesRegex(error, words):
                self.add(wrong, Tensor(x), 8)
        with self.assertRaisesRegex(TypeError, "pointer.. takes a numpy array, and this is a list"):
            self.virtual.pointer([1.0])
        with self.assertRaisesRegex(RuntimeError, "Triton's cache has no PTX of absent"):
            self.launch("absent", (), ())
        with self.assertRaisesRegex(NotImplementedError, "nothing to measure"):
            self.modules["triton.runtime"].driver.active.get_device_interface()

    def test_memory_is_given_back_after_a_failure(self):
        self.virtual.use("virtual:sm_90a")
        x, y = np.zeros(8, np.float32), np.zeros(4, np.float32)
        for _ in range(2):
            with self.assertRaisesRegex(RuntimeError, "are 0 bytes past the end of `b` of 16 bytes"):
                self.add(Tensor(x), Tensor(y), 8)
        self.add(Tensor(x), Tensor(x), 8)

    def test_addresses_found_elsewhere_are_named(self):
        self.virtual.use("virtual:sm_90a")
        x, both = np.zeros(4, np.float32), np.ones(8, np.float32)
        both.flags.writeable = False  # it is where it lies all the same
        with self.virtual.reachable(both):
            self.launch("add", ("*fp32", "u64", "i32"), (Tensor(x), both.ctypes.data, 4))
            with self.virtual.reachable(Tensor(x)), self.assertRaisesRegex(TypeError, "`reachable 1` is a list"):
                with self.virtual.reachable(x, []):
                    self.fail("it must not come so far")
            other = threading.Thread(target=lambda: self.assertRaises(RuntimeError, self.launch, "add", (
                "*fp32", "u64", "i32"), (Tensor(x), both.ctypes.data, 4)))  # it has named nothing
            other.start()
            other.join()
        self.assertEqual(x.tolist(), [1] * 4)
        with self.virtual.reachable(x), self.virtual.reachable(Tensor(np.zeros(1))):
            self.launch("add_one_at", ("u64",), (x.ctypes.data,))
        self.assertEqual(x.tolist(), [2, 1, 1, 1])
        with self.assertRaisesRegex(RuntimeError, r"lie in no allocation(.|\n)*reachable\(\)"):
            self.launch("add", ("*fp32", "u64", "i32"), (Tensor(x), both.ctypes.data, 4))

    def test_numbers_as_the_kernel_takes_them(self):
        self.virtual.use("virtual:sm_90a")
        out = np.full(10, np.nan)
        half, brain = int(np.float16(1.7).view(np.uint16)), int(np.float32(1.7).view(np.uint32)) >> 16  # Triton cuts off
        self.assertNotEqual(brain, int(np.array(1.7, ml_dtypes.bfloat16).view(np.uint16)))
        self.launch("numbers", ("*fp64", "i1", "i16", "i64", ("u64", "constexpr", "fp32"), "fp64", "fp16", "bf16"),
                    (Tensor(out), True, -3, -(1 << 40), ((1 << 64) - 2048, 9, 0.5), 0.1, 1.7, 1.7))
        self.assertEqual(out.tolist(), [1, -3, -(1 << 40), (1 << 64) - 2048, 0.5, 0.1, half, brain, 0, 0])
        self.launch("numbers", ("*fp64", "i8", "i16", "i64", "u64", "fp32", "fp64", "fp16", "bf16"),
                    (Tensor(out), -1, 0, 0, 0, 1e40, -1e308, 0, 1e40))
        self.assertEqual(out.tolist(), [-1, 0, 0, 0, np.inf, -1e308, 0, 0x7F80, 0, 0])

    def test_scratch_for_every_block(self):
        self.virtual.use("virtual:sm_90a")
        out = np.full(6, np.nan)
        self.launch("scratch", ("*fp64",), (Tensor(out),), grid=(2, 3, 1), global_scratch_size=16)
        self.assertEqual(out.tolist(), [10, 11, 12, 13, 14, 15])
        self.launch("scratch", ("*fp64",), (Tensor(out),), grid=(0, 3, 1), global_scratch_size=16)  # no blocks: no launch

    def test_scratch_for_profiles(self):
        self.virtual.use("virtual:sm_90a")
        out = np.full(3, np.nan)
        self.launch("profiled", ("*fp64",), (Tensor(out),), grid=(3, 1, 1), profile_scratch_size=8)
        self.assertEqual(out.tolist(), [5] * 3)

    def test_descriptors_become_tensor_maps(self):
        self.virtual.use("virtual:sm_90a")
        how = {"swizzle": 0, "elem_size": 4, "elem_type": 7, "block_size": [8, 8], "fp4_padded": False, "is_im2col": False}
        x, out = np.arange(10 * 12, dtype=np.float32).reshape(10, 12), np.full(66, np.nan, np.float32)
        described = SimpleNamespace(base=Tensor(x), shape=x.shape, strides=(12, 1), padding="zero")
        self.launch("corner", ("*fp32", "tensordesc<fp32[8, 8]>"), (Tensor(out), described), tensordesc_meta=[how])
        wanted = np.zeros((8, 8), np.float32)
        wanted[:4, :4] = x[-4:, -4:]
        np.testing.assert_array_equal(out[:64].reshape(8, 8), wanted)
        self.assertEqual(out[64:].tolist(), [12, 1])
        described.padding = "nan"
        self.launch("corner", ("*fp32", "tensordesc<fp32[8, 8]>"), (Tensor(out), described), tensordesc_meta=[how])
        self.assertEqual(int(np.isnan(out[:64]).sum()), 48)
        described.strides = (13, 1)
        with self.assertRaisesRegex(ValueError, "stride"):
            self.launch("corner", ("*fp32", "tensordesc<fp32[8, 8]>"), (Tensor(out), described), tensordesc_meta=[how])


class Pointers(WithStandIn):
    """What Triton asks of tensors besides their addresses."""

    def test_strides_are_those_of_elements(self):
        x = self.virtual.pointer(np.zeros((4, 6), np.float16)[:, ::2])
        self.assertEqual((x.stride(), x.stride(0), x.stride(-1), x.element_size()), ((6, 2), 6, 2, 2))
        members = np.zeros(4, [("number", np.float64), ("flag", np.float32)])["number"]
        with self.assertRaisesRegex(ValueError, "no multiples of its elements of 8; give the kernel a copy"):
            self.virtual.pointer(members).stride()

    def test_the_autotuner_resets_and_restores_them(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        x = self.virtual.pointer(array.T)
        kept = x.clone()  # triton.autotune(restore_value=...)
        self.assertEqual(kept.stride(), x.stride())
        x.zero_()  # and reset_to_zero
        self.assertFalse(array.any())
        x.copy_(kept)
        self.assertEqual(array.tolist(), [[0, 1, 2], [3, 4, 5]])
        array.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "read-only"):
            self.virtual.pointer(array).zero_()

    def test_they_are_given_another_type(self):
        class Wrapper:  # what triton.reinterpret makes
            def __init__(self, base, dtype):
                self.dtype, self.base, self.data, self.device, self.shape = dtype, base, base.data, base.device, base.shape

            def data_ptr(self):
                return self.base.data_ptr()
        self.virtual.use("virtual:sm_90a")
        x = np.zeros(8, np.int32)
        y = np.ones(8, np.float32)
        self.add(Wrapper(self.virtual.pointer(x), "fp32"), Wrapper(Tensor(y), "fp32"), 8)
        self.assertEqual(x.view(np.float32).tolist(), [1] * 8)


class Devices(WithStandIn):
    def test_modes_devices_and_versions_that_are_none(self):
        for modes in (("friendlier",), ()):
            with self.assertRaisesRegex(ValueError, "is no mode; there are friendly"):
                self.virtual.use(modes=modes)
            self.virtual.use()
            with self.assertRaisesRegex(ValueError, "is no mode; there are friendly"):
                self.virtual.check(print, modes=modes)
        with self.assertRaisesRegex(NotImplementedError, "there is no virtual sm_70"):
            self.virtual.use("virtual:sm_70")
        with patch.dict(sys.modules, stand_in(self.folder, "3.4.1")):
            del sys.modules["warpmill.triton"]
            with self.assertRaisesRegex(ImportError, "3.5 and newer, and this is 3.4.1"):
                importlib.import_module("warpmill.triton")
            sys.modules["warpmill.triton"] = self.virtual

    def test_each_device_has_a_number_and_properties_of_its_own(self):
        active = self.modules["triton.runtime"].driver
        seen = {}
        for name, capability in (("sm_80", 80), ("sm_90a", 90), ("sm_120a", 120), ("sm_80", 80)):
            self.virtual.use(f"virtual:{name}:sms=3")
            driver = active.active
            self.assertEqual(driver.get_current_target(), ("cuda", capability, 32))
            self.assertEqual(driver.get_device_properties(driver.index)["multiprocessor_count"], 3)
            self.assertEqual(seen.setdefault(name, driver.index), driver.index)
            with self.assertRaisesRegex(ValueError, "use.. takes another one"):
                driver.set_current_device(0)
        self.assertEqual(len(set(seen.values())), 3)


if __name__ == "__main__":
    unittest.main()
