"""python_config: the Python that tests run and extensions are built for. python_packages: other Pythons, with packages for tests.

It is $PYTHON_BIN_PATH (bazelw sets it), else python3 on PATH. @local_python//:defs.bzl has

    PYTHON           path of the interpreter
    PY_TAG           wheel tag, for example "cp311"
    PLATFORM         wheel platform, for example "linux_x86_64"
    EXT_SUFFIX       of extension modules, for example ".cpython-311-x86_64-linux-gnu.so"
    HAVE_TORCH       whether this Python has torch; if so also
    TORCH_VERSION and TORCH_LIB, the folder of its libraries
    ABIS             what else extensions can be built for, {"cp311": suffix, "abi3": ".abi3.so"}: where the headers of Python 3.11,
                     and of 3.12 or newer for the stable ABI, were found (@local_python//:headers_abi3)
    MISSING          what it takes to have both, "" if they are there

Other Pythons are $PYTHON_BIN_PATH_312 and so on, python3.12 on PATH, or those of pyenv and uv.
"""

VERSIONS = ["3.11", "3.12", "3.13", "3.14"]

_PROBE = """
import importlib.util, json, os, sys, sysconfig
d = {
    "include": sysconfig.get_paths()["include"],
    "PYTHON": sys.executable,
    "PY_TAG": "cp%d%d" % sys.version_info[:2],
    "PLATFORM": sysconfig.get_platform().replace("-", "_").replace(".", "_"),
    "EXT_SUFFIX": sysconfig.get_config_var("EXT_SUFFIX"),
    "HAVE_TORCH": False, "TORCH_VERSION": "", "TORCH_LIB": "",
}
spec = importlib.util.find_spec("torch")
if spec and spec.origin:
    root = os.path.dirname(spec.origin)
    version = {}
    with open(os.path.join(root, "version.py")) as f:
        exec(f.read(), version)
    d.update(torch=root, HAVE_TORCH=True, TORCH_VERSION=str(version["__version__"]),
             TORCH_LIB=os.path.join(root, "lib"))
print(json.dumps(d))
"""

_PROBE_OTHER = """
import json, os, sys, sysconfig
include = sysconfig.get_paths()["include"]
print(json.dumps({
    "version": "%d.%d" % sys.version_info[:2],
    "python": sys.executable,
    "include": include if os.path.exists(os.path.join(include, "Python.h")) else "",
    "suffix": sysconfig.get_config_var("EXT_SUFFIX"),
}))
"""

_ENVIRONMENT = [
    "HOME",
    "PATH",
    "PYENV_ROOT",
    "PYTHON_BIN_PATH",
] + ["PYTHON_BIN_PATH_" + v.replace(".", "") for v in VERSIONS]

def _configured(ctx):
    python = ctx.os.environ.get("PYTHON_BIN_PATH") or ctx.which("python3")
    if not python:
        fail("@{}: no python3 on PATH; use ./bazelw, or set PYTHON_BIN_PATH".format(ctx.name))
    return python

def _candidates(ctx, version):
    """Where a Python of this version may be."""
    name = "python" + version
    given = ctx.os.environ.get("PYTHON_BIN_PATH_" + version.replace(".", ""))
    if given:
        return [given]
    home = ctx.os.environ.get("HOME", "")
    folders = [
        (ctx.os.environ.get("PYENV_ROOT") or home + "/.pyenv", "versions", version + "."),
        (home + "/.local/share/uv", "python", "cpython-" + version + "."),
    ]
    found = [ctx.which(name)]
    for root, folder, prefix in folders:
        path = ctx.path(root + "/" + folder) if root.startswith("/") else None
        if path and path.exists:
            found += [p.get_child("bin").get_child(name) for p in path.readdir() if p.basename.startswith(prefix)]
    return [p for p in found if p and p.exists]

def _others(ctx):
    """{version: what it says of itself} of the Pythons that are there."""
    pythons = {}
    for version in VERSIONS:
        for python in _candidates(ctx, version):
            result = ctx.execute([python, "-c", _PROBE_OTHER], timeout = 60)
            found = json.decode(result.stdout.strip()) if result.return_code == 0 else {}
            if found.get("version") == version:
                pythons[version] = found
                break
    return pythons

