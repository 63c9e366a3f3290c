// Webhooks and deliveries straight into the database.
import { randomBytes } from 'node:crypto';

const uid = () => randomBytes(11).toString('hex');
const AT_ONCE = 5000;

/** `count` webhooks of GitHub's scheme, 20 a factory. Returns their uids and secrets. */
export async function fillWebhooks(db, box, count) {
  const made = [];
  const team = uid();
  await db.query('INSERT INTO teams (uid, name) VALUES ($1, $2)', [team, 'bench']);
  for (let done = 0; done < count; done += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, count - done) }, () => ({ uid: uid(), secret: uid() }));
    const factories = Array.from({ length: Math.ceil(batch.length / 20) }, uid);
    await db.query(`INSERT INTO factories (uid, team_uid, name) SELECT unnest($1::text[]), $2, 'bench'`, [
      factories,
      team,
    ]);
    await db.query(
      `WITH w AS (INSERT INTO webhooks (uid, factory_uid, team_uid, name, auth_mode, signature_scheme, enabled, source, secret_name,
         secret_owned, secret_version, sealed_secret)
       SELECT u, f, $4, 'bench', 'signature', 'github', true, 'api', u, true, 1, s FROM unnest($1::text[], $2::text[], $3::text[]) AS n (u, f, s)
       RETURNING id)
       INSERT INTO webhook_rates (webhook_id) SELECT id FROM w`,
      [
        batch.map((one) => one.uid),
        batch.map((_, index) => factories[Math.floor(index / 20)]),
        batch.map((one) => box.seal(one.secret, `webhook/${one.uid}/secret`)),
        team,
      ],
    );
    made.push(...batch);
  }
  return made;
}

/** Accepted, evaluated deliveries of the last weeks over all webhooks, with identities. */
export async function fillDeliveries(db, count) {
  await db.query(
    `INSERT INTO webhook_deliveries (webhook_id, id, outcome, identity_kind, identity, size_bytes, received_at, source_ip, headers, trace_id, body, evaluated_at, results)
     SELECT w.id, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
       'A', 'scheme_header', md5(n::text), 1000, at, '192.0.2.1', '{"content-type": "application/json"}', md5(n::text), convert_to('{"filler": "' || repeat('x', 980) || '"}', 'UTF8'), at, '[]'
     FROM (SELECT n, now() - (n % 1209600) * interval '1 second' AS at, n % (SELECT count(*) FROM webhooks) AS k FROM generate_series(1, $1::int) AS n) AS s
     JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS k FROM webhooks) AS w ON w.k = s.k`,
    [count],
  );
  await db.query(
    `INSERT INTO webhook_identities SELECT webhook_id, sha256(id::text::bytea), id, received_at FROM webhook_deliveries`,
  );
}
