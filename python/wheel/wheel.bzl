"""wheel: a wheel of the package, as make_wheel.py writes it."""

load("@local_python//:defs.bzl", "PYTHON")

# What is linked into our libraries and came from the Python index: {name of its licences: their target}.
_LICENCES = {
    "highs": "@highs//:licence",
    "nanobind": "@nanobind//:licence",
    "onnx": "@onnx//:licence",
}

def wheel(name, version, tag, files, missing = ""):
    """Declares headrace-VERSION-TAG-manylinux_2_35_x86_64.whl.

    Args:
      name: the target's name.
      version: of the package.
      tag: of Python and ABI, "cp311-cp311".
      files: {label: path in the wheel}.
      missing: what this machine lacks for it: then the target fails and says so, and no pattern builds it.
    """
    out = "headrace-%s-%s-manylinux_2_35_x86_64.whl" % (version, tag)
    if missing:
        native.genrule(
            name = name,
            outs = [out],
            cmd = "echo '//python:%s takes the headers of Python 3.11 and of one that is newer. Missing: %s' >&2; exit 1" % (name, missing),
            tags = ["manual"],
            visibility = ["//:python_users"],
        )
        return
    licences = " ".join(["--licence %s $(locations %s)" % item for item in _LICENCES.items()])
    native.genrule(
        name = name,
        srcs = files.keys() + _LICENCES.values() + ["README.md"],
        outs = [out],
        cmd = " ".join([
            PYTHON,
            "-B $(location //python/wheel:make_wheel.py) --out $(RULEDIR) --version %s --tag %s" % (version, tag),
            "--script $(location //python/wheel:command.py) --readme $(location README.md)",
            licences,
            "--files",
        ] + ["%s=$(location %s)" % (path, label) for label, path in files.items()]),
        tools = [
            "//python/wheel:command.py",
            "//python/wheel:elf.py",
            "//python/wheel:licences.py",
            "//python/wheel:make_wheel.py",
        ],
        visibility = ["//:python_users"],
    )
