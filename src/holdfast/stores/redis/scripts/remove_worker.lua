-- remove_worker: delete the row of a worker that stops, unless it belongs to a later worker with the same id.
-- flags: allow-oom
-- include: workers
-- op: { id, started_at }
if load_worker(op[1]) == op[2] then
  delete_workers({ op[1] })
end
return 'ok'
