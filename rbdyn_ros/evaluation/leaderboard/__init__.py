"""The leaderboard: its task, what an entry of it is, its scores, its pages."""
