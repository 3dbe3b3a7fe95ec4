"""The public functions of robots and states, by their names."""

import linkwise as lw

OF_FUNCTIONS = ("api.derivatives", "api.packing")  # whose names take functions
MODULES = {module: names for module, names in lw.LAZY_IMPORTS.items() if module.startswith("api.")}
NAMES = sorted(name for module, names in MODULES.items() if module not in OF_FUNCTIONS for name in names)
