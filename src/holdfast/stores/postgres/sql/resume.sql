-- resume: hand out jobs of these types again.
delete from holdfast.paused where paused.type = any(:types::text[])
