"""Python code, shell commands and links that reproduce a comparison."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from vlgauge_workbench import bundled_systems
from vlgauge_workbench.snippets import OWN_FILES, Snippet

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
    shell = Snippet(why_not=_NO_ID) if lacks_ids else Snippet(_shell(asked))
    return {"Python": Snippet(_python(asked)), "CLI": shell}


def compare_link(asked: Asked, pair: int, rows_by: str) -> str:
    """Return the URL query that shows the comparison. Empty for uploaded systems."""
    if not asked.is_bundled:
        return ""
    words = {"view": "compare", "systems": ",".join(asked.predictions), "metrics": ",".join(asked.metrics)}
    words |= {"profile": asked.profile} if asked.profile != "embedded" else {}
    words |= {"pair": str(pair)} if pair else {}
    return f"?{urlencode(words | {'rows': rows_by}, safe=',')}"


def _python(asked: Asked) -> str:
    imports = ["import vlgauge"]
    if asked.is_bundled:
        rows = f"str(DATA / {bundled_systems.TABLE.name!r})"
        imports.append("from vlgauge.core.files import DATA")
    elif asked.is_wide:
        rows = repr(next(iter(asked.files.values())))
    else:
        rows = f"{{{', '.join(f'{name!r}: {file!r}' for name, file in asked.files.items())}}}"
    words = [rows, repr(",".join(asked.metrics))]
    if asked.is_scored:
        own = list(asked.predictions) if asked.is_wide else next(iter(asked.predictions), None)
        words += [f"predictions={own!r}"] if own else []
        words += [f"{name}={title!r}" for name, title in asked.titles.items()]
        words += [f"config={asked.config!r}"] if asked.config else []
        words.append(f"profile={asked.profile!r}")
    notes = [] if asked.is_bundled else [OWN_FILES]
    lines = [f"    {word}," for word in words]
    return "\n".join([*imports, "", *notes, "found = vlgauge.compare(", *lines, ")", "print(found)", ""])


def _shell(asked: Asked) -> str:
    words = ["vlgauge", "compare", ",".join(asked.metrics)]
    lines = [] if asked.is_bundled else [OWN_FILES]
    files = list(dict.fromkeys(asked.files.values()))
    if asked.is_bundled:
        name = bundled_systems.TABLE.name
        lines.append(f"systems=$(python -c \"from vlgauge.core.files import DATA; print(DATA / '{name}')\")")
        words.append('"$systems"')
    else:
        words += [shlex.quote(file) for file in files]
    if asked.is_scored:
        own = ",".join(asked.predictions) if asked.is_wide else "".join(asked.predictions[:1])
        given = {"predictions": own, **asked.titles, "config": asked.config, "profile": asked.profile}
        words += [f"--{name} {shlex.quote(title)}" for name, title in given.items() if title]
    return "\n".join([*lines, " ".join(words), ""])
