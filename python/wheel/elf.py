"""Edits of shared objects (ELF, 64 bits, little endian) that keep every byte in its place: names that grow no longer, search
paths that are a part of the old ones, symbols that become hidden. Libraries in a wheel need them, so that they neither meet nor
replace libraries of the same name in other packages of the process."""

from __future__ import annotations

import struct
from typing import Callable, Iterator

_NULL, _NEEDED, _SONAME, _RPATH, _RUNPATH, _VERNEED, _VERNEEDNUM = 0, 1, 14, 15, 29, 0x6FFFFFFE, 0x6FFFFFFF
_HIDDEN = 2  # STV_HIDDEN: the loader neither offers such a symbol to others nor looks for another one of its name
_UNDEFINED = 0
_LOCAL = 0


class Elf:
    """A shared object or executable in memory; `bytes(elf.data)` has the edits."""

    def __init__(self, data: bytes):
        self.data = bytearray(data)
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not an ELF file of 64 bits, little endian")
        self._sections = dict(self._read_sections())
        self._strings, self._strings_size = self._sections[".dynstr"]
        at, size = self._sections[".dynamic"]
        self._dynamic = []  # (offset of the entry, tag, value)
        for entry in range(at, at + size, 16):
            tag, value = struct.unpack_from("<qQ", self.data, entry)
            if tag == _NULL:
                break
            self._dynamic.append((entry, tag, value))

    def _read_sections(self) -> Iterator[tuple[str, tuple[int, int]]]:
        table, = struct.unpack_from("<Q", self.data, 0x28)
        entry_size, count, names = struct.unpack_from("<HHH", self.data, 0x3A)
        headers = [struct.unpack_from("<IIQQQQ", self.data, table + k * entry_size) for k in range(count)]
        for name, _, _, _, offset, size in headers:
            start = headers[names][4] + name
            yield self.data[start:self.data.index(0, start)].decode(), (offset, size)

    def _string(self, offset: int) -> str:
        start = self._strings + offset
        return self.data[start:self.data.index(0, start)].decode()

    def _values(self, tag: int) -> list[str]:
        return [self._string(value) for _, t, value in self._dynamic if t == tag]

    @property
    def needed(self) -> list[str]:
        """Names of the libraries that it is linked to."""
        return self._values(_NEEDED)

    @property
    def soname(self) -> str:
        return next(iter(self._values(_SONAME)), "")

    @property
    def search_path(self) -> str:
        return next(iter(self._values(_RPATH) + self._values(_RUNPATH)), "")

    def _library_names(self) -> set[int]:
        """Offsets of strings that name libraries: what is needed, this one's name, whose versions of symbols are needed."""
        offsets = {value for _, tag, value in self._dynamic if tag in (_NEEDED, _SONAME)}
        count = next((value for _, tag, value in self._dynamic if tag == _VERNEEDNUM), 0)
        at = self._sections.get(".gnu.version_r", (0, 0))[0]
        for _ in range(count):
            _, _, file, _, following = struct.unpack_from("<HHIII", self.data, at)
            offsets.add(file)
            at += following
        return offsets

    def rename_libraries(self, names: dict[str, str]) -> None:
        """{old: new}, of the same length."""
        for offset in self._library_names():
            old = self._string(offset)
            if old in names:
                new = names[old].encode()
                if len(new) != len(old):
                    raise ValueError(f"{old}: a new name has as many letters, unlike {names[old]}")
                self.data[self._strings + offset:self._strings + offset + len(new)] = new

    def search_only(self, path: str) -> None:
        """Shortens the search path to its last part, which must be `path`, and makes it one that also serves the libraries
        which are needed in turn (DT_RPATH, not DT_RUNPATH). What has none keeps none: that of its user serves it."""
        for entry, tag, value in self._dynamic:
            if tag not in (_RPATH, _RUNPATH):
                continue
            whole = self._string(value)
            if whole != path and not whole.endswith(":" + path):
                raise ValueError(f"the search path {whole} does not end in {path}")
            struct.pack_into("<qQ", self.data, entry, _RPATH, value + len(whole) - len(path))

    def _symbols(self) -> Iterator[tuple[int, str, int, int]]:
        at, size = self._sections[".dynsym"]
        for entry in range(at + 24, at + size, 24):
            name, info, other, section = struct.unpack_from("<IBBH", self.data, entry)
            if section != _UNDEFINED and info >> 4 != _LOCAL:
                yield entry, self._string(name), other, section

    def hide(self, kept: Callable[[str], bool]) -> None:
        """Hides every symbol that it defines, but those whose (mangled) names are `kept`."""
        for entry, name, other, _ in self._symbols():
            if not kept(name):
                self.data[entry + 5] = other & ~3 | _HIDDEN

    def exported(self) -> list[str]:
        """Symbols that others can find."""
        return [name for _, name, other, _ in self._symbols() if other & 3 != _HIDDEN]

    def versions_needed(self) -> set[str]:
        """Versions of symbols, such as GLIBC_2.34, that libraries must have."""
        found = set()
        count = next((value for _, tag, value in self._dynamic if tag == _VERNEEDNUM), 0)
        at = self._sections.get(".gnu.version_r", (0, 0))[0]
        for _ in range(count):
            _, several, _, first, following = struct.unpack_from("<HHIII", self.data, at)
            version = at + first
            for _ in range(several):
                _, _, _, name, after = struct.unpack_from("<IHHII", self.data, version)
                found.add(self._string(name))
                version += after
            at += following
        return found
