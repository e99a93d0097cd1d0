-- find_marks: the committed marks among these ids.
select id from holdfast_mark where id in (select value from json_each(:ids))
