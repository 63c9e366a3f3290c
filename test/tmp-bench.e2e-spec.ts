import { execFile } from 'node:child_process';
import { Session } from 'node:inspector/promises';
import { promisify } from 'node:util';
import { it } from 'vitest';
import { Logger } from '@nestjs/common';
import { JsonLogger } from '#libs/observability';
import { startTestApi } from '#libs/testing';
it('bench', async () => {
  const api = await startTestApi();
  Logger.overrideLogger(new JsonLogger('info', { write: () => undefined }));
  const team = await api.identities.team();
  const { token } = await api.identities.user({ [team]: 'owner' });
  const load = (secs: number) => promisify(execFile)('node', ['node_modules/autocannon/autocannon.js', '-c', '32', '-d', String(secs), '-m', 'POST', '-H', `authorization=Bearer ${token}`, '-H', 'content-type=application/json', '-b', JSON.stringify({ prompt: 'hello', config: { name: 'x' } }), '--json', `${api.url}/api/v1/agent/runs`]);
  await load(3);
  const session = new Session(); session.connect();
  await session.post('Profiler.enable'); await session.post('Profiler.start');
  const { stdout } = await load(6);
  const { profile } = await session.post('Profiler.stop');
  console.log('RPS', JSON.parse(stdout).requests.average, JSON.parse(stdout).non2xx);
  const self = new Map<string, number>(); const dt = profile.timeDeltas ?? []; const byId = new Map(profile.nodes.map((n) => [n.id, n]));
  let total = 0;
  (profile.samples ?? []).forEach((id, i) => { const n = byId.get(id); if (!n) return; const f = n.callFrame; const url = f.url.replace(/.*node_modules\//, '').replace(/.*\/work\/main\//, ''); const key = `${f.functionName} ${url}`; const d = dt[i] ?? 0; total += d; self.set(key, (self.get(key) ?? 0) + d); });
  const groups = new Map<string, number>();
  for (const [k, v] of self) { const u = k.split(' ').at(-1) ?? ''; const g = u.split('/').slice(0, u.startsWith('@') || u.startsWith('libs') ? 2 : 1).join('/') || k; groups.set(g, (groups.get(g) ?? 0) + v); }
  console.log([...groups].sort((a, b) => b[1] - a[1]).slice(0, 30).map(([k, v]) => `${(v / total * 100).toFixed(1)}% ${k}`).join('\n'));
  console.log([...self].sort((a, b) => b[1] - a[1]).slice(0, 40).map(([k, v]) => `${(v / total * 100).toFixed(1)}% ${k}`).join('\n'));
  await api.close();
}, 120000);
