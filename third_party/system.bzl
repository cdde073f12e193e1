"""system_lib: headers and libraries of the machine as a Bazel repository."""

_INCLUDE_ROOTS = [
    "/usr/include",
    "/usr/include/x86_64-linux-gnu",
    "/usr/include/aarch64-linux-gnu",
    "/usr/local/include",
]

_LIBRARY_FOLDERS = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
]

def _find_include_root(ctx):
    for root in _INCLUDE_ROOTS:
        if ctx.path(root + "/" + ctx.attr.include[0]).exists:
            return root
    if ctx.attr.optional:
        return None
    fail("@{}: no header {} in {}. On Debian: apt-get install {} (./bazelw does it)".format(
        ctx.name,
        ctx.attr.include[0],
        " or ".join(_INCLUDE_ROOTS),
        ctx.attr.package,
    ))

def _libraries(ctx):
    """Names for -l of all shared libraries with the prefix, from the first folder with any."""
    for folder in _LIBRARY_FOLDERS:
        path = ctx.path(folder)
        if not path.exists:
            continue
        names = [f.basename for f in path.readdir()]
        found = [
            n[len("lib"):-len(".so")]
            for n in names
            if n.startswith(ctx.attr.lib_prefix) and n.endswith(".so")
        ]
        if found:
            return sorted(found)
    return []

def _system_lib_impl(ctx):
    if ctx.attr.include:
        root = _find_include_root(ctx)
        if ctx.attr.optional:
            have = root and not (ctx.attr.without and ctx.attr.without in ctx.read(root + "/" + ctx.attr.include[0]))
            ctx.file("have.bzl", "HAVE = %d\n" % (1 if have else 0))
            if not have:
                print("@{}: no {} of the version that is known here: what needs it is left out".format(ctx.name, ctx.attr.package))
                ctx.file("BUILD.bazel", "")
                return
        for name in ctx.attr.include:
            ctx.symlink(root + "/" + name, "include/" + name)
    libs = _libraries(ctx) if ctx.attr.lib_prefix else []
    ctx.file("libs.bzl", "LIBS = %r\n" % libs)
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")

system_lib = repository_rule(
    implementation = _system_lib_impl,
    local = True,
    attrs = {
        "build_file": attr.label(allow_single_file = True, mandatory = True),
        "include": attr.string_list(
            doc = "headers or folders of headers below /usr/include; none: the library is linked where the machine has it",
        ),
        "lib_prefix": attr.string(
            doc = "put the libraries with this prefix into LIBS of libs.bzl, " +
                  "for families whose members change with each release",
        ),
        "optional": attr.bool(doc = "where it is missing the repository is empty: @NAME//:have.bzl has HAVE = 0 or 1"),
        "without": attr.string(doc = "optional: a first header with this text is another version's, and as if missing"),
        "package": attr.string(doc = "Debian package, for the error message"),
    },
)
