"""Problems: the worlds to learn in."""
