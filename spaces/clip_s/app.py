"""The Space of clip_s: what `vlgauge workbench --metric clip_s` shows."""

from vlgauge import workbench

demo = workbench.app("clip_s")
if __name__ == "__main__":
    workbench.launch(demo)
