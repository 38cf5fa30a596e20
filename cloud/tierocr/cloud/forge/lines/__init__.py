"""A seeded generator of labelled lines and pages as scanners, cameras and screens deliver them.

They calibrate quantised networks and are what the accuracy gate reads: no licence to ask for, no
page that was trained on, as many as are needed, and the same ones again from the same seed. All
companies, people, numbers and addresses are made up.
"""
