-- include: hints
-- ended_chains: the chains that end in this script. Jobs may be waiting for them.
-- One script updates at most a hundred dependents. A hash keeps the chains with more dependents, and the position
-- reached, until the process that ended the chain, or the next reap, has updated all. Dependents are updated in the order
-- of their numbers, up to the last number at the end of the chain. So each is updated once, by any process.
local COMPLETED_CHAIN, BROKEN_CHAIN = 'c', 'x'
local releasing_key = prefix .. 'releasing'
local ended = {}

-- chain_ended: add an ended chain for `release_dependents`. Jobs that become pending are appended to `unblocked`.
local function chain_ended(chain, how, unblocked)
  ended[#ended + 1] = { chain = chain, how = how, position = 0, last = last_seq, unblocked = unblocked or {} }
end
