"""python_test: a file of unittest cases, run with the pinned Python of the workspace.

    load("//tools:python_test.bzl", "python_test")

    python_test(
        name = "shapes_test",
        main = "shapes_test.py",
        srcs = ["cases.py"],          # imported as `from tests.shapes import cases`
        data = ["//driver:headrace"],
        size = "small",
        shard_count = 4,
    )

The test runs in its runfiles folder, which is also on Python's path: the workspace's files
have their usual relative paths there. Every case is reported by name; shards, --test_filter
and --test_arg work.
"""

load("@local_python//:defs.bzl", "HAVE_TORCH", "PYTHON")

def python_test(name, main, srcs = [], data = [], args = [], needs_torch = False, python = PYTHON, tags = [], **kwargs):
    """Declares the test.

    Args:
      name: the target's name.
      main: the file with the cases.
      srcs: other Python files it imports.
      data: other files it reads or runs.
      args: what the file finds in sys.argv[1:].
      needs_torch: skip where PyTorch is not installed (HEADRACE_WITH_TORCH=1 ./bazelw ...).
      python: another interpreter than the workspace's.
      tags: as everywhere; "nightly" for what takes minutes.
      **kwargs: size, timeout, shard_count, visibility, ...
    """
    native.sh_test(
        name = name,
        srcs = ["//tools:python_test.sh"],
        args = [python, "$(rootpath %s)" % main] + args,
        data = [main, "//tools:run_unittest.py"] + srcs + data,
        tags = tags + (["manual"] if needs_torch and not HAVE_TORCH else []),
        **kwargs
    )
