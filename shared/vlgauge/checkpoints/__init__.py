"""Loading of model weights from files, without executing any code in them."""
