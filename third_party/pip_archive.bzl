"""pip_archive: one package of the Python index, pinned by sha256, unpacked as a repository.

pip itself fetches it, so mirrors, proxies and certificates are those of the user's pip.
"""

_EXTRACT = """
import ast, glob, os, sys, zipfile
strip, keep = sys.argv[1], ast.literal_eval(sys.argv[2])
(wheel,) = glob.glob("download/*.whl")
with zipfile.ZipFile(wheel) as z:
    for name in z.namelist():
        path = name[len(strip):] if name.startswith(strip) else name
        if path.endswith("/") or (keep and not path.startswith(tuple(keep))):
            continue
        if path.startswith("/") or ".." in path.split("/"):
            sys.exit("unsafe path " + name)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as out:
            out.write(z.read(name))
"""

def _python_with_pip(ctx):
    """The chosen Python if it has pip, else any that has."""
    tried = []
    for python in [ctx.os.environ.get("PYTHON_BIN_PATH"), ctx.which("python3"), "/usr/bin/python3"]:
        if not python:
            continue
        if ctx.execute([python, "-m", "pip", "--version"]).return_code == 0:
            return python
        tried.append(str(python))
    fail("@{}: no Python with pip (tried {}); use ./bazelw, or set PYTHON_BIN_PATH".format(
        ctx.name,
        ", ".join(tried) or "none",
    ))

def _pip_archive_impl(ctx):
    python = _python_with_pip(ctx)
    ctx.file("requirements.txt", "%s --hash=sha256:%s\n" % (ctx.attr.requirement, ctx.attr.sha256))
    command = [
        python,
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "download",
        "--no-deps",
        "--require-hashes",
        "--only-binary=:all:",
        "--requirement=requirements.txt",
        "--dest=download",
    ]

    # Naming these makes the choice of file independent of the Python that runs pip.
    if ctx.attr.python_version:
        command += [
            "--implementation=cp",
            "--python-version=" + ctx.attr.python_version,
            "--abi=" + ctx.attr.abi,
        ]
    if ctx.attr.platform:
        command.append("--platform=" + ctx.attr.platform)

    result = ctx.execute(command, timeout = 1200)
    if result.return_code != 0 and ctx.attr.optional:
        print("@{}: pip could not fetch {}: what needs it is left out".format(ctx.name, ctx.attr.requirement))
        ctx.file("BUILD.bazel", "")
        ctx.file("have.bzl", "HAVE = 0\n")
        return
    if result.return_code != 0:
        fail("@{}: pip could not fetch {}:\n{}{}".format(
            ctx.name,
            ctx.attr.requirement,
            result.stdout,
            result.stderr,
        ))
    result = ctx.execute([python, "-c", _EXTRACT, ctx.attr.strip_prefix, repr(ctx.attr.keep)])
    if result.return_code != 0:
        fail("@{}: could not unpack {}: {}".format(ctx.name, ctx.attr.requirement, result.stderr))
    ctx.delete("download")
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")
    if ctx.attr.optional:
        ctx.file("have.bzl", "HAVE = 1\n")

# PYTHON_BIN_PATH is not in `environ`: the hash fixes the content whichever Python fetches it.
pip_archive = repository_rule(
    implementation = _pip_archive_impl,
    attrs = {
        "abi": attr.string(default = "none"),
        "build_file": attr.label(allow_single_file = True, mandatory = True),
        "optional": attr.bool(doc = "where it can't be had the repository is empty: @NAME//:have.bzl has HAVE = 0 or 1"),
        "keep": attr.string_list(doc = "unpack only paths with these prefixes"),
        "platform": attr.string(),
        "python_version": attr.string(),
        "requirement": attr.string(mandatory = True),
        "sha256": attr.string(mandatory = True),
        "strip_prefix": attr.string(doc = "removed from the paths that begin with it"),
    },
)
