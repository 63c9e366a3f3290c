import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '#testing';

const directory = mkdtempSync(join(tmpdir(), 'headrace-test-tls-'));
const [tlsKeyFile, tlsCertFile] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];

/** A certificate for 127.0.0.1, where the machine has the program to make one. */
function makeCertificate(): boolean {
  try {
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
        ...[
          '-keyout',
          tlsKeyFile,
          '-out',
          tlsCertFile,
          '-subj',
          '/CN=headrace',
          '-addext',
          'subjectAltName=IP:127.0.0.1',
        ],
      ],
      { stdio: 'ignore' },
    );
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!makeCertificate())('TLS', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({ settings: { tlsCertFile, tlsKeyFile, publicUrl: 'https://127.0.0.1:0' } });
  });
  afterAll(async () => {
    await api.close();
    rmSync(directory, { recursive: true });
  });

  it('TLS is served with the configured certificate, and with HSTS', async () => {
    expect(api.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const headers = await new Promise<Record<string, unknown>>((resolve, reject) => {
      request(`${api.url}/health/live`, { ca: readFileSync(tlsCertFile) }, (response) => {
        response.resume();
        resolve({ ...response.headers, status: response.statusCode });
      })
        .once('error', reject)
        .end();
    });
    expect(headers).toMatchObject({ status: 200, 'strict-transport-security': expect.stringContaining('max-age') });
    expect(headers['content-security-policy']).toContain('upgrade-insecure-requests');
  });
});
