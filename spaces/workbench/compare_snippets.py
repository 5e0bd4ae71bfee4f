"""Python code, shell commands and links that reproduce a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from vlgauge_workbench import bundled_systems
from vlgauge_workbench.snippets import Snippet, render_code

_NO_ID = "The command joins the rows of files by a column of row ids: select one"
_OF_EACH = "One call cannot use files whose columns of predictions have different names"


@dataclass(frozen=True)
class Asked:
    """Comparison as arguments of a call.

    Attributes:
        metrics: Names of the metrics.
        profile: Profile of the models.
        config: Configuration of the metrics that have several. Empty for the default.
        files: File of each system, by system name. A single file has one column per system.
        predictions: Names of the prediction columns.
        titles: Names of the shared columns and of the ID column, by vlgauge column.
        is_scored: Whether a system was scored here.
        is_bundled: Whether the systems are the bundled ones.
        why_not: Reason why no call reproduces the comparison. Empty if a call does.
    """

    metrics: Sequence[str]
    profile: str
    config: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    predictions: Sequence[str] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    is_scored: bool = True
    is_bundled: bool = False
    why_not: str = ""

    @property
    def is_wide(self) -> bool:
        """Whether one file has a column for each system."""
        return len(set(self.files.values())) == 1

    def without(self, why: str) -> Asked:
        """Return a copy that no call reproduces, with the reason. An earlier reason is kept."""
        return replace(self, why_not=self.why_not or why)


def compare_snippets(asked: Asked) -> dict[str, Snippet]:
    """Return snippets that reproduce the comparison, by interface."""
    if not asked.is_wide and len(set(asked.predictions)) > 1:
        asked = asked.without(_OF_EACH)
    if asked.why_not:
        return {name: Snippet(why_not=asked.why_not) for name in ("Python", "CLI")}
    lacks_ids = asked.is_scored and not asked.is_wide and "id" not in asked.titles
    own = list(asked.predictions) if asked.is_wide else "".join(asked.predictions[:1])
    shell = (
        Snippet(why_not=_NO_ID) if lacks_ids else _render("compare.sh", asked, ",".join(own) if asked.is_wide else own)
    )
    return {"Python": _render("compare.py", asked, own), "CLI": shell}


def compare_link(asked: Asked, pair: int, rows_by: str) -> str:
    """Return the URL query that shows the comparison. Empty for uploaded systems."""
    if not asked.is_bundled:
        return ""
    words = {"view": "compare", "systems": ",".join(asked.predictions), "metrics": ",".join(asked.metrics)}
    words |= {"profile": asked.profile} if asked.profile != "embedded" else {}
    words |= {"pair": str(pair)} if pair else {}
    return f"?{urlencode(words | {'rows': rows_by}, safe=',')}"


def _render(template: str, asked: Asked, predictions: Sequence[str] | str) -> Snippet:
    options = {"predictions": predictions, **asked.titles, "config": asked.config, "profile": asked.profile}
    code = render_code(
        template,
        asked=asked,
        files=list(dict.fromkeys(asked.files.values())),
        table=bundled_systems.TABLE.name,
        options=options if asked.is_scored else {},
    )
    return Snippet(f"{code}\n")
