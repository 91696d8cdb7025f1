"""What a user passes, checked: numbers, arrays, labels, and the words of an error."""
