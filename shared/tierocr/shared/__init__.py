"""What edge and cloud both need: values, reading, packs, engines, the wire protocol."""
