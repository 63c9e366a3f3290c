-- A snapshot that is stored and that its runner has not reported yet has no sequence number, and is not used.
ALTER TABLE headrace.run_snapshots ALTER COLUMN seq DROP NOT NULL;
