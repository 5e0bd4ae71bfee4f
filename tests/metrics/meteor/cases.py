"""Cases of this metric for the tests of all metrics."""

from signature_cases import each_of

USES_MODELS = False  # the extra contains lists


def changes(files):
    return each_of(
        {},
        version=(None, "2007"),
        tokenizer=(None, str.split),
        lists=(files.lists("the"), files.lists("of")),
        paraphrases=(files.paraphrases("cat"), files.paraphrases("puppy")),
    )


def named(files):
    return {"lists": files.lists("the"), "paraphrases": files.paraphrases("cat")}
