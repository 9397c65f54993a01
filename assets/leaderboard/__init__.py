"""The leaderboard: its pages, and what they say."""
