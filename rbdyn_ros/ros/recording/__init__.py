"""Recording and replay: bags, the monitor, and the repair of unfinished bags."""
