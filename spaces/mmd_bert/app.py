"""The Space of mmd_bert: what `vlgauge workbench --metric mmd_bert` shows."""

from vlgauge import workbench

demo = workbench.app("mmd_bert")
if __name__ == "__main__":
    workbench.launch(demo)
