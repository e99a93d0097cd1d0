-- include: job
-- gone: what removed jobs leave for a while, so that a start or a settlement that is sent again knows what came of it.
-- The words of an id: { number, made at, status, token, by } of each job that had it, newest first. An application may
-- use an id again; more than so many times within a minute, the oldest are forgotten.
local MOST_WORDS = 10

local function words_of(id)
  local words = redis.call('GET', prefix .. 'gone:' .. id)
  return words and cmsgpack.unpack(words) or {}
end

local function leave_word(job)
  local recent = now - tonumber(ARGV[4]) * 1000
  local made = not job.chain and job.created_at > recent
  local settled = job.token and job.finished_at and job.finished_at > recent
  if made or settled then
    local words = words_of(job.id)
    table.insert(words, 1, { job.seq, job.created_at, job.status, job.token or '', job.by or '' })
    words[MOST_WORDS + 1] = nil
    redis.call('SET', prefix .. 'gone:' .. job.id, cmsgpack.pack(words), 'PX', ARGV[4])
  end
end
