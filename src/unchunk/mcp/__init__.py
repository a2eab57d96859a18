"""The library as tools for agents, by the Model Context Protocol. A thin edge over the engine."""
