"""``python -m coaltree`` is the command ``coaltree``."""

from .cli import main

raise SystemExit(main())
