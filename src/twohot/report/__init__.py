"""Tables, figures and reviews made from records."""
