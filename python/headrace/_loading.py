"""Loads the C++ below with flags of its own: what it is linked to serves it alone, even where another package has told Python to
load extensions with RTLD_GLOBAL."""

import importlib
import os
import sys

_flags = sys.getdlopenflags()
sys.setdlopenflags(os.RTLD_NOW | os.RTLD_LOCAL)
try:
    importlib.import_module("._core", __package__)
except ModuleNotFoundError as error:
    _folder = os.path.dirname(__file__)
    _found = sorted(n for n in os.listdir(_folder) if n.startswith("_core") and n.endswith(".so"))
    raise ImportError(f"this copy of headrace has {', '.join(_found) or 'no extension module'}, and Python "
                      f"{sys.version_info[0]}.{sys.version_info[1]} needs one of its own: install the wheel made for it") from error
finally:
    sys.setdlopenflags(_flags)
