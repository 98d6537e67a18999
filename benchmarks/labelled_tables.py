"""Real tables with known classes: numeric columns, rows without missing values, and the class of each row.

Six are in scikit-learn or in the folder that COALTREE_DATA names; the others come with small packages (the extra
`bench`). Tables with more than 500 rows are thinned to 500 rows drawn at random, always the same ones, except for
breast cancer, yeast (all rows), digits and USPS (the first 500).
"""

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

MAX_ROWS = 500


def load_tables(loaders):
    """Name → (rows, classes) of the tables that are there, and a line for each that is not."""
    found, missing = {}, []
    for name, load in loaders.items():
        try:
            X, classes = load()
        except ImportError as error:
            missing.append(f"{name}: left out, {error.name} is not installed")
        except FileNotFoundError as error:
            missing.append(f"{name}: left out, COALTREE_DATA names no folder with {Path(error.filename).name}")
        else:
            found[name] = np.asarray(X, dtype=float), np.unique(classes, return_inverse=True)[1]
    return found, missing


def digits():
    X, classes = load_digits(return_X_y=True)
    return X[:MAX_ROWS], classes[:MAX_ROWS]


def yeast():
    """Load genes measured at all times after alpha factor; classes are the phases of the cell cycle."""
    with np.load(_data_folder() / "yeast_cellcycle.npz") as table:
        X = table["X"][:, table["experiment"] == "alpha"]
        complete = ~np.isnan(X).any(axis=1)
        return X[complete], table["phase"][complete]


def usps():
    with np.load(_data_folder() / "usps.npz") as table:
        return table["X"][:MAX_ROWS], table["y"][:MAX_ROWS]


def penguins():
    from palmerpenguins import load_penguins

    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    return _complete(load_penguins(), columns, "species")


def cars():
    from vega_datasets import local_data

    columns = ["Miles_per_Gallon", "Cylinders", "Displacement", "Horsepower", "Weight_in_lbs", "Acceleration"]
    return _complete(local_data.cars(), columns, "Origin")


def weather():
    """Load days in Seattle; classes are sun, fog, drizzle, rain and snow."""
    from vega_datasets import local_data

    return _complete(local_data.seattle_weather(), ["precipitation", "temp_max", "temp_min", "wind"], "weather")


def travel():
    """Load times and costs of journeys; classes are air, train, bus and car."""
    from statsmodels.datasets import modechoice

    return _complete(modechoice.load_pandas().data, ["ttme", "invc", "invt", "gc"], "mode")


def firms():
    """Load years of eleven firms."""
    from statsmodels.datasets import grunfeld

    return _complete(grunfeld.load_pandas().data, ["invest", "value", "capital"], "firm")


def voters():
    """Load answers to a survey before the election of 1996; classes are votes for Clinton and Dole."""
    from statsmodels.datasets import anes96

    columns = ["TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "age", "educ", "income", "logpopul"]
    return _complete(anes96.load_pandas().data, columns, "vote")


def _data_folder():
    return Path(os.environ.get("COALTREE_DATA", "."))


def _complete(frame, columns, kind):
    """Rows of a DataFrame without missing values, at most `MAX_ROWS` of them, and their classes."""
    frame = frame[[*columns, kind]].dropna()
    if len(frame) > MAX_ROWS:
        frame = frame.iloc[np.sort(np.random.default_rng(0).choice(len(frame), MAX_ROWS, replace=False))]
    return frame[columns].to_numpy(), frame[kind].to_numpy().astype(str)


SIX = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "500 digits": digits,
    "613 yeast genes": yeast,
    "500 of USPS": usps,
}
FURTHER = {
    "penguins": penguins,
    "firms": firms,
    "cars": cars,
    "travel": travel,
    "weather": weather,
    "voters": voters,
}
