"""Batches of rows with at most one row per image, the same for the same seed."""

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]


def epoch_batches(
    images: Indices, groups: Indices, batch_size: int, rng: np.random.Generator, *, keep_rest: bool = False
) -> list[Indices]:
    """Rows of one epoch in batches.

    The rows are shuffled, but for groups that stay together, and dealt in rounds: the first of every image, then the
    second, and so on. Batches do not reach over the end of a round, so an image never meets itself as a negative.

    Args:
        images: Number of the image of every row, shape ``(n_rows,)``.
        groups: Number of the group of every row; its rows are each other's negatives as far as a batch reaches.
        batch_size: Rows per batch.
        rng: Shuffles.
        keep_rest: Keep the rest of a round of at least two rows as a smaller batch; otherwise only where the round has
            no full batch.
    """
    shuffled = np.lexsort((rng.random(len(images)), rng.permutation(groups.max() + 1)[groups]))
    order = np.argsort(images[shuffled], kind="stable")
    ordered = images[shuffled][order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rounds = np.empty(len(images), np.int64)
    rounds[order] = np.arange(len(images)) - np.repeat(starts, np.diff(np.r_[starts, len(images)]))
    batches = []
    for number in range(rounds.max() + 1):
        rows = shuffled[rounds == number]
        stops = range(batch_size, len(rows) + 1, batch_size)
        batches += [rows[stop - batch_size : stop] for stop in stops]
        rest = rows[len(stops) * batch_size :]
        if len(rest) > 1 and (keep_rest or not stops):
            batches.append(rest)
    return batches


class BatchOrder:
    """The batch of every iteration, the same for the same seed.

    Args:
        rows: The rows to choose from, shape ``(n_rows,)``.
        images: Number of the image of each of them.
        groups: Number of the group of each of them.
        batch_size: Rows per batch.
        seed: Every epoch shuffles with ``default_rng([seed, epoch])``.
    """

    def __init__(self, rows: Indices, images: Indices, groups: Indices, batch_size: int, seed: int) -> None:
        self.rows, self.images, self.groups = rows, images, groups
        self.batch_size, self.seed = batch_size, seed
        self._go_to(0, 0)

    def __getitem__(self, iteration: int) -> Indices:
        """The batch of an iteration, as members of `rows`; iterations one after the other are the fastest."""
        if iteration < self._first:
            self._go_to(0, 0)
        while iteration >= self._first + len(self._batches):
            self._go_to(self._epoch + 1, self._first + len(self._batches))
        return self.rows[self._batches[iteration - self._first]]

    def _go_to(self, epoch: int, first: int) -> None:
        self._epoch, self._first = epoch, first
        rng = np.random.default_rng([self.seed, epoch])
        self._batches = epoch_batches(self.images, self.groups, self.batch_size, rng)
