"""The one warning of images that move."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from vlgauge.inputs.images.animations import note_animation, one_warning_for_animations


def told(places):
    with warnings.catch_warnings(record=True) as caught, one_warning_for_animations():
        warnings.simplefilter("always")
        for place in places:
            note_animation(place)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (["images[3]"], "`images[3]` has more than one frame; only the first is scored"),
        (["images[3]", "images[3]"], "`images[3]` has more than one frame; only the first is scored"),
        (
            ["images[10]", "images[3]"],
            "`images[3]` and 1 other image has more than one frame; only the first of each is scored",
        ),
        (
            ["images[10]", "images[3]", "images[4]"],
            "`images[3]` and 2 other images have more than one frame; only the first of each is scored",
        ),
    ],
)
def test_one_warning_with_a_count(places, message):
    assert told(places) == [message]


def test_no_animation_no_warning():
    assert told([]) == []


def test_outside_a_call_each_image_warns_at_once():
    with pytest.warns(UserWarning, match=r"^`a`"):
        note_animation("a")


def test_calls_within_calls_are_one_call():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with one_warning_for_animations():
            note_animation("a")
            with one_warning_for_animations():
                note_animation("b")
            assert caught == []
    assert len(caught) == 1


def test_calls_in_threads_do_not_mix():
    def call(name):
        with one_warning_for_animations(), ThreadPoolExecutor(2) as workers:
            for i in range(5):
                workers.submit(copy_context().run, note_animation, f"{name}[{i}]")

    with pytest.warns(UserWarning, match="4 other") as caught, ThreadPoolExecutor(2) as callers:
        list(callers.map(call, ["a", "b"]))
    assert sorted(str(warning.message)[:25] for warning in caught) == [
        "`a[0]` and 4 other images",
        "`b[0]` and 4 other images",
    ]
