x = 1  # FIXME: check
