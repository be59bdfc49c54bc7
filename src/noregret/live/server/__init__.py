"""A learner over HTTP: the routes, tokens, limits, metrics and the page that watches it."""
