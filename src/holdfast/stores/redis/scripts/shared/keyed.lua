-- include: index
-- keyed: the chains of one type and key, by their number: all of them, the unfinished, the completed.
local ALL, OPEN, DONE = 'k:', 'o:', 'w:'

local function keyed(which, first)
  return prefix .. which .. #first.type .. ':' .. first.type .. first.key
end
