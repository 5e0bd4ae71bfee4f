"""Parts of a Space on the Hub."""
