"""Pictures and reports: the only room that knows matplotlib."""
