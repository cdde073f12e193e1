"""Writes a wheel: make_wheel.py --out FOLDER --version V --tag cp311-cp311 --script FILE --readme FILE [--licence NAME FILE…]…
--files NAME=FILE…

Every NAME of a file is its path in the wheel (headrace/lib/libheadrace.so). The libraries of the system that these need come with them as in
auditwheel's wheels: under names of their own, hr_z.so.1 for libz.so.1, so that two packages in one process do not share what they
did not agree on. The licences of all that is not ours lie in licenses/, by library (licences.py). The bytes depend on the contents alone."""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from elf import Elf  # noqa: E402
from licences import licences  # noqa: E402

# Of the compiler and of glibc: every machine has its own, and two in one process would not do.
OF_THE_MACHINE = re.compile(r"^(libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)\.so|^ld-linux")
# The newest versions of symbols that manylinux_2_35 allows.
NEWEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
PLATFORM = "manylinux_2_35_x86_64"

METADATA = """\
Metadata-Version: 2.4
Name: headrace
Version: {version}
Summary: A data-centric compiler for machine learning and array programs
Requires-Python: >=3.11
Requires-Dist: numpy>=2.0
Provides-Extra: torch
Requires-Dist: torch>=2.9; extra == "torch"
Provides-Extra: onnx
Requires-Dist: onnx>=1.17; extra == "onnx"
{licence_files}Description-Content-Type: text/markdown

{description}"""


def is_object(data: bytes) -> bool:
    return data[:4] == b"\x7fELF"


def system_libraries(paths: list[str], own: set[str]) -> dict[str, str]:
    """{soname: path} of what these need beside each other and the machine's own."""
    listing = subprocess.run(["ldd", *paths], capture_output=True, text=True, check=True).stdout
    found, missing = {}, set()
    for name, path in re.findall(r"^\s*(\S+) => (/\S+|not found)", listing, re.M):
        if name in own or OF_THE_MACHINE.match(name):
            continue
        if path == "not found":
            missing.add(name)
        else:
            found[name] = path
    if missing:
        raise SystemExit(f"make_wheel: not found on this machine: {', '.join(sorted(missing))}")
    return found


def new_name(library: str) -> str:
    if not library.startswith("lib"):
        raise SystemExit(f"make_wheel: {library} does not begin with lib")
    return "hr_" + library[3:]


def kept(mangled: str) -> bool:
    """Symbols that a library of ours exports: C functions, which programs find by name, and what is in the namespace headrace.
    Templates of the C++ library that were instantiated for our types are not: each library has its own."""
    if mangled.startswith("_Z"):
        return bool(re.match(r"_Z(T[ISVT]|GV|Z)*N?[VKRO]*8headrace", mangled))
    return not mangled.startswith("_")  # but what the linker adds: _edata, _end


def check_versions(name: str, elf: Elf) -> None:
    for version in elf.versions_needed():
        library, _, number = version.partition("_")
        if library in NEWEST and re.fullmatch(r"[\d.]+", number):
            if tuple(map(int, number.split("."))) > NEWEST[library]:
                raise SystemExit(f"make_wheel: {name} needs {version}, which {PLATFORM} does not promise")


def with_libraries(files: dict[str, bytes]) -> tuple[dict[str, bytes], dict[str, str]]:
    """The files, edited, and the libraries of the system; {name in the wheel: path on this machine} of the latter."""
    objects = [n for n, data in files.items() if is_object(data)]
    ours = {os.path.basename(n) for n in objects}
    with tempfile.TemporaryDirectory() as folder:  # laid out as they will be, for ldd
        placed = []
        for n in objects:
            path = os.path.join(folder, n)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as out:
                out.write(files[n])
            os.chmod(path, 0o755)
            placed.append(path)
        found = system_libraries(placed, ours)
    out = dict(files)
    foreign = {"libhighs.so"} & ours
    names = {n: new_name(n) for n in [*found, *foreign]}
    for soname, path in found.items():
        with open(path, "rb") as f:
            out[f"headrace/lib/{soname}"] = f.read()
    for n in sorted(k for k, data in out.items() if is_object(data)):
        elf = Elf(out.pop(n))
        check_versions(n, elf)
        elf.rename_libraries(names)
        base = os.path.basename(n)
        if base in foreign:
            elf.hide(lambda symbol: symbol.startswith("Highs_"))
        elif base not in found:
            elf.hide(kept)
        if base not in found:
            elf.search_only({"lib": "$ORIGIN", "plugins": "$ORIGIN/../lib"}.get(n.split("/")[1], "$ORIGIN/lib"))
        out[os.path.join(os.path.dirname(n), names.get(base, base))] = bytes(elf.data)
    return out, {names[soname]: path for soname, path in found.items()}


def entry_points(files: dict[str, bytes]) -> str:
    if "headrace/torch/backend.py" not in files:
        return ""
    return "[torch_dynamo_backends]\nheadrace = headrace.torch.backend:headrace\n"


def write(path: str, files: dict[str, bytes], executable: set[str], info: str) -> None:
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(files, key=lambda n: (n.startswith(info), n)):  # as the specification asks: its own folder last
            record.append(f"{name},sha256={_digest(files[name])},{len(files[name])}")
            _add(wheel, name, files[name], name in executable)
        record.append(f"{info}/RECORD,,")
        _add(wheel, f"{info}/RECORD", ("\n".join(record) + "\n").encode(), False)


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _add(wheel: zipfile.ZipFile, name: str, data: bytes, executable: bool) -> None:
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    wheel.writestr(entry, data)


def main() -> None:
    parser = argparse.ArgumentParser()
    for option in ("--out", "--tag", "--version", "--script", "--readme"):
        parser.add_argument(option, required=True)
    parser.add_argument("--licence", action="append", nargs="+", default=[], metavar=("NAME", "FILE"))
    parser.add_argument("--files", required=True, nargs="+", metavar="NAME=FILE")
    a = parser.parse_args()
    paths = dict(f.split("=", 1) for f in a.files)
    files = {}
    for name, path in paths.items():
        with open(path, "rb") as f:
            files[name] = f.read()
    version, = re.findall(r'^__version__ = "(.*)"$', files["headrace/__init__.py"].decode(), re.M)
    if version != a.version:
        raise SystemExit(f"make_wheel: python/BUILD says version {a.version}, headrace/__init__.py {version}")
    files, bundled = with_libraries(files)
    info = f"headrace-{version}.dist-info"
    texts = licences(bundled, {name: paths for name, *paths in a.licence})
    files.update({f"{info}/licenses/{name}": text for name, text in texts.items()})
    script = f"headrace-{version}.data/scripts/headrace"
    with open(a.script, "rb") as f:
        files[script] = f.read()
    listed = "".join(f"License-File: {name}\n" for name in sorted(texts))
    with open(a.readme, encoding="utf-8") as f:
        files[f"{info}/METADATA"] = METADATA.format(version=version, description=f.read(), licence_files=listed).encode()
    tag = f"{a.tag}-{PLATFORM}"
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: headrace\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/top_level.txt"] = b"headrace\n"
    points = entry_points(files)
    if points:
        files[f"{info}/entry_points.txt"] = points.encode()
    write(os.path.join(a.out, f"headrace-{version}-{tag}.whl"), files, {script, "headrace/headrace"}, info)


if __name__ == "__main__":
    main()
