-- resume: hand out jobs of a type again.
delete from holdfast_paused where type = :type
