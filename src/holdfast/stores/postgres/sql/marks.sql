-- mark: write a mark that shows whether this transaction committed.
insert into holdfast.mark (id) values (:id::text)

-- find_marks: the committed marks among these ids. Deletes the marks that were found before.
with forgotten as (
    delete from holdfast.mark where mark.id = any(:forget::text[])
)
select mark.id from holdfast.mark where mark.id = any(:ids::text[])
