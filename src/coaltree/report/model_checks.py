"""Model checks on the page: a card, two figures, and every check with what was seen and what to try."""

from typing import Any

from ..posterior.diagnostics.model_checks import ModelCheck, format_effect
from . import svg
from .summary_cards import Card


def card(model: ModelCheck) -> Card:
    """Return the result of all checks as a card."""
    if not model.checks:
        return Card("The model was not checked", sentence(model.reason), "unknown")
    concern = model.concern
    if concern is not None:
        advice = f" {sentence(model.remedy)}" if model.remedy else ""
        tables = "with less of this" if concern.is_least else "like this"
        text = f"{sentence(concern.said)} On simulated tables {tables}, groups were true that much less often.{advice}"
        about = "" if concern.is_least else "about "
        return Card(f"Supports are {about}{format_effect(concern)} too high", text, "poor")
    if not model.wrong:
        return Card("No sign of a wrong model", model.headline, "good")
    return Card("Supports are about right", model.headline, "good")


def pictures(model: ModelCheck) -> dict[str, Any] | None:
    """Return the figures of sizes over ages and of quantiles, and one small picture for each check."""
    shown = model.figures
    if shown is None:
        return None
    return {
        "by_age": svg.banded(shown.age, shown.size, shown.size_band, log_x=True),
        "by_quantile": svg.banded(shown.normal, shown.seen, shown.seen_band),
        "of_checks": {one.name: svg.beside(one.draws, one.replicates) for one in model},
    }


def sentence(text: object) -> str:
    """Return text with a capital letter and a full stop."""
    words = str(text).rstrip(".")
    return f"{words[:1].upper()}{words[1:]}."
