"""Problems as the compiled loop plays them: drawing an episode, evaluating a policy, counting unsafe steps."""
