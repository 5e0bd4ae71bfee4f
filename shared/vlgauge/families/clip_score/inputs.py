"""Description of the inputs and outputs of clip_s and pac_s."""

INPUTS = """
Args:
    predictions: Captions, one string per row.
    images: Images (path, bytes, PIL image or uint8 array), one per caption, with config "image", the default.
    videos: Videos (path, list or array of frames, or {{"path", "start", "end"}} in seconds), one per caption, with
        config "video".
    references: Optional human captions, one list of strings per row. None for a row without references.
    return_details: Whether to add cosine similarity, best reference and truncation. For videos, P, R, fine and coarse
        scores, the sampled frames, and the best frame of each token are added.

Returns:
    {name}: Mean of the scores, higher is better. Images 0 to {w:g}, videos about -1 to 1.
    {name}_scores: One score per caption. NaN if it is undefined.
    {name}_undefined: Number of undefined scores.
    {name}_signature: Settings and versions that the scores depend on.
    ref_{name}, ref_{name}_scores, ref_{name}_undefined, ref_{name}_signature: The same with references, if there are
        references.
    ref_{name}_median: Median of these scores, which is robust to a few extreme values.

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
