"""The simulation loop and its records, for every integrator."""
