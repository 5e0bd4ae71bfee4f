"""Training of heads of Polos on caption ratings."""
