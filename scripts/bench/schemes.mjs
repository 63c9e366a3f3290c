// The section of `npm run bench -- ingress` that BENCH_SCHEMES=1 adds: what it costs to verify one delivery of each
// signature scheme, in process and on one processor. HTTP, identity and database are the same for all of them.
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { dist, median } from './support.mjs';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
/** Of one scheme in one round. */
const SLICE_MS = 40;
const WARM_UP = 300;
const URL_HERE = 'https://hooks.example.com/webhooks/w/AbCdEfGhIjKlMnOpQrStUv';
const USUAL = { host: 'hooks.example.com', 'user-agent': 'bench', 'content-type': 'application/json', accept: '*/*' };
const signing = 'libs/domain/webhooks/src/domain/signing';

/** Senders of which the receiver knows a public key only; they get one of ours. */
const ed25519 = () => generateKeyPairSync('ed25519');
const spki = (key) => key.export({ format: 'der', type: 'spki' });
const KEYS = {
  discord: [ed25519, (key) => spki(key).subarray(-32).toString('hex'), null, 'hex'],
  standard_webhooks_v1a: [ed25519, (key) => `whpk_${spki(key).subarray(-32).toString('base64')}`, null, 'base64'],
  sendgrid: [
    () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    (key) => spki(key).toString('base64'),
    'sha256',
    'base64',
  ],
};

/** What signs as the sender of a scheme with a key pair would: the same row, with the private key. */
function senderOf(scheme, SignedScheme) {
  const [generate, show, hash, encoding] = KEYS[scheme.id];
  const { publicKey, privateKey } = generate();
  const algorithm = {
    sign: (content) => sign(hash, Buffer.concat([...content]), privateKey).toString(encoding),
    checkSecret: () => null,
  };
  return { secret: show(publicKey), sender: new SignedScheme({ ...scheme.row, algorithm }) };
}

function secretOf(scheme) {
  const bytes = randomBytes(32);
  const secrets = [bytes.toString('hex'), `whsec_${bytes.toString('base64')}`, bytes.toString('base64')];
  return secrets.find((secret) => scheme.checkSecret(secret) === null);
}

/** A body of 1 KB, as GitHub's in the other sections. */
const BODY = Buffer.from(
  JSON.stringify({ action: 'opened', number: 7, id: randomBytes(12).toString('hex'), text: 'x'.repeat(900) }),
);

/** `deliveryMicros`: what an accepted delivery takes of the ingress's time in all, to compare. */
export async function benchSchemes(deliveryMicros) {
  const { SIGNATURE_SCHEMES } = await dist(`${signing}/signature-schemes.js`);
  const { RawHeaders } = await dist(`${signing}/incoming-request.js`);
  const { SignedScheme } = await dist(`${signing}/signed-scheme.js`);
  const { parseJson } = await dist('libs/domain/ingress/src/ingress-request.js');
  const now = new Date();
  const candidates = SIGNATURE_SCHEMES.map((scheme) => {
    const { secret, sender } =
      scheme.id in KEYS ? senderOf(scheme, SignedScheme) : { secret: secretOf(scheme), sender: scheme };
    const sent = sender.sign({ body: BODY, secret, now, url: URL_HERE, deliveryId: randomBytes(12).toString('hex') });
    if (!sent) throw new Error(`${scheme.id} does not sign.`);
    const raw = Object.entries({ ...USUAL, ...sent.headers, 'content-length': String(sent.body.length) }).flat();
    return { name: scheme.id, verify: (request) => scheme.verify(request, secret, now), raw, ...sent };
  });
  // What all of them pay: the headers by name.
  const floor = { ...candidates[0], name: '(headers alone)', verify: ({ headers }) => headers.has('host') };
  const micros = new Map();
  for (let round = 0; round < ROUNDS; round += 1)
    for (const candidate of [floor, ...candidates]) {
      const { name, verify, raw, body, url } = candidate;
      const once = () => {
        let parsed;
        const json = () => (parsed ??= { value: parseJson(body) }).value;
        return verify({ method: 'POST', url, headers: new RawHeaders(raw), body, json });
      };
      for (let n = 0; n < (round === 0 ? WARM_UP : 1); n += 1)
        if (!once()) throw new Error(`${name} does not take what it has signed.`);
      let [count, elapsed] = [0, 0];
      for (const began = performance.now(); elapsed < SLICE_MS; elapsed = performance.now() - began)
        for (let n = 0; n < 20; n += 1, count += 1) once();
      micros.set(name, [...(micros.get(name) ?? []), (elapsed * 1000) / count]);
    }
  const rows = [...micros].map(([name, all]) => [name, median(all)]).sort(([, one], [, other]) => one - other);
  console.log(`Signature schemes, verified in process, ${BODY.length} bytes, ${ROUNDS} rounds of ${SLICE_MS} ms:`);
  console.log('  scheme                        µs each  verifications/s  of a delivery at 10 connections');
  for (const [name, each] of rows)
    console.log(
      `  ${name.padEnd(28)} ${each.toFixed(1).padStart(8)} ${(1e6 / each).toFixed(0).padStart(16)} ${((100 * each) / deliveryMicros).toFixed(1).padStart(8)} %`,
    );
}
