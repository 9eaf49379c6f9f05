"""The leaderboard: its task, its entries, their scores, its pages."""
