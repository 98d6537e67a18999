"""One chain: its initial state, and the Gibbs steps of an iteration."""
