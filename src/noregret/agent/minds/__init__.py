"""What may learn for an agent: the protocol of a mind, Algorithm 1 on features, and soft cells."""
