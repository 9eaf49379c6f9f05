"""Which machine it is: numbers to arrays."""
