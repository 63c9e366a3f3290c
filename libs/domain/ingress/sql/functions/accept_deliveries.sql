-- Accepts deliveries: the last checks, and everything that is written for them, in the transaction of the caller and in the
-- given order. Callers sort by webhook, so that they never wait for each other's rates in a circle.
--
-- p_items: an array of objects with webhook_id, version (of the webhook as the caller knows it), outcome (A to accept, H to
-- count and log, J to count only), id, identity_kind, identity, size, source_ip, headers, trace_id, trace_context and
-- signed.
-- p_keys: for each item to accept the identity key of 32 bytes, and for a signed item a second one, of what its signature
-- covers: that is accepted once, whatever identity unsigned headers claim.
-- p_bodies: the bodies of the items to accept.
-- p_limit, p_window: at most so many deliveries of a webhook in this time.
--
-- Returns one row for each item. verdict: stale (the webhook is not what the caller knows), limited (retry_ms is when
-- another attempt can succeed), accepted, duplicate, counted.
CREATE OR REPLACE FUNCTION headrace.accept_deliveries(p_items jsonb, p_keys bytea, p_bodies bytea, p_limit int, p_window interval)
RETURNS TABLE (verdict text, delivery_id uuid, retry_ms int) LANGUAGE plpgsql VOLATILE
-- Its plans are kept: a plan that was made while there were ten webhooks would read all of a thousand. For the same reason
-- webhooks are found by id alone and their columns are compared here: no partial index can then seem to be cheaper.
SET enable_seqscan = off AS $accept$
DECLARE
  at timestamptz := headrace.now();
  item record;
  hook record;
  key_at int := 1;
  body_at int := 1;
  item_keys bytea[];
  found_key bytea;
  inserted int;
  is_group bool := jsonb_array_length(p_items) > 1;
  -- Of the items to log, by their place in p_items.
  place int := 0;
  verdicts text[];
  originals uuid[];
  body_places int[];
