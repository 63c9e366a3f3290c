import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineConnection } from './engine-connection.js';

const directory = mkdtempSync(join(tmpdir(), 'headrace-engine-tls-'));
const [cert, key, ca] = ['cert.pem', 'key.pem', 'ca.pem'].map((name) => join(directory, name)) as [
  string,
  string,
  string,
];

/** One certificate for both ends, where the machine has the program to make it. */
function makeCertificate(): boolean {
  const words = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=engine';
  const args = [...words.split(' '), '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert];
  try {
    execFileSync('openssl', args, { stdio: 'ignore' });
    copyFileSync(cert, ca);
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!makeCertificate())('an engine behind TLS', () => {
  let server: Server;
  let port: number;

  beforeAll(async () => {
    const files = { cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(ca) };
    server = createServer({ ...files, requestCert: true, rejectUnauthorized: true }, (_request, response) => {
      response.end('OK');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(async () => {
    await new Promise<void>((resolve) => server.close(() => resolve()));
    rmSync(directory, { recursive: true, force: true });
  });

  const ping = (host: string, dockerCertPath: string): Promise<{ body: string }> =>
    new EngineConnection({ dockerHost: { kind: 'tcp', host, port }, dockerCertPath }).call({
      method: 'GET',
      path: '/_ping',
      timeoutMs: 5000,
    });

  it('gets our client certificate, and is accepted only with a certificate for its name', async () => {
    expect(await ping('127.0.0.1', directory)).toMatchObject({ body: 'OK' });
    await expect(ping('localhost', directory)).rejects.toThrow(/altnames|Hostname/);
    await expect(ping('127.0.0.1', '')).rejects.toThrow();
  });
});
