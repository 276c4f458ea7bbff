//! Writes what launchers read: hostfiles, configfiles, rankfiles, mapping.json.
