"""Other libraries' spellings, for programs that were written for them."""
