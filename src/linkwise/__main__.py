"""`python -m linkwise`, the same as `linkwise`."""

import sys

from .cli import main

sys.exit(main())
