"""What the tests of all metrics want of this one."""


def named(files):
    return {"tokenizer": str.split}
