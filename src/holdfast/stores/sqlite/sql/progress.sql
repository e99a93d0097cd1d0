-- progress: store how far an attempt has come.
update holdfast_job set progress = :fraction, progress_note = :note
 where id = :id and status = 'running' and token = :token
