"""All pictures, drawn with matplotlib in one palette."""
