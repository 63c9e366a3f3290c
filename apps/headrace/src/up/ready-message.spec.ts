import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ConnectionFile } from './connection-file.js';
import { readyMessage } from './ready-message.js';

const connection = {
  base_url: 'http://127.0.0.1:3000/api/v1',
  ingress_base_url: 'http://127.0.0.1:3001',
  docs_url: 'http://127.0.0.1:3000/docs',
  token: 'hr_theUsersToken',
  service_account_token: 'hr_another',
  team_uid: 'team',
  factory_uid: 'factory',
};
const directories: string[] = [];
afterEach(() => directories.splice(0).forEach((directory) => rmSync(directory, { recursive: true })));

describe('the ready message', () => {
  it.each(['plain', 'with space', `it's "quoted" $HOME`])(
    'has a curl line that works as pasted, with the data in "%s"',
    (name) => {
      const directory = mkdtempSync(join(tmpdir(), `headrace ${name}`));
      directories.push(directory);
      const file = new ConnectionFile(directory);
      file.write(connection);
      const message = readyMessage(connection, file.path, null);
      const curl = /^curl .*$/m.exec(message)?.[0] ?? '';
      // A stand-in for curl that prints its arguments, one a line.
      const args = execFileSync('sh', ['-c', `curl() { printf '%s\\n' "$@"; }; ${curl}`], { encoding: 'utf8' })
        .trimEnd()
        .split('\n');
      expect(args).toContain('http://127.0.0.1:3000/api/v1/agent/runs');
      expect(args).toContain('Authorization: Bearer hr_theUsersToken');
      expect(JSON.parse(args.at(-1) ?? '')).toEqual({ prompt: expect.stringContaining('```sh\n') });
    },
  );

  it('shows addresses and where the tokens are, but no token', () => {
    const message = readyMessage(connection, '/data/connection.json', 'http://127.0.0.1:3000/console/sign-in#code=x');
    for (const text of [
      connection.base_url,
      connection.docs_url,
      connection.ingress_base_url,
      '/data/connection.json',
      '/console/sign-in#code=x',
    ])
      expect(message).toContain(text);
    expect(message).not.toContain('hr_');
  });
});
