"""Files into text: what a file is, what it says, and how it is kept from doing harm."""
