"""The Space of frechet_bert: what `vlgauge workbench --metric frechet_bert` shows."""

from vlgauge import workbench

demo = workbench.app("frechet_bert")
if __name__ == "__main__":
    workbench.launch(demo)
