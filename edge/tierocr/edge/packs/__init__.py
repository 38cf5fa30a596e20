"""Packs that come with the edge part: each subfolder is one."""
