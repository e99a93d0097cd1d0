"""What a store can be asked to do, the contract of a store, and wake-ups."""
