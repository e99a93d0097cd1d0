-- records: the jobs with these seqs.
select * from holdfast_record where seq in (select value from json_each(:seqs))
