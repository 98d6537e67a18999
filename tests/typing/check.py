"""Types as users see them, by basedpyright: how complete they are, and whether users' calls check.

`python -m tests.typing.check` prints the share of public names whose types are known (pyright's --verifytypes), fails
below 98 % with the names that lack one, and then reads user_calls.py.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from sysconfig import get_path

ENOUGH = 0.98
ROOT = Path(__file__).parents[2]


def basedpyright(*arguments):
    """Run it on this checkout with this interpreter's packages; return what it prints."""
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, *arguments]
    # Neither an editable install nor, in --verifytypes, submodules of other packages are found otherwise.
    search_path = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), get_path("purelib")])}
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=search_path)


def completeness():
    """The share of public symbols with known types, and a line for each of the others."""
    run = basedpyright("--verifytypes", "coaltree", "--ignoreexternal", "--outputjson")
    try:
        report = json.loads(run.stdout)["typeCompleteness"]
    except (ValueError, KeyError):
        sys.exit(f"basedpyright gave no report:\n{run.stdout}{run.stderr}")
    lacking = []
    for symbol in report["symbols"]:
        if symbol["isExported"] and not symbol["isTypeKnown"]:
            said = [found["message"].splitlines()[0] for found in symbol["diagnostics"]]
            lacking.append(f"{symbol['name']}: {'; '.join(said) or 'made of others that lack types'}")
    return report["completenessScore"], lacking


def main():
    score, lacking = completeness()
    print(f"types: {score:.1%} of the public symbols are complete ({len(lacking)} are not)")
    if score < ENOUGH:
        print("\n".join(lacking))
        return 1
    calls = basedpyright("tests/typing/user_calls.py")
    print(calls.stdout.strip())
    return calls.returncode


if __name__ == "__main__":
    sys.exit(main())
