"""The loop and the recording, whatever the integrator."""
