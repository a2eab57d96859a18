"""The same library under OpenAI's API: its clients work here by another base URL alone."""
