"""Annotations of programs: headrace.float64[N, 3], headrace.symbol("N")."""

from __future__ import annotations

import numpy as np

from .sizes import Size, is_size

# NumPy's types and the notation's.
IR_NAMES = {
    np.dtype(t): name
    for t, name in ((np.bool_, "bool"), (np.int8, "i8"), (np.int16, "i16"), (np.int32, "i32"), (np.int64, "i64"),
                    (np.uint8, "u8"), (np.uint16, "u16"), (np.uint32, "u32"), (np.uint64, "u64"), (np.float16, "f16"),
                    (np.float32, "f32"), (np.float64, "f64"), (np.complex64, "c64"), (np.complex128, "c128"))
}


class Type:
    """The type of an argument: an element type, and sizes where it is an array."""

    def __init__(self, dtype, shape: tuple = ()):
        self.dtype = np.dtype(dtype)
        self.shape = shape

    def __getitem__(self, shape: int | Size | tuple[int | Size, ...]) -> Type:
        shape = shape if isinstance(shape, tuple) else (shape,)
        for s in shape:
            if not is_size(s):
                raise TypeError(f"a size is an integer or made of headrace.symbol(…), not {s!r}")
            if isinstance(s, int) and s < 0:
                raise ValueError(f"a size is not negative: {s}")
        return Type(self.dtype, shape)

    def __call__(self, value):
        return self.dtype.type(value)

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"headrace.{self.dtype.name}" + (f"[{sizes}]" if self.shape else "")

    def __eq__(self, other) -> bool:
        return isinstance(other, Type) and (self.dtype, self.shape) == (other.dtype, other.shape)

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape))


class Cell(Type):
    """An array without dimensions: unlike a number of NumPy's of the same type it is changed by x += …"""

    def __eq__(self, other) -> bool:
        return isinstance(other, Cell) and super().__eq__(other)

    __hash__ = Type.__hash__


class Weak(Type):
    """A Python number: it takes the type of what it meets."""

    weak = True

    def __eq__(self, other) -> bool:
        return isinstance(other, Weak) and super().__eq__(other)

    __hash__ = Type.__hash__


def symbol(name: str) -> Size:
    """A size named `name`, for annotations; every call binds it from its arguments' shapes."""
    if not name.isidentifier():
        raise ValueError(f"{name!r} is no name for a size")
    return Size(name)


TYPES = {dtype.name: Type(dtype) for dtype in IR_NAMES}
