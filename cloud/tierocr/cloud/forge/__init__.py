"""The model forge: makes samples, data and model packs. The running service never imports it."""