BEGIN
  FOR item IN SELECT * FROM jsonb_to_recordset(p_items) AS i (webhook_id bigint, version int, outcome "char", id uuid,
    identity_kind text, identity text, size int, source_ip text, headers jsonb, trace_id text, trace_context text, signed bool)
  LOOP
    -- 1. Its part of the keys and the bodies.
    delivery_id := NULL;
    retry_ms := NULL;
    place := place + 1;
    body_places[place] := body_at;
    IF item.outcome = 'A' THEN
      item_keys := ARRAY[substr(p_keys, key_at, 32)];
      key_at := key_at + 32;
      IF item.signed THEN
        item_keys := item_keys || substr(p_keys, key_at, 32);
        key_at := key_at + 32;
      END IF;
      body_at := body_at + item.size;
    END IF;

    -- 2. The webhook is what the caller authenticated against.
    SELECT w.version, w.enabled, w.deleted_at INTO hook FROM headrace.webhooks AS w WHERE w.id = item.webhook_id;
    IF hook.version IS DISTINCT FROM item.version OR NOT hook.enabled OR hook.deleted_at IS NOT NULL THEN
      verdict := 'stale';
      RETURN NEXT;
      CONTINUE;
    END IF;

    -- 3. The rate: the oldest time in the ring buffer is replaced when it is outside of the window.
    UPDATE headrace.webhook_rates AS r SET stamps[r.head % p_limit + 1] = at, head = (r.head + 1) % p_limit
     WHERE r.webhook_id = item.webhook_id
       AND (r.stamps[r.head % p_limit + 1] IS NULL OR r.stamps[r.head % p_limit + 1] <= at - p_window);
    IF NOT FOUND THEN
      SELECT 'limited', greatest(1, ceil(extract(epoch FROM r.stamps[r.head % p_limit + 1] + p_window - at) * 1000))::int
        INTO verdict, retry_ms FROM headrace.webhook_rates AS r WHERE r.webhook_id = item.webhook_id;
      RETURN NEXT;
      CONTINUE;
    END IF;
    verdict := 'counted';
    IF item.outcome = 'J' THEN
      RETURN NEXT;
      CONTINUE;
    END IF;

    -- 4. The identities. A second pass is needed in the rare case that the accepted one is pruned between the INSERT and
    -- the SELECT.
    WHILE item.outcome = 'A' LOOP
      INSERT INTO headrace.webhook_identities (webhook_id, key, delivery_id, accepted_at)
        SELECT item.webhook_id, k, item.id, at FROM unnest(item_keys) AS k
        ON CONFLICT DO NOTHING;
      GET DIAGNOSTICS inserted = ROW_COUNT;
      IF inserted = cardinality(item_keys) THEN
        verdict := 'accepted';
        delivery_id := item.id;
        EXIT;
      END IF;
      -- The signature first: only its own delivery can have it.
      SELECT i.delivery_id, i.key INTO delivery_id, found_key FROM headrace.webhook_identities AS i
       WHERE i.webhook_id = item.webhook_id AND i.key = ANY (item_keys) AND i.delivery_id <> item.id
       ORDER BY i.key = item_keys[2] DESC LIMIT 1;
      IF NOT FOUND THEN
        DELETE FROM headrace.webhook_identities AS i
         WHERE i.webhook_id = item.webhook_id AND i.key = ANY (item_keys) AND i.delivery_id = item.id;
        CONTINUE;
      END IF;
      verdict := 'duplicate';
      IF inserted > 0 AND found_key = item_keys[1] THEN
        -- A retry with a new signature: that signature is not accepted under another identity either.
        UPDATE headrace.webhook_identities AS i SET delivery_id = accept_deliveries.delivery_id
         WHERE i.webhook_id = item.webhook_id AND i.key = item_keys[2];
      ELSIF inserted > 0 THEN
        -- A replayed signature does not occupy an identity that a later delivery may have.
        DELETE FROM headrace.webhook_identities AS i WHERE i.webhook_id = item.webhook_id AND i.key = item_keys[1];
      END IF;
      EXIT;
    END LOOP;

    -- 5. The log. PostgreSQL prepares the constraints of the table and the conditions of its indexes once for each statement, which
    -- takes longer than to insert a row: a group has one.
    verdicts[place] := verdict;
    originals[place] := CASE verdict WHEN 'duplicate' THEN delivery_id END;
    IF NOT is_group THEN
      INSERT INTO headrace.webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, duplicate_of, size_bytes,
        received_at, source_ip, headers, trace_id, trace_context, body)
      VALUES (item.webhook_id, item.id, CASE verdict WHEN 'duplicate' THEN 'D'::"char" ELSE item.outcome END,
        item.identity_kind, item.identity, originals[place], item.size, at, item.source_ip, item.headers, item.trace_id,
        item.trace_context, CASE verdict WHEN 'accepted' THEN p_bodies END);
    END IF;
    RETURN NEXT;
  END LOOP;
  IF is_group THEN
    INSERT INTO headrace.webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, duplicate_of, size_bytes,
      received_at, source_ip, headers, trace_id, trace_context, body)
    SELECT i.webhook_id, i.id, CASE verdicts[i.place] WHEN 'duplicate' THEN 'D'::"char" ELSE i.outcome END, i.identity_kind,
      i.identity, originals[i.place], i.size, at, i.source_ip, i.headers, i.trace_id, i.trace_context,
      CASE verdicts[i.place] WHEN 'accepted' THEN substr(p_bodies, body_places[i.place], i.size) END
      FROM ROWS FROM (jsonb_to_recordset(p_items) AS (webhook_id bigint, outcome "char", id uuid, identity_kind text,
        identity text, size int, source_ip text, headers jsonb, trace_id text, trace_context text)) WITH ORDINALITY
        AS i (webhook_id, outcome, id, identity_kind, identity, size, source_ip, headers, trace_id, trace_context, place)
     WHERE verdicts[i.place] IS NOT NULL;
  END IF;
END $accept$;
