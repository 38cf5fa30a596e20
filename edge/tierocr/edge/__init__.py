"""The edge part: reads at once, knows what it is unsure of, refines it through the cloud."""
