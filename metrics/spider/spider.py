"""SPIDEr: How well do rare n-grams and scene tuples match?"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import evaluate

from vlgauge.checkpoints import preflight  # From: "vlgauge[spider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core import catalog  # From: "vlgauge[spider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.core import signatures  # From: "vlgauge[spider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families import base  # From: "vlgauge[spider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.families.base.parts import Counts  # From: "vlgauge[spider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"
from vlgauge.inputs.text import tokenizers  # From: "vlgauge[spider]@git+https://github.com/vlgauge/vlgauge@v0.1.0"

PARTS = ("cider", "spice")


def spider_score(cider: float, spice: float) -> float:
    """Compute SPIDEr of a caption (Liu et al., 2017): (CIDEr-D + SPICE) / 2. NaN if one of them is NaN."""
    return (cider + spice) / 2


def load_part(name: str, **settings: Any) -> Any:
    """Load the metric of a component from the same installation as the package, and return it.

    Raises:
        ValueError: If a setting is invalid.
    """
    # Not `evaluate.load`, which is replaced while the examples of this script are tested.
    return evaluate.loading.load(str(catalog.metric_folder(name)), keep_in_memory=True, **settings)


class Spider(base.TokenMetric):
    """Mean of CIDEr-D and SPICE.

    SPIDEr is the mean of CIDEr-D, which compares words, and SPICE, which compares scene graphs. Our SPICE uses another
    parser than the Java program, so scores of single captions differ. Higher is better. SPIDEr requires references.

    Args:
        predictions: Captions, one string per row.
        references: References, a string or a list of strings per row.
        graphs: Optional scene graphs to use instead of SPICE's parser. See spice.
        return_details: Whether to add both component scores of each row, and the details of each component.

    Returns:
        spider: Mean of the scores, at least 0 and below 6, higher is better.
        spider_scores: One score per row. NaN if the CIDEr-D or SPICE score is NaN.
        spider_undefined: Number of undefined scores.
        spider_signature: Settings and versions that the scores depend on.
        spider_cider, spider_spice: Components, with the same four keys each.

    Examples:
        >>> import evaluate
        >>> from vlgauge.families.ngram.cider import DocumentFrequency
        >>> spider = evaluate.load("vlgauge/spider", df=DocumentFrequency({("a",): 90, ("dog",): 9}, 100))
        >>> references = ["( dog , run )", "( dog , run ) , ( dog , fast )"]
        >>> graphs = {"predictions": ["( dog , run )"], "references": [references]}
        >>> result = spider.compute(
        ...     predictions=["a dog runs"], references=[["a dog is running", "a dog runs fast"]], graphs=graphs
        ... )
        >>> print([round(result[key], 3) for key in ("spider_cider", "spider_spice", "spider")])
        [3.503, 0.8, 2.151]
    """

    papers = ("https://arxiv.org/abs/1612.00370",)
    source_settings = ("df", "parser", "pipeline", "jars")
    checks_words = True  # spice does
    unsigned = ("java",)

    def __init__(
        self,
        *args: Any,
        df: Any = "references",
        tokenizer: Callable[[str], Sequence[str]] | str | None = tokenizers.DEFAULT,
        eos: bool = False,
        parser: Any = "rules",
        pipeline: Any = None,
        java: Any = "java",
        jars: Any = None,
        device: str = "auto",
        batch_size: int = 64,
        **host: Any,
    ) -> None:
        self.df, self.parser, self.pipeline, self.java, self.jars = df, parser, pipeline, java, jars
        self.eos = base.check_bool("eos", eos)
        self.device, self.batch_size = device, base.check_int("batch_size", batch_size, 1)
        super().__init__(*args, tokenizer=tokenizer, **host)
        common: dict[str, Any] = {"profile": self.profile, "progress": self.progress}
        graphs: dict[str, Any] = {"parser": parser, "pipeline": pipeline, "java": java, "jars": jars}
        self.parts = {
            "cider": load_part("cider", df=df, tokenizer=tokenizer, eos=eos, **common),
            "spice": load_part("spice", device=device, batch_size=batch_size, **graphs, **common),
        }

    @property
    def tokenizers(self) -> Sequence[str]:
        """Names of the tokenizers that the parser supports."""
        return tokenizers.WORD_TOKENIZERS if isinstance(self.parser, str) else super().tokenizers

    def signature_fields(self) -> dict[str, Any]:
        """Return the settings for the signature by name, omitting `eos` if it is not set."""
        fields = super().signature_fields()
        return fields if self.eos else {name: value for name, value in fields.items() if name != "eos"}

    def count(self, columns: Mapping[str, Sequence[Any]]) -> Counts | None:
        """Count the number of rows whose references contain each n-gram, for CIDEr-D.

        Returns:
            Counts, which are summed over all groups of rows. None if CIDEr-D does not count n-grams in the rows.
        """
        found: Counts | None = self.parts["cider"].count(columns)
        return found

    def use_counts(self, counts: Counts) -> None:
        """Use the document frequencies of the corpus."""
        self.parts["cider"].use_counts(counts)

    def check_sources(self, given: Any = None) -> preflight.Preflight:
        """Check the tokenizer, and the sources of SPICE that the call does not pass, without loading anything.

        Returns:
            A `Preflight` with the problems found so far, which its method `end` raises.
        """
        if given is None and isinstance(self.parser, str):
            tokenizers.check_english(self.tokenizer, "the parser of SPICE", "pass `graphs`, or choose cider")
        found = super().check_sources()
        found.join(self.parts["spice"].check_sources(given))
        return found

    def _compute(
        self, predictions: list[str], references: list[list[str]], graphs: Any = None, return_details: bool = False
    ) -> dict[str, Any]:
        self.check_sources(graphs).end()
        # Not `compute`, which would store the rows again.
        rows: dict[str, Any] = {"predictions": predictions, "references": references, "return_details": return_details}
        results = {
            "cider": self.parts["cider"]._compute(**rows),
            "spice": self.parts["spice"]._compute(**rows, graphs=graphs),
        }
        columns = [results[name][f"{name}_scores"] for name in PARTS]
        scores = [spider_score(*values) for values in zip(*columns, strict=True)]
        # Computed only if they are requested.
        details = (dict(zip(("score", *PARTS), row, strict=True)) for row in zip(scores, *columns, strict=True))
        signed = {name: results[name][f"{name}_signature"] for name in PARTS}
        cider, spice = (signatures.parse_signature(signed[name])[1] for name in PARTS)
        signature_extra = {"profile": spice["profile"], "df": cider["df"], "parser": spice["parser"]}
        extra: dict[str, Any] = {}
        for name in PARTS:
            kept = (name, *(f"{name}_{key}" for key in ("scores", "undefined", "signature", "details")))
            extra |= {key: results[name][key] for key in kept if key in results[name]}
            extra[f"{name}_signature"] = f"{self.name}_{signed[name]}"
        return self.result(
            scores, signature_extra=signature_extra, details=list(details) if return_details else None, **extra
        )
