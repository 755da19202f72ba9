"""What older versions of gitcp left in `.git`, and what they answered."""
