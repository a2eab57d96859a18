"""One file for each outside thing, behind the ports. None knows another."""
