"""On the path of a process, it loads the native module from ANYSHAPE_TEST_NATIVE.

So tests run on a runtime that was built in another way, with sanitizers, on the sources as they
are; processes that they start inherit it.
"""

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location


class NativeFinder(MetaPathFinder):
    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != "anyshape.runtime._native":
            return None
        return spec_from_file_location(fullname, os.environ["ANYSHAPE_TEST_NATIVE"])


sys.meta_path.insert(0, NativeFinder())
