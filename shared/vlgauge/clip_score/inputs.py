"""Description of the inputs and outputs of clip_s and pac_s."""

INPUTS = """
Args:
    predictions: list of captions.
    images: list of images (path, bytes, PIL image or uint8 array), one per caption; config "image", the default.
    videos: list of videos (path, list or array of frames, or {{"path", "start", "end"}} in seconds); config "video".
    references: optional list of lists of captions by people; a row without any may be None.
    return_details: whether to add cosine, best reference and what was cut; for videos P, R, fine, coarse, the frames
        that were looked at, and the best frame of every token.

Returns:
    {name}: mean of the scores, higher is better; images 0 to {w:g}, videos about -1 to 1.
    {name}_scores: one score per caption, NaN where it is undefined.
    {name}_undefined: number of those.
    {name}_signature: how the numbers were made.
    ref_{name}, ref_{name}_scores, ref_{name}_undefined, ref_{name}_signature: the same with references, where there are
        any.
    ref_{name}_median: the median of these scores, which a few that explode do not move.

Examples:
    >>> import evaluate
    >>> import numpy as np
    >>> {name} = evaluate.load("vlgauge/{name}", profile="embedded")
    >>> grey = np.full((64, 64, 3), 128, dtype=np.uint8)
    >>> result = {name}.compute(predictions=["a small red circle"], images=[grey], references=[["a red circle"]])
    >>> print(sorted(result)[:4])
    ['{name}', '{name}_scores', '{name}_signature', '{name}_undefined']
    >>> print(0.0 <= result["{name}"] <= {w:g})
    True
"""
