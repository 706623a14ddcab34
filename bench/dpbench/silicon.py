"""The silicon crystal of 64 atoms that measurements without a peer begin with."""

BOX = """units metal
atom_style atomic
atom_modify map yes
lattice diamond 5.431
region box block 0 2 0 2 0 2
create_box 1 box
create_atoms 1 box
mass 1 28.0855
timestep 0.001
"""
