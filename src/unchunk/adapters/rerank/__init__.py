"""How well texts answer a question: by a local model, or by a provider."""
