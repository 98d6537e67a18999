"""Install a wheel into a clean environment of some Python, with the pinned versions, and use it away from the sources.

python packaging/try_wheel.py python3.13 dist/coaltree-0.1.0-py3-none-any.whl
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
USE = "import coaltree; [getattr(coaltree, name) for name in coaltree.__all__]; print(coaltree.__file__)"


def main(python: str, wheel: str) -> None:
    """Make the environment, print what it weighs, and run commands that a first user runs."""
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder, "environment", "Scripts" if sys.platform == "win32" else "bin", "python")

        def run(*command: object) -> None:
            subprocess.run([str(part) for part in command], check=True, cwd=folder)

        began = time.perf_counter()
        # pip of this environment installs into the new one: some Pythons are shipped without any
        run(python, "-m", "venv", "--without-pip", new.parents[1])
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", new, "install", "--quiet"]
        run(*pip, "--only-binary=:all:", "--constraint", ROOT / "constraints.txt", Path(wheel).resolve())
        size = sum(path.stat().st_size for path in new.parents[1].rglob("*") if path.is_file()) / 1e6
        print(
            f"{python}: installed {Path(wheel).name} in {time.perf_counter() - began:.0f} s, {size:.0f} MB", flush=True
        )
        run(new, "-m", "coaltree", "--version")
        run(new, "-m", "coaltree", "simulate", "--n", 12, "--d", 3, "--seed", 1, "--out", "simulated")
        run(new, "-m", "coaltree", "fit", "simulated/data.csv", "--samples", 10, "--warmup", 5, "--out", "tree")
        run(new, "-c", USE)
        print(f"{python}: it works", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
