"""Its place puts `problems` and `twin` on the import path of every test beneath."""
