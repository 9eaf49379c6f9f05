"""From one state to the next, whatever the machine is called."""
