"""Why soft-max: the paper's counter-example to greedy policies, as a picture. No episodes are played."""
