-- include: hints
-- ended: the chains that end in this script. Jobs may wait for them.
-- However many they are, one script tells at most a hundred of them. Which chains have more to tell, and from which job
-- on, is kept in a hash until whoever ended the chain, or the next reaper, has told them all. Jobs are told in the
-- order of their numbers and up to the last number at the chain's end, so each is told once, by whomever.
local COMPLETED_CHAIN, BROKEN_CHAIN = 'c', 'x'
local releasing_key = prefix .. 'releasing'
local ended = {}

-- chain_ended: a chain ended in this script; `release` will tell. Jobs that wait no longer are appended to `unblocked`.
local function chain_ended(chain, how, unblocked)
  ended[#ended + 1] = { chain = chain, how = how, told = 0, last = last_seq, count = 0, unblocked = unblocked or {} }
end
