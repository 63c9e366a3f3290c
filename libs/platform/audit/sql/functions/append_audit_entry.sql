-- Appends an entry to a chain. The row of the head serializes the entries of a chain until the transaction ends.
CREATE OR REPLACE FUNCTION headrace.append_audit_entry(p_chain text, p_entry jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_seq bigint;
  v_hash bytea;
  v_entry text;
BEGIN
  INSERT INTO headrace.audit_log_heads (chain, seq, hash) VALUES (p_chain, 0, decode(repeat('00', 32), 'hex'))
    ON CONFLICT DO NOTHING;
  SELECT seq + 1, hash INTO v_seq, v_hash FROM headrace.audit_log_heads WHERE chain = p_chain FOR UPDATE;
  v_entry := (p_entry || jsonb_build_object('chain', p_chain, 'seq', v_seq,
    'occurred_at', to_char(headrace.now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))::text;
  v_hash := sha256(v_hash || convert_to(v_entry, 'UTF8'));
  INSERT INTO headrace.audit_log_entries (chain, seq, entry, hash) VALUES (p_chain, v_seq, v_entry, v_hash);
  UPDATE headrace.audit_log_heads SET seq = v_seq, hash = v_hash WHERE chain = p_chain;
  RETURN v_seq;
END $$;
