"""Where vectors and terms are kept and searched: one engine to a file, all behind `Index`."""
