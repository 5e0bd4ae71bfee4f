"""Base class of metrics that score a caption for a style with the n-grams of a style table."""

from collections.abc import Sequence
from typing import Any

from vlgauge.core.errors import UsageError, as_setting
from vlgauge.core.validation import check_bool, check_choice, short_repr, warn
from vlgauge.families.base.columns import References, Text
from vlgauge.families.base.metric import Metric
from vlgauge.families.style.table import StyleTable
from vlgauge.families.style.table_sources import FORMS, catalog, check_source, load_named_table
from vlgauge.families.style.weights import VARIANTS
from vlgauge.inputs.text.ngrams import MAX_ORDER


class StyleMetric(Metric):
    """Base class of style metrics.

    Its settings select the weights: ``table`` (a `StyleTable`, file or dataset on the Hub), ``table_revision`` (of a
    dataset), ``variant`` ("paper" or "released") and ``exclude_self`` (leave-one-out). A configuration names a table.
    """

    columns = (Text("predictions"), Text("styles"), References("references", optional=True))
    configs = tuple(catalog())
    source_settings = ("table", "table_revision")

    def __init__(
        self,
        *args: Any,
        table: Any = None,
        table_revision: str | None = None,
        variant: str = "paper",
        exclude_self: bool = False,
        **host: Any,
    ) -> None:
        if table is not None and host.get("config_name", args[0] if args else None) not in (None, "default"):
            raise UsageError.about("table", "cannot be combined with a `config_name` that names a table")
        if table is None and table_revision is not None:
            raise UsageError.about("table_revision", f"requires `table`, got {short_repr(table_revision)} without it")
        self.table = None if table is None else check_source(table, table_revision)
        self.table_revision = table_revision
        self.variant = check_choice("variant", variant, VARIANTS)
        self.exclude_self = check_bool("exclude_self", exclude_self)
        self._read_table: StyleTable | None = None
        super().__init__(*args, **host)

    def style_table(self, given: Any) -> StyleTable:
        """Return the table passed to the call, or otherwise the table of the settings, which is loaded once.

        Args:
            given: Table, or source of a table, passed to the call. None for the table of the settings.

        Raises:
            ValueError: If there is no table.
        """
        if given is not None:
            return StyleTable.load(given)
        if self._read_table is None:
            if self.table is not None:
                self._read_table = StyleTable.load(self.table, self.table_revision)
            elif self.config_name in self.configs:
                self._read_table = load_named_table(StyleTable, self.config_name)
            else:
                raise UsageError(
                    f"a style table is required; pass {FORMS}, as {as_setting('table')}, or choose a named table with "
                    f"{as_setting('config_name', self.configs[0])} (of {', '.join(map(repr, self.configs))})"
                )
        return self._read_table

    def sign_table(self, table: StyleTable) -> dict[str, Any]:
        """Return the signature fields that identify a table.

        Returns:
            ``config``, ``n`` (maximum order), ``tok``, and the numbers of ``styles`` and ``captions`` with the
            fingerprint ``table``.
        """
        return {
            # A table passed to the call replaces the table of the configuration.
            "config": self.config_name if table is self._read_table else None,
            "n": MAX_ORDER,
            "tok": table.tokenizer,
            "styles": len(table.styles),
            "captions": sum(table.captions),
            "table": table.fingerprint,
        }

    def count_in_sample(self, table: StyleTable, captions: Sequence[Sequence[str]]) -> int:
        """Count the predictions on which the table was fitted, and warn if they are scored with themselves."""
        count = int(table.has_captions(captions).sum())
        if count and not self.exclude_self:
            warn(
                f"{count} of {len(captions)} predictions are captions that the style table was fitted on, so their "
                f"{self.name} is inflated; fit the table on other captions (`held_out=`, split by image), or set "
                "`exclude_self=True`"
            )
        return count
