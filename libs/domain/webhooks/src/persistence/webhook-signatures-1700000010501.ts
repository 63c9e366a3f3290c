import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a signature covers is accepted once, whatever identity unsigned headers give it. It is a second key in
 * `webhook_identities`, so that one lookup and one retention serve both. Processes of the version before go on: their
 * items are not marked as signed.
 */
export class WebhookSignatures1700000010501 implements MigrationInterface {
  name = 'WebhookSignatures1700000010501';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
-- As before, and: of an item that is \`signed\`, p_keys has a second key of 32 bytes, of what its signature covers.
CREATE OR REPLACE FUNCTION headrace.take_deliveries(p_items jsonb, p_keys bytea, p_bodies bytea, p_limit int, p_window interval)
RETURNS TABLE (verdict text, delivery_id uuid, retry_ms int) LANGUAGE plpgsql VOLATILE
-- Its plans are kept: one that was made while there were ten webhooks would read all of a thousand. Webhooks are found by
-- id alone, and judged here, for the same reason: no partial index can then seem to be the shorter way.
SET enable_seqscan = off AS $take$
DECLARE
  at timestamptz := headrace.now();
  item record;
  hook record;
  key_at int := 1;
  body_at int := 1;
  item_keys bytea[];
  found_key bytea;
  inserted int;
  item_body bytea;
BEGIN
  FOR item IN SELECT * FROM jsonb_to_recordset(p_items) AS i (webhook_id bigint, version int, outcome "char", id uuid,
    identity_kind text, identity text, size int, source_ip text, headers jsonb, trace_id text, signed bool)
  LOOP
    delivery_id := NULL;
    retry_ms := NULL;
    item_body := NULL;
    IF item.outcome = 'A' THEN
      item_keys := ARRAY[substr(p_keys, key_at, 32)];
      item_body := substr(p_bodies, body_at, item.size);
      key_at := key_at + 32;
      IF item.signed THEN
        item_keys := item_keys || substr(p_keys, key_at, 32);
        key_at := key_at + 32;
      END IF;
      body_at := body_at + item.size;
    END IF;
    SELECT w.version, w.enabled, w.deleted_at INTO hook FROM headrace.webhooks AS w WHERE w.id = item.webhook_id;
    IF hook.version IS DISTINCT FROM item.version OR NOT hook.enabled OR hook.deleted_at IS NOT NULL THEN
      verdict := 'stale';
      RETURN NEXT;
      CONTINUE;
    END IF;
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
    -- Once more in the rare case that the accepted one is pruned between the two looks.
    WHILE item.outcome = 'A' LOOP
      INSERT INTO headrace.webhook_identities SELECT item.webhook_id, k, item.id, at FROM unnest(item_keys) AS k
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
        -- A retry, signed anew: its signature is not accepted under another identity either.
        UPDATE headrace.webhook_identities AS i SET delivery_id = take_deliveries.delivery_id
         WHERE i.webhook_id = item.webhook_id AND i.key = item_keys[2];
      ELSIF inserted > 0 THEN
        -- A recorded signature does not occupy an identity that is still to come.
        DELETE FROM headrace.webhook_identities AS i WHERE i.webhook_id = item.webhook_id AND i.key = item_keys[1];
      END IF;
      EXIT;
    END LOOP;
    INSERT INTO headrace.webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, duplicate_of, size_bytes,
      received_at, source_ip, headers, trace_id, body)
    VALUES (item.webhook_id, item.id, CASE verdict WHEN 'duplicate' THEN 'D'::"char" ELSE item.outcome END,
      item.identity_kind, item.identity, CASE verdict WHEN 'duplicate' THEN take_deliveries.delivery_id END, item.size, at,
      item.source_ip, item.headers, item.trace_id, CASE verdict WHEN 'accepted' THEN item_body END);
    RETURN NEXT;
  END LOOP;
END $take$;`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
CREATE OR REPLACE FUNCTION headrace.take_deliveries(p_items jsonb, p_keys bytea, p_bodies bytea, p_limit int, p_window interval)
RETURNS TABLE (verdict text, delivery_id uuid, retry_ms int) LANGUAGE plpgsql VOLATILE
-- Its plans are kept: one that was made while there were ten webhooks would read all of a thousand. Webhooks are found by
-- id alone, and judged here, for the same reason: no partial index can then seem to be the shorter way.
SET enable_seqscan = off AS $take$
DECLARE
  at timestamptz := headrace.now();
  item record;
  hook record;
  key_at int := 1;
  body_at int := 1;
  item_key bytea;
  item_body bytea;
BEGIN
  FOR item IN SELECT * FROM jsonb_to_recordset(p_items) AS i (webhook_id bigint, version int, outcome "char", id uuid,
    identity_kind text, identity text, size int, source_ip text, headers jsonb, trace_id text)
  LOOP
    delivery_id := NULL;
    retry_ms := NULL;
    item_body := NULL;
    IF item.outcome = 'A' THEN
      item_key := substr(p_keys, key_at, 32);
      item_body := substr(p_bodies, body_at, item.size);
      key_at := key_at + 32;
      body_at := body_at + item.size;
    END IF;
    SELECT w.version, w.enabled, w.deleted_at INTO hook FROM headrace.webhooks AS w WHERE w.id = item.webhook_id;
    IF hook.version IS DISTINCT FROM item.version OR NOT hook.enabled OR hook.deleted_at IS NOT NULL THEN
      verdict := 'stale';
      RETURN NEXT;
      CONTINUE;
    END IF;
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
    -- Once more in the rare case that the accepted one is pruned between the two looks.
    WHILE item.outcome = 'A' LOOP
      INSERT INTO headrace.webhook_identities VALUES (item.webhook_id, item_key, item.id, at) ON CONFLICT DO NOTHING;
      IF FOUND THEN
        verdict := 'accepted';
        delivery_id := item.id;
        EXIT;
      END IF;
      SELECT i.delivery_id INTO delivery_id FROM headrace.webhook_identities AS i
       WHERE i.webhook_id = item.webhook_id AND i.key = item_key;
      IF FOUND THEN
        verdict := 'duplicate';
        EXIT;
      END IF;
    END LOOP;
    INSERT INTO headrace.webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, duplicate_of, size_bytes,
      received_at, source_ip, headers, trace_id, body)
    VALUES (item.webhook_id, item.id, CASE verdict WHEN 'duplicate' THEN 'D'::"char" ELSE item.outcome END,
      item.identity_kind, item.identity, CASE verdict WHEN 'duplicate' THEN take_deliveries.delivery_id END, item.size, at,
      item.source_ip, item.headers, item.trace_id, CASE verdict WHEN 'accepted' THEN item_body END);
    RETURN NEXT;
  END LOOP;
END $take$;`);
  }
}
