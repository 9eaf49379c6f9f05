"""Gap, directions, impact data; not how they are solved."""
