"""What people read: tables and figures made of results. Nothing here runs a learner."""
