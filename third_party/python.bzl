"""python_config: the Python that tests run and extensions are built for.

It is $PYTHON_BIN_PATH (bazelw sets it), else python3 on PATH. @local_python//:defs.bzl has

    PYTHON           path of the interpreter
    PY_TAG           wheel tag, for example "cp311"
    PLATFORM         wheel platform, for example "linux_x86_64"
    EXT_SUFFIX       of extension modules, for example ".cpython-311-x86_64-linux-gnu.so"
    HAVE_TORCH       whether this Python has torch; if so also
    TORCH_VERSION and TORCH_LIB, the folder of its libraries
"""

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

def _python_config_impl(ctx):
    python = ctx.os.environ.get("PYTHON_BIN_PATH") or ctx.which("python3")
    if not python:
        fail("@{}: no python3 on PATH; use ./bazelw, or set PYTHON_BIN_PATH".format(ctx.name))
    result = ctx.execute([python, "-c", _PROBE], timeout = 300)
    if result.return_code != 0:
        fail("@{}: {} could not describe itself:\n{}".format(ctx.name, python, result.stderr))
    found = json.decode(result.stdout.strip())
    ctx.symlink(found["include"], "include")
    if found["HAVE_TORCH"]:
        ctx.symlink(found["torch"] + "/include", "torch_include")
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
    environ = [
        "PATH",
        "PYTHON_BIN_PATH",
    ],
    attrs = {"build_file": attr.label(allow_single_file = True, mandatory = True)},
)
