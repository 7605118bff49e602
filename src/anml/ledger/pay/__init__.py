"""From a run to money: drafted, approved, released, disputed, paid, and said in statements."""
