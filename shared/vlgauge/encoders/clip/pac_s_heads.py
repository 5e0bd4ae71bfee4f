"""Where the weights of PAC-S are on this machine, and how a user gets them; nothing here fetches or ships them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vlgauge.encoders.clip.architectures import ClipArchitecture
from vlgauge.encoders.clip.backbones import architecture_of
from vlgauge.weights.files import WeightsNotFound, cache_folder


@dataclass(frozen=True)
class Release:
    """A checkpoint that the authors of PAC-S released, without a licence and without a checksum.

    Attributes:
        file: Its name.
        drive_id: Its id on Google Drive.
        size: Its size, in words.
    """

    file: str
    drive_id: str
    size: str

    @property
    def link(self) -> str:
        """Where a browser finds it."""
        return f"https://drive.google.com/file/d/{self.drive_id}/view"


# Of the larger one the authors' own page repeats the link of the smaller.
RELEASES = {
    "ViT-B/32": Release("clip_ViT-B-32.pth", "1F-0Pma-vfJPAiDzeyl-iEdSXZIO1cDae", "about 605 MB"),
    "laion/ViT-L-14": Release("openClip_ViT-L-14.pth", "1G1DAGQf5fW2U3u7K3Dn-eCC6koMDyvsU", "about 1.6 GB"),
}


def paper_adapter_path(backbone: str | ClipArchitecture) -> Path:
    """Where the converted weights of PAC-S for a backbone belong, whether or not they are there."""
    return cache_folder() / "adapters" / f"pac_s-{architecture_of(backbone).architecture}.safetensors"


def paper_adapter(backbone: str | ClipArchitecture) -> Path:
    """File with the converted weights of PAC-S, for `load_checkpoint`, which also says whether they fit.

    Raises:
        WeightsNotFound: If they are not there; says how to get them. Plain CLIP never takes their place.
    """
    path = paper_adapter_path(backbone)
    if path.is_file():
        return path
    raise WeightsNotFound(
        f"the weights of PAC-S for {architecture_of(backbone).name} are not in {path}: {manual_step(backbone)}; "
        f"or pass `checkpoint`, or profile='embedded'"
    )


def manual_step(backbone: str | ClipArchitecture) -> str:
    """What a user does once to get the weights of PAC-S for a backbone."""
    name = architecture_of(backbone).name
    if name not in RELEASES:
        released = " and ".join(RELEASES)
        return f"they were released for {released} only; train others with vlgauge train pac_s"
    release = RELEASES[name]
    return (
        f"they carry no licence, so fetch {release.file} ({release.size}) yourself from {release.link} and run: "
        f"vlgauge convert {release.file} --backbone {name}"
    )
