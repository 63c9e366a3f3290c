-- Whether the user has the e-mail address: who creates a user by an invitation may have another one.
ALTER TABLE headrace.users ADD COLUMN is_email_verified boolean NOT NULL DEFAULT true;
