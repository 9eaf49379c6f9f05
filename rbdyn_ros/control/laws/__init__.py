"""Control laws: each file is one, by its name in the YAML. See `control.interface`."""
