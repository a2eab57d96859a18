"""The contracts of the ports as pytest suites, for whoever writes an adapter."""
