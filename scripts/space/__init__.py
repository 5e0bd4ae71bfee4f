"""What a Space on the Hub is made of."""
