"""The licences of what a wheel holds besides our own code, found where the libraries themselves come from."""

from __future__ import annotations

import os
import re
import subprocess

# Libraries that are compiled into ours, by their names in WORKSPACE: the Debian package whose licence is theirs.
COMPILED_IN = {
    "cli11": "libcli11-dev",
    "com_google_absl": "libabsl-dev",
    "eigen": "libeigen3-dev",
    "kissfft": "libkissfft-dev",
    "nlohmann_json": "nlohmann-json3-dev",
    "xxhash": "libxxhash-dev",
}
# Shared objects of the system that lie in the wheel, by their names in WORKSPACE: what the files' names begin with.
BUNDLED = {
    "com_google_protobuf": "protobuf",
    "isl": "isl",
    "libjpeg": "jpeg",
    "libpng": "png",
    "libsodium": "sodium",
    "libtiff": "tiff",
    "libwebp": "webp",
    "mimalloc": "mimalloc",
    "minizip": "minizip",
    "openjp2": "openjp2",
    "re2": "re2",
}
# From the Python index; their own wheels have the texts.
FROM_THE_INDEX = ("highs", "nanobind", "onnx")
# Nothing of these is in the wheel: tests, benchmarks and Bazel's own needs.
NOT_IN_THE_WHEEL = ("beside_packages", "com_github_google_benchmark", "com_google_googletest", "local_python", "mypy_packages",
                    "onednn", "onednn_lib", "python_packages", "remote_coverage_tools", "rules_cc", "rules_java", "xnnpack")


def package_of(path: str) -> str:
    """The Debian package that a file of the system belongs to."""
    real = os.path.realpath(path)
    # dpkg knows a file by the folder it was packed in, which may be a link today: /lib is /usr/lib.
    for name in dict.fromkeys((path, real, re.sub(r"^/usr/", "/", real), "/usr" + path)):
        done = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0].split(",")[0].strip()
    raise SystemExit(f"make_wheel: no Debian package has {path}, so nothing tells its licence")


def text_of(package: str) -> bytes:
    path = f"/usr/share/doc/{package}/copyright"
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        raise SystemExit(f"make_wheel: {path} is missing: the wheel must hold the licence of what it holds") from None


def licences(bundled: dict[str, str], given: dict[str, list[str]]) -> dict[str, bytes]:
    """{path below licenses/: text}. `bundled`: {name in the wheel: path on this machine} of the system's libraries; `given`: {name:
    files with the licences of a library}."""
    texts = {f"{name}/copyright": text_of(package_of(path)) for name, path in bundled.items()}
    texts.update({f"{name}/copyright": text_of(package) for name, package in COMPILED_IN.items()})
    for name, files in given.items():
        for path in files:
            with open(path, "rb") as f:
                texts[f"{name}/{os.path.basename(path)}"] = f.read()
    return texts
