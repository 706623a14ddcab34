"""The benchmark beside DeePMD-kit: see ../README.md. Entry point: main.main()."""
