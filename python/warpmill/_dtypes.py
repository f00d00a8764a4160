"""Element types under the names that numpy, ml_dtypes, torch and DLPack have for them."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

# Name in numpy, ml_dtypes and torch -> the library's number, bytes of an element. The numbers are wm_dtype's.
NUMBERS = {
    "uint8": 0, "int8": 1, "uint16": 2, "int16": 3, "uint32": 4, "int32": 5, "uint64": 6, "int64": 7,
    "float16": 8, "bfloat16": 9, "float32": 10, "float64": 12, "float8_e4m3fn": 13, "float8_e5m2": 14,
}
BYTES = {
    "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4, "uint64": 8, "int64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "float8_e4m3fn": 1, "float8_e5m2": 1,
}
# The library's own short names.
SHORT = {
    "u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16", "u32": "uint32", "i32": "int32", "u64": "uint64",
    "i64": "int64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
}
LONG = {long: short for short, long in SHORT.items()}
# DLPack's code and bits.
DLPACK = {
    (1, 8): "uint8", (0, 8): "int8", (1, 16): "uint16", (0, 16): "int16", (1, 32): "uint32", (0, 32): "int32",
    (1, 64): "uint64", (0, 64): "int64", (2, 16): "float16", (4, 16): "bfloat16", (2, 32): "float32",
    (2, 64): "float64", (10, 8): "float8_e4m3fn", (12, 8): "float8_e5m2",
}
DLPACK_CODES = {name: code for code, name in DLPACK.items()}


def name_of(dtype: Any) -> Optional[str]:
    """The name of anybody's dtype, or None where the library has no such type.

    >>> name_of("bf16"), name_of(np.float32), name_of("complex64")
    ('bfloat16', 'float32', None)
    """
    if isinstance(dtype, str):
        name = SHORT.get(dtype, dtype)
    else:
        name = str(dtype)
        if name.startswith("torch."):
            name = name[len("torch."):]
        elif name not in NUMBERS:  # a class, as np.float32 or ml_dtypes.bfloat16
            try:
                name = np.dtype(dtype).name
            except TypeError:
                return None
    return name if name in NUMBERS else None


def required(dtype: Any, what: str) -> str:
    """The name of a dtype; TypeError where the library has no such type."""
    name = name_of(dtype)
    if name is None:
        raise TypeError(f"{what} holds {dtype}, which Warpmill does not know; it knows {', '.join(NUMBERS)}")
    return name


def numpy_dtype(name: str) -> "np.dtype":
    """numpy's dtype of that name; the small floats are ml_dtypes'."""
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        try:
            import ml_dtypes
        except ImportError:
            raise RuntimeError(f"numpy has no {name} of its own; pip install ml_dtypes") from None
        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


