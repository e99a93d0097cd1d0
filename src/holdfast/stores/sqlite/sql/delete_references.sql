-- delete_references: nobody names this chain as a blocker any more.
delete from holdfast_blocker where chain_id = :chain_id
