-- What was created before it may be of another person, who has accepted the invitation to this address.
ALTER TABLE headrace.users ADD COLUMN verified_at timestamptz;
