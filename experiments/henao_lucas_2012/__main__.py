"""Run the experiments named, or all; where data are missing say so and continue with the others."""

import sys
from importlib import import_module

from .common import MissingData, parser

NAMES = (
    "table1_structure",
    "table2_covariance",
    "table3_greedy",
    "usps",
    "usps_images",
    "mocap",
    "yeast",
    "digits",
)


def main():
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all by default")
    options = arguments.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        arguments.error(f"there is no experiment {unknown[0]!r}; there are: {', '.join(NAMES)}")
    left_out = []
    for name in options.names or NAMES:
        print(f"== {name}", flush=True)
        try:
            import_module(f"{__package__}.{name}").run(options)
        except MissingData as missing:
            print(missing, file=sys.stderr)
            left_out.append(name)
    if left_out:
        print(f"Left out for want of data: {', '.join(left_out)}.", file=sys.stderr)


main()