def _abis(ctx, tag):
    """(ABIS, MISSING); links their headers."""
    headers = {v: p for v, p in _others(ctx).items() if p["include"]}
    abis, missing = {}, []
    if "3.11" in headers:
        abis["cp311"] = headers["3.11"]["suffix"]
        ctx.symlink(headers["3.11"]["include"], "include_cp311")
    elif tag != "cp311":
        missing.append("3.11 (PYTHON_BIN_PATH_311)")
    stable = [v for v in VERSIONS[1:] if v in headers]
    if stable:
        abis["abi3"] = ".abi3.so"
        ctx.symlink(headers[stable[0]]["include"], "include_abi3")
    else:
        missing.append("3.12 or newer (PYTHON_BIN_PATH_312, …)")
    return abis, " and ".join(missing)

def _python_config_impl(ctx):
    python = _configured(ctx)
    result = ctx.execute([python, "-c", _PROBE], timeout = 300)
    if result.return_code != 0:
        fail("@{}: {} could not describe itself:\n{}".format(ctx.name, python, result.stderr))
    found = json.decode(result.stdout.strip())
    ctx.symlink(found["include"], "include")
    if found["HAVE_TORCH"]:
        ctx.symlink(found["torch"] + "/include", "torch_include")
    found["ABIS"], found["MISSING"] = _abis(ctx, found["PY_TAG"])
    ctx.file("defs.bzl", "".join([
        "%s = %r\n" % (name, found[name])
        for name in sorted(found)
        if name.upper() == name
    ]))
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")

python_config = repository_rule(
    implementation = _python_config_impl,
    local = True,
    configure = True,
    environ = _ENVIRONMENT,
    attrs = {"build_file": attr.label(allow_single_file = True, mandatory = True)},
)

def _install(ctx, folder, more):
    """Why the packages of requirements.txt could not be installed there, "" if they are."""
    command = [_configured(ctx), "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps", "--only-binary=:all:"]
    result = ctx.execute(command + more + ["--requirement=requirements.txt", "--target=" + folder], timeout = 1200)
    if result.return_code == 0:
        return ""
    return "pip found no packages for it: " + (result.stderr.strip().splitlines() or [""])[-1]

def _python_packages_impl(ctx):
    lines = [line for line in ctx.read(ctx.attr.requirements).splitlines() if line and not line.startswith("#")]
    pinned = [line for line in lines if not ctx.attr.packages or line.split("==")[0] in ctx.attr.packages]
    ctx.file("requirements.txt", "\n".join(pinned) + "\n")
    found, left_out = {}, {}
    if ctx.attr.configured:
        wanted = ctx.attr.always or ctx.os.environ.get("HEADRACE_NIGHTLY")
        there = wanted and not _install(ctx, "packages", [])
        ctx.file("defs.bzl", "PACKAGES = %r\n" % (str(ctx.path("packages")) if there else ""))
        ctx.file("BUILD.bazel", "")
        return
    pythons = _others(ctx)
    for version in VERSIONS:
        if version in pythons:
            why = _install(ctx, version, ["--implementation=cp", "--python-version=" + version])
        else:
            why = "no Python {}: PYTHON_BIN_PATH_{}, or python{} on PATH".format(version, version.replace(".", ""), version)
        if why:
            left_out[version] = why
        else:
            found[version] = [pythons[version]["python"], str(ctx.path(version))]
    ctx.file("defs.bzl", "FOUND = %r\n" % found)
    ctx.file("machine.json", json.encode({"found": found, "left out": left_out}))
    ctx.file("BUILD.bazel", 'exports_files(["machine.json"])\n')

# Packages for tests, in folders for PYTHONPATH; fetched when a target first needs them. For other Pythons than the workspace's:
# defs.bzl has FOUND, {version: [interpreter, folder]}, and machine.json says also what was left out and why. With `configured`, for
# the workspace's own, and by --config=nightly alone, for they are large, unless `always`: PACKAGES, "" if they are not there.
python_packages = repository_rule(
    implementation = _python_packages_impl,
    environ = _ENVIRONMENT + ["HEADRACE_NIGHTLY"],
    attrs = {
        "always": attr.bool(doc = "with `configured`: not by --config=nightly alone"),
        "configured": attr.bool(),
        "packages": attr.string_list(doc = "names of those in `requirements` to install; none: all"),
        "requirements": attr.label(allow_single_file = True, mandatory = True),
    },
)
