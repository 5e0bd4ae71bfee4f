"""What the tests of all metrics want of this one."""


def changes(files):
    return {"apply_tanh": ({}, {"apply_tanh": False})}
