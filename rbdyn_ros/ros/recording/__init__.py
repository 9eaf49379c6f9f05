"""Recording and replay: bags, the monitor, and the repair of what was cut off."""
