-- Runs that name a worker host have a token since now. The task that completes runs of older versions goes through all runs
-- again and writes it.
UPDATE headrace.facet_repairs SET upto = '00000000-0000-0000-0000-000000000000';
