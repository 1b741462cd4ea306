"""What files say is to be there, what is there, and what lies between the two."""
