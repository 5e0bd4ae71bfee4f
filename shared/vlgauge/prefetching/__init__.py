"""Which files a metric needs, and fetching them."""
