"""Cases of this metric for the tests of all metrics."""

from fake_clip import FakeClip
from signature_cases import STORIES, by_line, each_of
from tiny_clip import TINY


def changes(files):
    fake = {"backbone": FakeClip(), "theta": 1.0, "concreteness": None, "regions": "whole"}
    rated = fake | {"concreteness": "brysbaert", "concreteness_path": files.ratings(4)}
    published = {name: value for name, value in fake.items() if name != "theta"}
    tiny = {name: value for name, value in fake.items() if name != "backbone"} | {"backbone": TINY}
    return {
        **each_of(fake, variant=(None, "paper"), theta=(1.0, 2.0), penalize=(None, False), units=(None, "nouns")),
        **each_of(published, dataset=("VIST", "AESOP")),
        **each_of(fake, backbone=(FakeClip(), FakeClip("other@00000000")), noun_phrases=("one", "two")),
        "concreteness": (fake, rated),
        **each_of(rated, concreteness_path=(files.ratings(4), files.ratings(5)), lemmatizer=(None, "wordnet")),
        **each_of(fake | {"concreteness": "idf"}, idf=([STORIES], [STORIES, ["A dog."]])),
        **each_of(fake, sentences=(None, by_line), placeholders=(None, "all"), deduplicate=(None, False)),
        **each_of(fake, drop_pronouns=(None, False), regions=("whole", "grid"), top_k=(None, 1), min_score=(None, 0.5)),
        **each_of({name: value for name, value in fake.items() if name != "regions"}, detector_weights=("one", "two")),
        **each_of(fake, normalize=(None, "tanh")),
        **each_of(tiny, weights=(files.clip(0), files.clip(1))),
        **each_of(tiny | {"weights": files.clip(0)}, dtype=(None, "bfloat16")),
    }


def named(files):
    return {"profile": "embedded", "concreteness_path": files.ratings(4), "sentences": by_line}
