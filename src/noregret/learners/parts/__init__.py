"""What several learners are made of, and what Algorithm 1 has beyond the printed form. No learner is registered here."""
