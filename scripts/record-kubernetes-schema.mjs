// Records the part of the OpenAPI description of the cluster that KUBECONFIG names which the double of the tests checks:
// `node scripts/record-kubernetes-schema.mjs`. Descriptions are left out.
import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { inRoot } from './lib/paths.mjs';

const FILE = inRoot('test/support/kubernetes-schema.json');
const ROOTS = [
  'io.k8s.api.core.v1.Pod',
  'io.k8s.api.core.v1.Secret',
  'io.k8s.api.authorization.v1.SelfSubjectAccessReview',
];
/** Parts of types with names that other fields have, too. */
const KEPT = new Set(['properties', 'definitions']);

const config = new KubeConfig();
config.loadFromDefault();

async function get(path) {
  const options = { method: 'GET' };
  await config.applyToHTTPSOptions(options);
  return new Promise((resolve, reject) => {
    request(new URL(path, config.getCurrentCluster().server), options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve(JSON.parse(Buffer.concat(chunks))));
    })
      .on('error', reject)
      .end();
  });
}

function withoutProse(value, parent = '') {
  if (Array.isArray(value)) return value.map((item) => withoutProse(item));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key]) => KEPT.has(parent) || (key !== 'description' && !key.startsWith('x-kubernetes')),
  );
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutProse(item, key)]));
}

const { definitions, info } = await get('/openapi/v2');
const reachable = {};
const queue = [...ROOTS];
while (queue.length > 0) {
  const name = queue.pop();
  if (name in reachable) continue;
  reachable[name] = withoutProse(definitions[name]);
  for (const [, next] of JSON.stringify(reachable[name]).matchAll(/#\/definitions\/([^"]+)/g)) queue.push(next);
}
const sorted = Object.fromEntries(Object.entries(reachable).sort(([one], [other]) => one.localeCompare(other)));
writeFileSync(FILE, `${JSON.stringify({ version: info.version, definitions: sorted })}\n`);
console.log(`Wrote ${Object.keys(sorted).length} definitions of Kubernetes ${info.version}.`);
