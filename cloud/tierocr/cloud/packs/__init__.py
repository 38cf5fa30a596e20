"""Packs that come with the cloud part: each subfolder is one."""
